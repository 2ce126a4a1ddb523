/** The dialogs of the window: commands, shortcuts, a path to open, the doctor, about. */
import type { ReactNode, SubmitEvent } from "react";
import { useEffect, useState } from "react";
import { COMMANDS, keyText } from "../../main/contract/commands.ts";
import type { DoctorReport } from "../../main/contract/views/engine.ts";
import type { Async } from "../session/async.ts";
import { SESSION_ENDING } from "../../main/contract/views/session.ts";
import { current, failed, IDLE, ready } from "../session/async.ts";
import { typedPath } from "../session/openSource.ts";
import { ChoiceList } from "../features/start/ChoiceList.tsx";
import { Gallery } from "../features/text/Gallery.tsx";
import { Operations } from "../features/ops/Operations.tsx";
import { PairForm } from "../features/start/PairForm.tsx";
import { SettingsForm } from "../features/start/SettingsForm.tsx";
import { Button } from "../ui/Button.tsx";
import { Dialog } from "../ui/Dialog.tsx";
import { ErrorNote } from "../ui/ErrorNote.tsx";
import { Progress } from "../ui/states.tsx";
import { saveText } from "../ui/saveText.ts";
import { Words } from "../ui/Words.tsx";
import { ReportForm } from "../features/report/ReportForm.tsx";
import { About } from "./About.tsx";
import { Palette } from "./Palette.tsx";
import { Compiles } from "./Compiles.tsx";
import { boundKeys } from "./shortcuts.ts";
import { onMac } from "./useShortcuts.ts";
import { useWorkbench } from "./useWorkbench.ts";
import styles from "./Shell.module.css";

export function Dialogs(): ReactNode {
  const dialog = useWorkbench((state) => state.dialog);
  const show = useWorkbench((state) => state.showDialog);
  const choice = useWorkbench((state) => state.choice);
  const choose = useWorkbench((state) => state.choose);
  const compareFiles = useWorkbench((state) => state.compareFiles);
  const askOps = useWorkbench((state) => state.askOps);
  const askOpSample = useWorkbench((state) => state.askOpSample);
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
      <Dialog title="Which of two files is faster here?" open={dialog === "pair"} onClose={close}>
        <PairForm
          onOpenPath={() => show("path")}
          onMeasure={(first, other) => {
            close();
            void compareFiles(first, other);
          }}
        />
      </Dialog>
      <Dialog title="This machine" open={dialog === "doctor"} onClose={close} width={620}>
        <Doctor />
      </Dialog>
      <Dialog title="Operations" open={dialog === "operations"} onClose={close} width={880}>
        <Operations list={askOps} sample={askOpSample} />
      </Dialog>
      <Dialog title="Graphs to start from" open={dialog === "gallery"} onClose={close} width={600}>
        <Gallery onOpened={close} />
      </Dialog>
      <Dialog title="Export the session" open={dialog === "session"} onClose={close}>
        <SessionForm onClose={close} />
      </Dialog>
      <Dialog title="Save a report" open={dialog === "report"} onClose={close}>
        <ReportForm onClose={close} />
      </Dialog>
      <Dialog title="Settings" open={dialog === "settings"} onClose={close} width={560}>
        <SettingsForm />
      </Dialog>
      <Dialog title={choice?.title ?? ""} open={choice !== null} onClose={() => choose(null)} width={600}>
        {choice === null ? null : (
          <ChoiceList
            choice={choice}
            onMeasure={(first, other) => {
              choose(null);
              void compareFiles(first, other);
            }}
          />
        )}
      </Dialog>
      <Dialog title="About RLX Workbench" open={dialog === "about"} onClose={close} width={680}>
        <About />
      </Dialog>
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
  // What could not be opened is mended, and not typed again.
  const wrong = useWorkbench(({ model, source }) =>
    model.kind === "failed" && source?.kind === "path" ? source.path : "",
  );
  const [path, setPath] = useState(wrong);
  const openPaths = useWorkbench((state) => state.openPaths);
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const wanted = typedPath(path);
    if (wanted === "") return;
    onClose();
    void openPaths([wanted]);
  };
  return (
    <form className={styles["form"]} onSubmit={submit}>
      <input
        aria-label="Path of a GGUF file on the engine's machine"
        placeholder="~/Models/model.gguf"
        value={path}
        autoFocus
        spellCheck={false}
        onFocus={(event) => event.target.select()}
        onChange={(event) => setPath(event.target.value)}
      />
      <p className={styles["quiet"]}>
        On the machine where the engine runs: a file (of a split model, any part), the folder of a Hugging Face model,
        or a folder with several models.
      </p>
      <div className={styles["row"]}>
        <button type="submit" className={styles["submit"]} disabled={path.trim() === ""}>
          Open
        </button>
        <Button onClick={onClose}>Cancel</Button>
      </div>
    </form>
  );
}

/** A file that another person, or another machine, imports. */
function SessionForm({ onClose }: { readonly onClose: () => void }): ReactNode {
  const [withPaths, setWithPaths] = useState(false);
  const exportSession = useWorkbench((state) => state.exportSession);
  const title = useWorkbench((state) => current(state.model)?.title ?? "session");
  const save = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    onClose();
    saveText(sessionFileName(title), exportSession(withPaths), "application/json");
  };
  return (
    <form className={styles["form"]} onSubmit={save}>
      <p>Models by name and hash, target, conversations, runs, benches, the last recording, and notes. No weights.</p>
      <label className={styles["check"]}>
        <input type="checkbox" checked={withPaths} onChange={(event) => setWithPaths(event.target.checked)} />
        <span>With the paths of the models on this machine</span>
      </label>
      <div className={styles["row"]}>
        <button type="submit" className={styles["submit"]}>
          Export
        </button>
        <Button onClick={onClose}>Cancel</Button>
      </div>
    </form>
  );
}

/** Safe on every system. */
const sessionFileName = (title: string): string =>
  `${title.replace(/[^\p{L}\p{N}._-]+/gu, "-").slice(0, 80)}${SESSION_ENDING}`;

const STATE_WORDS = { ok: "ready", warning: "needs attention", missing: "not here", info: "note" } as const;

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
    <div className={styles["doctor"]} tabIndex={0} role="region" aria-label="Checks">
      {report.kind === "failed" ? <ErrorNote title="The check did not run" error={report.error} /> : null}
      {report.kind === "idle" ? <Progress sentence="Looking at the machine" fraction={null} /> : null}
      {report.kind === "ready"
        ? report.value.checks.map((check) => (
            <section key={check.id} data-state={check.state}>
              <h3>{check.title}</h3>
              <em>{STATE_WORDS[check.state]}</em>
              <p>
                <Words text={check.sentence} />
              </p>
              {check.hint === null ? null : (
                <p className={styles["quiet"]}>
                  <Words text={check.hint} />
                </p>
              )}
            </section>
          ))
        : null}
      {report.kind === "ready" ? <Compiles /> : null}
    </div>
  );
}
