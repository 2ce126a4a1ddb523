/** Files that the system asks to open: `open-file` (also before the app is ready), the command line, a second start. */
import { existsSync } from "node:fs";
import { isAbsolute, resolve } from "node:path";

export interface OpenFiles {
  /** A file to open, now or when there is somebody to give it to. */
  open(path: string): void;
  /** From now on files go here; those that waited go first. */
  deliverTo(receiver: (path: string) => void): void;
  /** There is nobody any more: files wait again. */
  hold(): void;
}

export function createOpenFiles(): OpenFiles {
  const waiting: string[] = [];
  let receiver: ((path: string) => void) | undefined;
  return {
    open(path) {
      if (receiver) receiver(path);
      else waiting.push(path);
    },
    deliverTo(next) {
      receiver = next;
      for (const path of waiting.splice(0)) next(path);
    },
    hold() {
      receiver = undefined;
    },
  };
}

/** The files among the arguments of a start, made absolute. Switches and the app's own path are not files. */
export function filesOf(argv: readonly string[], cwd: string): readonly string[] {
  return argv
    .filter((argument) => !argument.startsWith("-") && argument.toLowerCase().endsWith(".gguf"))
    .map((argument) => (isAbsolute(argument) ? argument : resolve(cwd, argument)))
    .filter((path) => existsSync(path));
}
