/** `rlx bench` and `rlx profile`. */
import { open, rm, stat, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { intervalName, peakShareOf } from "../../contract/views/run.ts";
import type { ProfileRow, ProfileView } from "../../contract/views/run.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { counted } from "../../engine/words.ts";
import type { Command, CommonOptions, ModelChoice } from "./client.ts";
import { deviceOption, devicesOf, openModel, orList, unfinished, wholeNumber } from "./client.ts";
import { figureText, phaseText } from "./output.ts";

interface MeasureOptions extends CommonOptions {
  readonly pp: string;
  readonly tg: string;
  readonly threads?: string;
  readonly device: string;
}

/** `least` and `most` limit tokens, as the contract does. */
async function common(
  command: Command,
  options: MeasureOptions,
  least: number,
  most: { readonly pp: number; readonly tg: number },
) {
  return {
    device: await deviceOption(command, options.device),
    promptTokens: wholeNumber("pp", options.pp, least, most.pp),
    generateTokens: wholeNumber("tg", options.tg, least, most.tg),
    threads: options.threads === undefined ? null : wholeNumber("threads", options.threads, 1, 1024),
  } as const;
}

export async function bench(
  command: Command,
  choice: ModelChoice,
  options: MeasureOptions & { readonly repeats: string; readonly warmup: string },
): Promise<number> {
  const asked = await common(command, options, 0, { pp: 1_048_576, tg: 1_048_576 });
  if (asked.promptTokens + asked.generateTokens === 0)
    throw new WorkbenchError("INPUT_ARGUMENT", "[rlx] --pp and --tg: got 0 and 0, expected something to measure");
  const { model, title, variant } = await openModel(command, choice);
  const input = {
    ...asked,
    model,
    repeats: wholeNumber("repeats", options.repeats, 1, 1000),
    warmup: wholeNumber("warmup", options.warmup, 0, 100),
  };
  const items = command.client.stream("bench.run", input, { signal: command.signal });
  for await (const item of measured(command, items, input.device)) {
    if (item.kind === "phase") command.output.progress(phaseText(item), item.name);
    else if (item.kind === "sample")
      command.output.progress(
        `${item.test} ${item.warmup ? "warm-up" : item.index + 1}: ${item.rate.toFixed(1)} tok/s`,
      );
    else {
      // llama-bench's own array, so that existing scripts can read it.
      command.output.value(JSON.parse(item.json));
      command.output.line(`${title} ${variant}, ${item.machine}, ${counted(item.threads, "thread")}, ${item.kernels}`);
      const rows = item.tests.map((test) => [
        `${test.test} ${test.tokens}`,
        figureText({ ...test.rate, low: null, high: null }),
        figureText(test.rate),
        String(test.samples.length),
      ]);
      command.output.table(["test", "median", intervalName(input.repeats), "runs"], rows, { right: [1, 2, 3] });
      for (const note of item.notes) command.output.line(`! ${note}`);
      return 0;
    }
  }
  throw unfinished(command.signal);
}

export async function profile(
  command: Command,
  choice: ModelChoice,
  options: MeasureOptions & { readonly trace?: string },
): Promise<number> {
  if (options.trace !== undefined) await checkTrace(options.trace);
  const asked = await common(command, options, 1, { pp: 65_536, tg: 4096 });
  const { model } = await openModel(command, choice);
  const items = command.client.stream("profile.run", { ...asked, model }, { signal: command.signal });
  for await (const item of measured(command, items, asked.device)) {
    if (item.kind === "phase") command.output.progress(phaseText(item), item.name);
    else {
      if (options.trace !== undefined) await writeTrace(options.trace, item.profile);
      command.output.value(item.profile);
      printProfile(command, item.profile);
      return 0;
    }
  }
  throw unfinished(command.signal);
}

/** Where a device is missing, the error names the devices that can measure. */
async function* measured<T>(command: Command, items: AsyncIterable<T>, asked: string): AsyncGenerator<T, void> {
  try {
    yield* items;
  } catch (error) {
    if (!(error instanceof WorkbenchError) || error.code !== "ENV_NO_DEVICE") throw error;
    const others = (await devicesOf(command)).filter(
      ({ id, capabilities: { measure } }) => measure === true && id !== asked,
    );
    const hint = `Measure on ${orList(others.map(({ id }) => id))}.`;
    throw new WorkbenchError(error.code, error.message, { hint, cause: error });
  }
}

/** Removes a partial trace: it is of no use. */
async function writeTrace(path: string, view: ProfileView): Promise<void> {
  try {
    await writeFile(path, chromeTrace(view));
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
}

/** Runs before the measurement, which may take long. */
async function checkTrace(path: string): Promise<void> {
  const folder = dirname(resolve(path));
  if ((await stat(folder).catch(() => undefined))?.isDirectory() !== true)
    throw new WorkbenchError("INPUT_ARGUMENT", `[rlx] --trace: the folder ${folder} does not exist`, {
      hint: "Create it first, or choose another.",
    });
  if ((await stat(path).catch(() => undefined))?.isDirectory() === true)
    throw new WorkbenchError("INPUT_ARGUMENT", `[rlx] --trace: got the folder ${path}, expected a file`);
  if (!(await isFreeOrTrace(path)))
    throw new WorkbenchError("INPUT_ARGUMENT", `[rlx] --trace: ${path} exists and is no trace`, {
      hint: "Choose another name. Only a trace is overwritten.",
    });
}

const TRACE_START = '{"traceEvents":';

/** Protects other files: a mistyped name must not overwrite a model. */
async function isFreeOrTrace(path: string): Promise<boolean> {
  const file = await open(path, "r").catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  });
  if (file === undefined) return true;
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(TRACE_START.length), 0, TRACE_START.length, 0);
    return buffer.toString("latin1", 0, bytesRead) === TRACE_START;
  } finally {
    await file.close();
  }
}

function printProfile({ output }: Command, view: ProfileView): void {
  output.line(view.sentence);
  for (const [title, time, part] of [
    ["Reading the prompt", "time", view.prefill],
    ["Writing", "time, one token", view.decode],
  ] as const) {
    output.line(`\n${title}: ${figureText(part.seconds)} ${part.seconds.basis}`);
    const rows = part.rows.map((row) => [
      row.op,
      String(row.count),
      `${(row.seconds * 1e3).toFixed(3)} ms`,
      `${(row.share * 100).toFixed(1)} %`,
      ...bandwidthTexts(row),
    ]);
    output.table(["op", "times", time, "share", "bandwidth", "of peak"], rows, {
      right: [1, 2, 3, 4, 5],
      yields: 0,
    });
    if (part.rows.some((row) => peakShareOf(row).kind === "cache"))
      output.line("cache: faster than memory, because these weights stay in the processor's cache from token to token");
  }
}

/** Bandwidth and its share of the peak. Empty for ops that memory does not limit. */
function bandwidthTexts(row: ProfileRow): readonly [string, string] {
  const peak = peakShareOf(row);
  if (row.bandwidth === null || peak.kind === "none") return ["", ""];
  return [
    `${(row.bandwidth / 1e9).toFixed(1)} GB/s`,
    peak.kind === "cache" ? "cache" : `${(peak.value * 100).toFixed(0)} %`,
  ];
}

/** Chrome's trace-event JSON: opens in Perfetto and speedscope. */
export function chromeTrace(view: ProfileView): string {
  const { slices, strings, lanes } = view;
  const events: object[] = lanes.map((lane, tid) => ({
    ph: "M",
    name: "thread_name",
    pid: 1,
    tid,
    args: { name: lane.title },
  }));
  slices.start.forEach((start, i) =>
    events.push({
      ph: "X",
      pid: 1,
      tid: slices.lane[i] ?? 0,
      ts: start * 1e6,
      dur: (slices.seconds[i] ?? 0) * 1e6,
      name: strings[slices.op[i] ?? 0] ?? "",
      args: { label: strings[slices.label[i] ?? 0] ?? "", bytes: slices.bytes[i] ?? 0, step: slices.step[i] ?? 0 },
    }),
  );
  return JSON.stringify({ traceEvents: events, displayTimeUnit: "ms" });
}
