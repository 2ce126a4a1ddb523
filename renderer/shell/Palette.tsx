/** The palette: every command that can be given now, by its name or other words for it; what none has is searched for. */
import type { KeyboardEvent, ReactNode } from "react";
import { useEffect, useMemo, useState } from "react";
import { keyText } from "../../main/contract/commands.ts";
import { current } from "../session/async.ts";
import { useCommands } from "./CommandsContext.ts";
import { focusSearch } from "./commands.ts";
import { rankCommands, scoreOf, wordsOf } from "./rankCommands.ts";
import { boundKeys } from "./shortcuts.ts";
import type { WorkbenchStore } from "./store.ts";
import { onMac } from "./useShortcuts.ts";
import { useWorkbench, useWorkbenchApi } from "./useWorkbench.ts";
import styles from "./Shell.module.css";

interface PaletteItem {
  readonly id: string;
  readonly title: string;
  readonly aside: string;
  readonly key: string | undefined;
  readonly run: () => void;
}

export function Palette({ onClose }: { readonly onClose: () => void }): ReactNode {
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const found = useItems(query);
  const chosen = found[Math.min(at, found.length - 1)];
  const run = (item: PaletteItem): void => {
    onClose();
    // After the dialog has given the focus back: a command may want to set it.
    setTimeout(item.run);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0 && found.length > 0) {
      event.preventDefault();
      setAt((before) => (Math.min(before, found.length - 1) + step + found.length) % found.length);
    } else if (event.key === "Enter" && chosen !== undefined) {
      event.preventDefault();
      run(chosen);
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
        {found.map((item) => (
          <div
            key={item.id}
            id={`command-${item.id}`}
            role="option"
            aria-selected={item === chosen}
            className={styles["paletteItem"]}
            onClick={() => run(item)}
          >
            <span>{item.title}</span>
            <em>{item.aside}</em>
            {item.key === undefined ? null : <kbd className={styles["kbd"]}>{keyText(item.key, onMac())}</kbd>}
          </div>
        ))}
      </div>
      {found.length === 0 ? <p className={styles["paletteNone"]}>No command has these words.</p> : null}
    </>
  );
}

function useItems(query: string): readonly PaletteItem[] {
  const commands = useCommands();
  const api = useWorkbenchApi();
  const shell = useWorkbench((state) => state.showInFolder !== null);
  return useMemo(() => {
    const items = rankCommands(query)
      .filter(({ id }) => id !== "view.palette" && commands[id].enabled())
      .map((command): PaletteItem => {
        const { id, title, menu } = command;
        return { id, title, aside: menu ?? "", key: boundKeys(command, shell)[0], run: commands[id].run };
      });
    const words = wordsOf(query);
    const target = targetItem(api);
    // Beginnings of words only: letters in order are in so long a title by chance.
    const isTarget = words.length > 0 && scoreOf(`${TARGET} settings`, words) >= 1 + 2.5 * words.length;
    const all = target === null || !isTarget ? items : [target, ...items];
    return all.length === 0 ? searchItems(api, query.trim()) : all;
  }, [query, commands, shell, api]);
}

const TARGET = "Target of the route: chip, system, units, context";

/** The target is set in a form that hangs from the bar. */
function targetItem({ getState }: WorkbenchStore): PaletteItem | null {
  if (current(getState().model)?.canGraph.ok !== true) return null;
  return {
    id: "target",
    title: TARGET,
    aside: "Model",
    key: undefined,
    run: () => document.querySelector<HTMLButtonElement>("#target-pick button")?.click(),
  };
}

/** Words that no command has may be those of an op or a tensor. */
function searchItems(store: WorkbenchStore, words: string): readonly PaletteItem[] {
  const { model, setTab, setGraphQuery, setTensorQuery } = store.getState();
  const overview = current(model);
  const item = (tab: "graph" | "tensors", search: (text: string) => void): PaletteItem => ({
    id: `search-${tab}`,
    title: `Search the ${tab} for “${words}”`,
    aside: "Find",
    key: undefined,
    run: () => {
      setTab(tab);
      search(words);
      focusSearch(store);
    },
  });
  return [
    ...(overview?.canGraph.ok === true ? [item("graph", setGraphQuery)] : []),
    ...(overview !== null && overview.file !== null ? [item("tensors", setTensorQuery)] : []),
  ];
}
