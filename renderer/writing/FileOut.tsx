/**
 * A file that leaves the window by hand: dragged to another program, or shared. Only in the shell; a browser has its downloads.
 * What the window makes becomes a file when the pointer comes near, because a drag takes a file that is there.
 */
import type { ReactNode } from "react";
import { useRef, useState } from "react";
import type { Outside } from "../session/sessionSlice.ts";
import { useSession } from "../session/context.tsx";
import { Button } from "../ui/Button.tsx";
import styles from "./FileOut.module.css";

export interface MadeFile {
  readonly name: string;
  readonly blob: Blob;
}

export type FileOutSource =
  | { readonly paths: readonly string[] }
  /** `name`: what it is, as in "Drag out the report". `make` says itself what went wrong. */
  | { readonly name: string; readonly make: () => Promise<MadeFile | null> };

export function FileOut({ file }: { readonly file: FileOutSource }): ReactNode {
  const outside = useSession((s) => s.outside);
  return outside === null ? null : <InShell file={file} outside={outside} />;
}

async function stagedPath(
  file: Extract<FileOutSource, { readonly name: string }>,
  outside: Outside,
): Promise<string | null> {
  const made = await file.make();
  return made === null ? null : outside.stage(made.name, made.blob);
}

function InShell({ file, outside }: { readonly file: FileOutSource; readonly outside: Outside }): ReactNode {
  const [staged, setStaged] = useState<readonly string[]>([]);
  const making = useRef(false);
  const notifyError = useSession((s) => s.notifyError);
  const paths = "paths" in file ? file.paths : staged;
  const { share } = outside;
  const make = async (): Promise<string | null> => {
    if ("paths" in file) return file.paths[0] ?? null;
    if (making.current) return null;
    making.current = true;
    try {
      const path = await stagedPath(file, outside);
      setStaged(path === null ? [] : [path]);
      return path;
    } catch (error) {
      notifyError("The file for the way out could not be written", error);
      return null;
    } finally {
      making.current = false;
    }
  };
  const what = "paths" in file ? (file.paths.length > 1 ? "the files" : "the file") : file.name;
  return (
    <>
      <span
        className={styles["out"]}
        draggable
        data-ready={paths.length > 0}
        title={`Drag ${what} to a folder or to another program`}
        // Each time: what is shown may have changed since.
        onPointerEnter={() => void make()}
        onDragStart={(event) => {
          // The system takes over, with the file instead of this text.
          event.preventDefault();
          if (paths.length > 0) outside.startDrag(paths);
        }}
      >
        Drag out
      </span>
      {share === null ? null : (
        <Button
          small
          title={`Share ${what}`}
          onClick={() => void make().then((path) => (path === null ? undefined : share(path)))}
        >
          Share…
        </Button>
      )}
    </>
  );
}
