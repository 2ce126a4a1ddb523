/** Files dropped anywhere on the window. A shell knows their paths; in a browser the header is read from the page. */
import { useEffect, useState } from "react";
import type { ShellBridge } from "../../main/contract/shell.ts";
import { SESSION_ENDING } from "../../main/contract/views/session.ts";
import { filesOf, isFolderEntry, modelOfFiles, modelOfFolder } from "../session/droppedFile.ts";
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
      end();
      // Taken where it was dropped, as by the composer.
      if (event.defaultPrevented) return;
      event.preventDefault();
      const { open, notifyError, importSession } = store.getState();
      const session = [...(event.dataTransfer?.files ?? [])].find(({ name }) => name.endsWith(SESSION_ENDING));
      if (session !== undefined) {
        void importSession(session);
        return;
      }
      // What was dropped is known during the event only; a folder is read afterwards.
      droppedSource(event, shell).then(
        (source) => source !== null && void open(source),
        (error: unknown) => notifyError("What was dropped could not be opened", error),
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

async function droppedSource(event: DragEvent, shell: ShellBridge | null): Promise<OpenSource | null> {
  const files = [...(event.dataTransfer?.files ?? [])];
  const entries = [...(event.dataTransfer?.items ?? [])].flatMap((item) => item.webkitGetAsEntry() ?? []);
  const dropped = modelOfFiles(files);
  if (dropped === null) return null;
  const path = shell?.pathForFile(dropped.file) ?? "";
  if (path !== "") return { kind: "path", path };
  const folder = entries.find(isFolderEntry);
  return {
    kind: "file",
    dropped: folder === undefined ? dropped : modelOfFolder(folder.name, await filesOf(folder)),
  };
}
