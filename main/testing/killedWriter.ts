/** Kills a process at a random moment of its writing, and says what it had finished by then. */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";

const folder = fileURLToPath(new URL("../../.cache/killed-writer", import.meta.url));

/** The writer as one file: a hundred processes that each compiled TypeScript took over a minute for their starts alone. */
function bundleWriter(): string {
  const entry = fileURLToPath(new URL("memoryWriter.ts", import.meta.url));
  const built = buildSync({
    entryPoints: [entry],
    bundle: true,
    minify: true,
    platform: "node",
    format: "esm",
    write: false,
  });
  const program = built.outputFiles[0]?.text ?? "";
  const path = join(folder, `${createHash("sha256").update(program).digest("hex").slice(0, 16)}.mjs`);
  mkdirSync(folder, { recursive: true });
  // Under its name at once: tests beside this one may start the same file.
  const whole = `${path}.${process.pid}`;
  writeFileSync(whole, program);
  renameSync(whole, path);
  return path;
}

let writer: string | undefined;

/** `after`: milliseconds from its first finished entry to SIGKILL. Returns the last entry that it reported. */
export async function killWriter(data: string, first: number, after: number): Promise<number> {
  writer ??= bundleWriter();
  const child = spawn(process.execPath, [writer, data, String(first)], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, NODE_COMPILE_CACHE: join(folder, "cache") },
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
