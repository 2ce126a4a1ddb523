/** Runs one command of a command line: its engine, its end, and its error as one message and an exit code. */
import type { Settings } from "../settings.ts";
import { readSettings } from "../settings.ts";
import type { Command, CommonOptions, ModelChoice } from "./client.ts";
import { endingCode, fail } from "./ending.ts";
import { createOutput } from "./output.ts";
import type { ServeCommandOptions } from "./serve.ts";
import type { Surroundings } from "./surroundings.ts";

export type Work<O> = (command: Command, model: ModelChoice, options: O) => Promise<number | undefined>;

/** Gives the exit code. */
export type Job = (surroundings: Surroundings) => Promise<number>;

/** An invalid variable must not hide the stack of a bug. */
export function showsStack({ environment }: Surroundings): boolean {
  try {
    return readSettings(environment).verbose;
  } catch {
    return true;
  }
}

/** `name`: of the command. `load`: its file is loaded when it runs. */
export function commandJob<O extends CommonOptions>(
  name: string,
  load: () => Promise<Work<O>>,
  file: string | undefined,
  options: O,
): Job {
  return async (surroundings) => {
    const { environment, streams, interrupted } = surroundings;
    const output = createOutput(options.json === true, streams.stdout, streams.stderr);
    try {
      const settings = readSettings(environment);
      const [{ choiceOf, connect, withConsent }, work] = await Promise.all([import("./client.ts"), load()]);
      const command = connect({ settings, streams, output, signal: interrupted });
      try {
        const done = await withConsent(command, options, () => work(command, choiceOf(file, options), options));
        return endingCode(done ?? 0, interrupted);
      } finally {
        await command.dispose();
      }
    } catch (error) {
      output.endProgress();
      return fail(error, `rlx ${name}`, { json: output.json, stack: showsStack(surroundings) }, surroundings);
    }
  };
}

/** `rlx serve` has no engine in its own process. */
export function serveJob(files: readonly string[], options: ServeCommandOptions): Job {
  return async (surroundings) => {
    const { environment, streams, interrupted } = surroundings;
    try {
      const { serveCommand } = await import("./serve.ts");
      const settings = (): Settings => readSettings(environment);
      return endingCode(await serveCommand(files, options, { streams, interrupted, settings }), interrupted);
    } catch (error) {
      return fail(error, "rlx serve", { json: options.json === true, stack: showsStack(surroundings) }, surroundings);
    }
  };
}
