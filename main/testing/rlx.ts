/**
 * The built command line, run in the process of the test: a process of its own costs a second or two before it does anything.
 * What only a process has (signals, limits, closed pipes, a terminal, its end) is tested with rlxProcess.ts.
 */
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";
import type { Surroundings } from "../node/cli/surroundings.ts";
import type { Ended, RlxOptions } from "./rlxProcess.ts";
import { COMMAND_LINE_BUNDLE } from "./rlxProcess.ts";

export interface CommandLine {
  runCommandLine(words: readonly string[], surroundings: Surroundings): Promise<number>;
}

/** Loaded by Node itself (vitest.config.ts), as the process loads it: what is tested is what is shipped. */
const bundle = (): Promise<CommandLine> =>
  import(/* @vite-ignore */ pathToFileURL(COMMAND_LINE_BUNDLE).href) as Promise<CommandLine>;

/** Keeps what is written to it. */
class Sink extends Writable {
  text = "";

  constructor() {
    super({ decodeStrings: false });
  }

  override _write(piece: string | Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.text += piece.toString();
    done();
  }
}

type HereOptions = Omit<RlxOptions, "after">;

export const rlx = async (words: readonly string[], options: HereOptions): Promise<Ended> =>
  runHere(await bundle(), words, options);

/** `commandLine`: the bundle, or what a test makes of its source. */
export async function runHere(
  { runCommandLine }: CommandLine,
  words: readonly string[],
  { home, input, env = {} }: HereOptions,
): Promise<Ended> {
  const [stdout, stderr] = [new Sink(), new Sink()];
  const code = await runCommandLine(words, {
    environment: { ...process.env, RLX_HOME: home, ...env },
    streams: { stdin: Readable.from(input === undefined ? [] : [Buffer.from(input)]), stdout, stderr },
    interrupted: new AbortController().signal,
  });
  return { code, signal: null, out: stdout.text, err: stderr.text };
}
