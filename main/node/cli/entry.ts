/** `rlx` as a process: the words, streams and signals that it was started with, and its exit code. */
import { addressSpaceError } from "./addressSpace.ts";

const words = process.argv.slice(2);
const error = addressSpaceError();
if (error === undefined)
  void run().then((code) => {
    process.exitCode = code;
  });
else {
  if (words.includes("--json")) process.stdout.write(`${JSON.stringify({ error }, undefined, 2)}\n`);
  process.stderr.write(`error ${error.code}: ${error.message}\n  → ${error.hint}\n`);
  process.exitCode = 1;
}

async function run(): Promise<number> {
  const { endWithReader, watchInterrupts } = await import("./processEnding.ts");
  const { runCommandLine } = await import("./main.ts");
  const stopped = new AbortController();
  watchInterrupts(stopped);
  endWithReader(stopped);
  return runCommandLine(words, {
    environment: process.env,
    streams: {
      // Opened by the commands that read it.
      get stdin() {
        return process.stdin;
      },
      stdout: process.stdout,
      stderr: process.stderr,
    },
    interrupted: stopped.signal,
  });
}
