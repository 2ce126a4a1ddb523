/** Files dropped anywhere on the window. A shell knows their paths; in a browser the header is read from the page. */
import { useEffect, useState } from "react";
import type { ShellBridge } from "../../main/contract/shell.ts";
import type { OpenSource } from "../session/types.ts";
import type { WorkbenchStore } from "./store.ts";

const carriesFiles = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") === true;

export function useDrop(store: WorkbenchStore, shell: ShellBridge | null): boolean {
  const [dragging, setDragging] = useState(false);
  useEffect(() => {
    let depth = 0;
    const onEnter = (event: DragEvent): void => {
      if (!carriesFiles(event)) return;
      event.preventDefault();
      depth += 1;
      setDragging(true);
    };
    const onOver = (event: DragEvent): void => {
      if (!carriesFiles(event)) return;
      event.preventDefault();
      if (event.dataTransfer !== null) event.dataTransfer.dropEffect = "copy";
    };
    const onLeave = (): void => {
      depth = Math.max(0, depth - 1);
      if (depth === 0) setDragging(false);
    };
    const onDrop = (event: DragEvent): void => {
      if (!carriesFiles(event)) return;
      event.preventDefault();
      depth = 0;
      setDragging(false);
      const source = droppedSource(event, shell);
      if (source !== null) void store.getState().open(source);
    };
    addEventListener("dragenter", onEnter);
    addEventListener("dragover", onOver);
    addEventListener("dragleave", onLeave);
    addEventListener("drop", onDrop);
    return () => {
      removeEventListener("dragenter", onEnter);
      removeEventListener("dragover", onOver);
      removeEventListener("dragleave", onLeave);
      removeEventListener("drop", onDrop);
    };
  }, [store, shell]);
  return dragging;
}

function droppedSource(event: DragEvent, shell: ShellBridge | null): OpenSource | null {
  // Of the parts of a split model the first is enough: the engine finds the others beside it.
  const files = [...(event.dataTransfer?.files ?? [])].sort((a, b) => a.name.localeCompare(b.name));
  const file = files.find(({ name }) => name.toLowerCase().endsWith(".gguf")) ?? files[0];
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
