/** Binds the registry's keys to the window. */
import { useEffect } from "react";
import type { ShellBridge } from "../../main/contract/shell.ts";
import type { CommandTable } from "./commands.ts";
import { commandFor, isMac } from "./shortcuts.ts";

export const onMac = (): boolean => isMac(navigator.platform);

/** While another graph is loaded there is no canvas, and nothing has the focus that the next canvas takes: keys are not lost meanwhile. */
const isBetweenGraphs = (target: Element): boolean =>
  target === document.body && document.querySelector("#tab-graph[aria-selected=true]") !== null;

export function useShortcuts(commands: CommandTable, shell: ShellBridge | null): void {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      const target = event.target instanceof Element ? event.target : null;
      const typing =
        target?.closest("input, textarea, select, [contenteditable], .monaco-editor") !== null && target !== null;
      // A button on the canvas is pressed by these itself.
      const pressing = (event.key === " " || event.key === "Enter") && target?.closest("button, a") !== null;
      const canvasFocused =
        !pressing && target !== null && (target.closest("[data-graph-canvas]") !== null || isBetweenGraphs(target));
      const id = commandFor(event, { mac: onMac(), shell: shell !== null, canvasFocused, typing });
      if (id === null) return;
      const command = commands[id];
      event.preventDefault();
      if (command.enabled()) command.run();
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, [commands, shell]);
}
