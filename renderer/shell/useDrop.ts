/** Files dropped anywhere on the window. A shell knows their paths; in a browser the header is read from the page. */
import { useEffect, useState } from "react";
import type { ShellBridge } from "../../main/contract/shell.ts";
import type { OpenSource } from "../session/types.ts";
import type { WorkbenchStore } from "./store.ts";

const carriesFiles = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") === true;

const AFTER_DRAG = ["pointermove", "pointerdown", "keydown", "blur"] as const;

export function useDrop(store: WorkbenchStore, shell: ShellBridge | null): boolean {
  const [dragging, setDragging] = useState(false);
  useEffect(() => {
    const end = (): void => setDragging(false);
    const onEnter = (event: DragEvent): void => {
      if (!carriesFiles(event)) return;
      event.preventDefault();
      setDragging(true);
    };
    const onOver = (event: DragEvent): void => {
      if (!carriesFiles(event)) return;
      event.preventDefault();
      if (event.dataTransfer !== null) event.dataTransfer.dropEffect = "copy";
    };
    // From one element to the next it stays over the window; out of the window it goes to nothing.
    const onLeave = (event: DragEvent): void => {
      if (event.relatedTarget === null) end();
    };
    const onDrop = (event: DragEvent): void => {
      if (!carriesFiles(event)) return;
      event.preventDefault();
      end();
      const source = droppedSource(event, shell);
      if (source !== null) void store.getState().open(source);
    };
    addEventListener("dragenter", onEnter);
    addEventListener("dragover", onOver);
    addEventListener("dragleave", onLeave);
    addEventListener("drop", onDrop);
    // A cancelled drag fires no event, but no pointer moves fire during a drag.
    for (const name of AFTER_DRAG) addEventListener(name, end);
    return () => {
      removeEventListener("dragenter", onEnter);
      removeEventListener("dragover", onOver);
      removeEventListener("dragleave", onLeave);
      removeEventListener("drop", onDrop);
      for (const name of AFTER_DRAG) removeEventListener(name, end);
    };
  }, [store, shell]);
  return dragging;
}

function droppedSource(event: DragEvent, shell: ShellBridge | null): OpenSource | null {
  // Of the parts of a split model the first is enough: the engine finds the others beside it.
  const files = [...(event.dataTransfer?.files ?? [])].sort((a, b) => a.name.localeCompare(b.name));
  const file = files.find(({ name }) => /\.(gguf|safetensors)$/iu.test(name)) ?? files[0];
  if (file === undefined) return null;
  const path = shell?.pathForFile(file) ?? "";
  if (path !== "") return { kind: "path", path };
  const items = [...(event.dataTransfer?.items ?? [])];
  const isFolder = items.some((item) => {
    const entry = item.webkitGetAsEntry();
    return entry?.isDirectory === true && entry.name === file.name;
  });
  return { kind: "file", file, isFolder };
}
