/** The built command line as a process: its output, its end, and its interrupts. */
import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
export const CLI_BUNDLE = fileURLToPath(new URL("../../out/cli/rlx.js", import.meta.url));
export const COMMAND_LINE_BUNDLE = fileURLToPath(new URL("../../out/cli/commandLine.js", import.meta.url));

/** For the start of tests that run the command line. */
export function requireCommandLine(): void {
  if (![CLI_BUNDLE, COMMAND_LINE_BUNDLE].every((path) => existsSync(path)))
    throw new Error("the command line is not built: node scripts/build.mjs cli");
}

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
}

export interface Running {
  readonly process: ChildProcess;
  /** Throws if the process did not start: 0 would be the group of the tests themselves. */
  readonly pid: () => number;
  /** Stdout so far. */
  shown(): string;
  /** Waits until the text stands on stdout or stderr. */
  shows(pattern: RegExp): Promise<void>;
  /** Sends ^C or another signal to the process group, as a terminal does. `after`: ms until the end. */
  interrupt(signal?: NodeJS.Signals): Promise<Ended & { readonly after: number }>;
  readonly ended: Promise<Ended>;
}

export interface RlxOptions {
  readonly home: string;
  /** Text for stdin. */
  readonly input?: string;
  /** Environment variables beside those of the tests; undefined removes one. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** What a shell does first: limits, another folder, a mount. */
  readonly after?: string;
}

export function startRlx(parameters: readonly string[], { home, input, env = {}, after }: RlxOptions): Running {
  const line = [process.execPath, CLI_BUNDLE, ...parameters];
  const [program = "", ...rest] = after === undefined ? line : ["/bin/sh", "-c", `${after} && exec "$0" "$@"`, ...line];
  const child = spawn(program, rest, {
    cwd: root,
    env: { ...process.env, RLX_HOME: home, ...env },
    stdio: ["pipe", "pipe", "pipe"],
    // Its own group, so that an interrupt does not reach the tests.
    detached: true,
  });
  let [out, err] = ["", ""];
  let look = (): void => undefined;
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
    look();
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    err += text;
    look();
  });
  if (input !== undefined) child.stdin.write(input);
  const ended = once(child, "close").then(([code, signal]): Ended => ({ code, signal, out, err }));
  // A chat waits for the end of its input. The others do not read it.
  if (input === undefined || input.endsWith("\n")) child.stdin.end();
  const pid = (): number => {
    if (child.pid === undefined) throw new Error(`rlx ${parameters.join(" ")} was not started`);
    return child.pid;
  };
  return {
    process: child,
    pid,
    shown: () => out,
    shows: async (pattern) => {
      const seen = new Promise<void>((resolve) => {
        look = () => {
          if (pattern.test(out) || pattern.test(err)) resolve();
        };
        look();
      });
      const early = ended.then(({ code }) => {
        if (!pattern.test(out) && !pattern.test(err))
          throw new Error(`rlx ${parameters.join(" ")} ended with ${code} before ${pattern}\n${out}\n${err}`);
      });
      await Promise.race([seen, early]);
    },
    interrupt: async (signal = "SIGINT") => {
      const at = performance.now();
      process.kill(-pid(), signal);
      const end = await ended;
      return { ...end, after: performance.now() - at };
    },
    ended,
  };
}

/** A command from its start to its end, as a process. Where none is needed: rlx.ts. */
export const rlxProcess = (parameters: readonly string[], options: RlxOptions): Promise<Ended> =>
  startRlx(parameters, options).ended;
