/** Kills a process at a random moment of its writing, and says what it had finished by then. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const writer = fileURLToPath(new URL("memoryWriter.ts", import.meta.url));

/** `after`: milliseconds from its first finished entry to SIGKILL. Returns the last entry that it reported. */
export async function killWriter(folder: string, first: number, after: number): Promise<number> {
  const child = spawn(process.execPath, ["--import", "tsx", writer, folder, String(first)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  let last = first - 1;
  const lines = createInterface({ input: child.stdout });
  await new Promise<void>((resolve, reject) => {
    child.once("exit", () => reject(new Error("the writer ended by itself")));
    lines.on("line", (line) => {
      last = Number(line);
      resolve();
    });
  });
  await new Promise((resolve) => setTimeout(resolve, after));
  child.kill("SIGKILL");
  await ended;
  return last;
}
