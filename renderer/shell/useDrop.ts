/** Files dropped anywhere on the window. A shell knows their paths; in a browser the header is read from the page. */
import { useEffect, useState } from "react";
import type { ShellBridge } from "../../main/contract/shell.ts";
import { SESSION_ENDING } from "../../main/contract/views/session.ts";
import { fileOption } from "../features/start/slice.ts";
import { filesOf, isFolderEntry, modelsOfFiles, modelsOfFolder, noModelIn } from "../session/droppedFile.ts";
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
      end();
      // Taken where it was dropped, as by the composer.
      if (event.defaultPrevented) return;
      event.preventDefault();
      const { notifyError, importSession } = store.getState();
      const session = [...(event.dataTransfer?.files ?? [])].find(({ name }) => name.endsWith(SESSION_ENDING));
      if (session !== undefined) {
        void importSession(session);
        return;
      }
      // What was dropped is known during the event only; a folder is read afterwards.
      openDropped(event, store, shell).catch((error: unknown) =>
        notifyError("What was dropped could not be opened", error),
      );
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

/** Files and folders, several at once: one model is opened, of more one is chosen. */
async function openDropped(event: DragEvent, store: WorkbenchStore, shell: ShellBridge | null): Promise<void> {
  const files = [...(event.dataTransfer?.files ?? [])];
  const entries = [...(event.dataTransfer?.items ?? [])].flatMap((item) => item.webkitGetAsEntry() ?? []);
  const folders = entries.filter(isFolderEntry);
  const { openFiles, openOptions, openPaths } = store.getState();
  const paths = files.map((file) => shell?.pathForFile(file) ?? "").filter((path) => path !== "");
  if (paths.length > 0) return openPaths(firstParts(paths));
  // Of a folder the browser has a file, too, which cannot be read.
  const names = new Set(folders.map(({ name }) => name));
  const plain = files.filter(({ name }) => !names.has(name));
  if (folders.length === 0) return openFiles(plain);
  const found = await Promise.all(
    folders.map(async (folder) => {
      const inside = await filesOf(folder);
      const models = modelsOfFolder(folder.name, inside).map((model) => fileOption(model, `In ${folder.name}`));
      if (models.length === 0 && entries.length === 1) throw noModelIn(folder.name, inside);
      return models;
    }),
  );
  const { models, others } = modelsOfFiles(plain);
  const options = [...found.flat(), ...models.map((model) => fileOption(model))];
  openOptions(
    options,
    others.map(({ name }) => name),
    `${options.length} models were dropped`,
  );
}

/** Of the parts of a split model the first opens all. */
export function firstParts(paths: readonly string[]): readonly string[] {
  const stem = (path: string): string => path.replace(/-\d{5}-of-(\d{5}\.gguf)$/iu, "-$1");
  const firsts = new Map<string, string>();
  for (const path of paths.toSorted()) if (!firsts.has(stem(path))) firsts.set(stem(path), path);
  return [...firsts.values()];
}
