/** The dialogs of the window: commands, shortcuts, a path to open, the doctor. */
import type { KeyboardEvent, ReactNode, SubmitEvent } from "react";
import { useEffect, useMemo, useState } from "react";
import type { CommandId } from "../../main/contract/commands.ts";
import { COMMANDS, keyText } from "../../main/contract/commands.ts";
import type { DoctorReport } from "../../main/contract/views/engine.ts";
import type { Async } from "../session/async.ts";
import { failed, IDLE, ready } from "../session/async.ts";
import { typedPath } from "../session/openSource.ts";
import { Button } from "../ui/Button.tsx";
import { Dialog } from "../ui/Dialog.tsx";
import { ErrorNote } from "../ui/ErrorNote.tsx";
import { Progress } from "../ui/states.tsx";
import { useCommands } from "./CommandsContext.ts";
import { rankCommands } from "./rankCommands.ts";
import { boundKeys } from "./shortcuts.ts";
import { onMac } from "./useShortcuts.ts";
import { useWorkbench } from "./useWorkbench.ts";
import styles from "./Shell.module.css";

export function Dialogs(): ReactNode {
  const dialog = useWorkbench((state) => state.dialog);
  const show = useWorkbench((state) => state.showDialog);
  const close = (): void => show(null);
  return (
    <>
      <Dialog title="Commands" quiet open={dialog === "palette"} onClose={close}>
        <Palette onClose={close} />
      </Dialog>
      <Dialog title="Keyboard shortcuts" open={dialog === "shortcuts"} onClose={close} width={640}>
        <Shortcuts />
      </Dialog>
      <Dialog title="Open a path" open={dialog === "path"} onClose={close}>
        <PathForm onClose={close} />
      </Dialog>
      <Dialog title="This machine" open={dialog === "doctor"} onClose={close} width={620}>
        <Doctor />
      </Dialog>
    </>
  );
}

function Palette({ onClose }: { readonly onClose: () => void }): ReactNode {
  const commands = useCommands();
  const shell = useInShell();
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const found = useMemo(
    () => rankCommands(query).filter(({ id }) => id !== "view.palette" && commands[id].enabled()),
    [query, commands],
  );
  const chosen = found[Math.min(at, found.length - 1)];
  const run = (id: CommandId): void => {
    onClose();
    // After the dialog has given the focus back: a command may want to set it.
    setTimeout(() => commands[id].run());
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0 && found.length > 0) {
      event.preventDefault();
      setAt((before) => (Math.min(before, found.length - 1) + step + found.length) % found.length);
    } else if (event.key === "Enter" && chosen !== undefined) {
      event.preventDefault();
      run(chosen.id);
    }
  };
  useEffect(() => {
    document.getElementById(`command-${chosen?.id ?? ""}`)?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  return (
    <>
      <input
        className={styles["paletteInput"]}
        role="combobox"
        aria-label="Command"
        aria-expanded="true"
        aria-controls="commands"
        aria-activedescendant={chosen === undefined ? undefined : `command-${chosen.id}`}
        placeholder="What do you want to do?"
        value={query}
        autoFocus
        onChange={(event) => {
          setQuery(event.target.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div id="commands" role="listbox" aria-label="Commands" className={styles["paletteList"]}>
        {found.map((command) => (
          <div
            key={command.id}
            id={`command-${command.id}`}
            role="option"
            aria-selected={command === chosen}
            className={styles["paletteItem"]}
            onClick={() => run(command.id)}
          >
            <span>{command.title}</span>
            <em>{command.menu}</em>
            {boundKeys(command, shell)
              .slice(0, 1)
              .map((key) => (
                <kbd key={key} className={styles["kbd"]}>
                  {keyText(key, onMac())}
                </kbd>
              ))}
          </div>
        ))}
      </div>
      {found.length === 0 ? <p className={styles["paletteNone"]}>No command has these words.</p> : null}
    </>
  );
}

/** A shell can show a folder; a browser cannot. */
const useInShell = (): boolean => useWorkbench((state) => state.showInFolder !== null);

function Shortcuts(): ReactNode {
  const shell = useInShell();
  const groups = (["File", "Edit", "View", "Model", "Navigate", "Help"] as const).map((menu) => ({
    menu,
    rows: COMMANDS.filter((command) => command.menu === menu && boundKeys(command, shell).length > 0),
  }));
  return (
    <div className={styles["shortcuts"]} tabIndex={0} role="region" aria-label="Keyboard shortcuts">
      {groups.map(({ menu, rows }) => (
        <section key={menu}>
          <h3>{menu === "Navigate" ? "In the graph" : menu}</h3>
          {rows.map((command) => (
            <p key={command.id}>
              <span>{command.title}</span>
              {boundKeys(command, shell).map((key) => (
                <kbd key={key} className={styles["kbd"]}>
                  {keyText(key, onMac())}
                </kbd>
              ))}
            </p>
          ))}
        </section>
      ))}
    </div>
  );
}

function PathForm({ onClose }: { readonly onClose: () => void }): ReactNode {
  const [path, setPath] = useState("");
  const open = useWorkbench((state) => state.open);
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const wanted = typedPath(path);
    if (wanted === "") return;
    onClose();
    void open({ kind: "path", path: wanted });
  };
  return (
    <form className={styles["form"]} onSubmit={submit}>
      <input
        aria-label="Path of a GGUF file on the engine's machine"
        placeholder="~/Models/model.gguf"
        value={path}
        autoFocus
        spellCheck={false}
        onChange={(event) => setPath(event.target.value)}
      />
      <p className={styles["quiet"]}>A file on the machine where the engine runs. Of a split model, the first part.</p>
      <div className={styles["row"]}>
        <button type="submit" className={styles["submit"]} disabled={path.trim() === ""}>
          Open
        </button>
        <Button onClick={onClose}>Cancel</Button>
      </div>
    </form>
  );
}

const STATE_WORDS = { ok: "ready", warning: "look at this", missing: "not here", info: "note" } as const;

function Doctor(): ReactNode {
  const ask = useWorkbench((state) => state.askDoctor);
  const noteCommand = useWorkbench((state) => state.noteCommand);
  const [report, setReport] = useState<Async<DoctorReport>>(IDLE);
  useEffect(() => {
    let live = true;
    noteCommand({ kind: "doctor" });
    ask().then(
      (value) => live && setReport(ready(value)),
      (error: unknown) => live && setReport(failed(error)),
    );
    return () => {
      live = false;
    };
  }, [ask, noteCommand]);
  return (
    <div className={styles["doctor"]}>
      {report.kind === "failed" ? <ErrorNote title="The check did not run" error={report.error} /> : null}
      {report.kind === "idle" ? <Progress sentence="Looking at the machine" fraction={null} /> : null}
      {report.kind === "ready"
        ? report.value.checks.map((check) => (
            <section key={check.id} data-state={check.state}>
              <h3>{check.title}</h3>
              <em>{STATE_WORDS[check.state]}</em>
              <p>{check.sentence}</p>
              {check.hint === null ? null : <p className={styles["quiet"]}>{check.hint}</p>}
            </section>
          ))
        : null}
    </div>
  );
}
