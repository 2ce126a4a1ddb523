/** `rlx` as a process: the words, streams and signals that it was started with, and its exit code. */
import { runCommandLine } from "./main.ts";
import { endWithReader, watchInterrupts } from "./processEnding.ts";

const stopped = new AbortController();
watchInterrupts(stopped);
endWithReader(stopped);

void runCommandLine(process.argv.slice(2), {
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
}).then((code) => {
  process.exitCode = code;
});
