/** `rlx profile`. */
import { open, rm, stat, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { peakShareOf } from "../../contract/views/run.ts";
import type { ProfileRow, ProfileView } from "../../contract/views/run.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Command, CommonOptions, ModelChoice } from "./client.ts";
import { deviceOption, namingDevices, openModel, unfinished, wholeNumber } from "./client.ts";
import { figureText, phaseText } from "./output.ts";

interface ProfileOptions extends CommonOptions {
  readonly pp: string;
  readonly tg: string;
  readonly threads?: string;
  readonly device: string;
  readonly trace?: string;
}

export async function profile(command: Command, choice: ModelChoice, options: ProfileOptions): Promise<number> {
  if (options.trace !== undefined) await checkTrace(options.trace);
  const asked = {
    device: await deviceOption(command, options.device),
    promptTokens: wholeNumber("pp", options.pp, 1, 65_536),
    generateTokens: wholeNumber("tg", options.tg, 1, 4096),
    threads: options.threads === undefined ? null : wholeNumber("threads", options.threads, 1, 1024),
  };
  const { model } = await openModel(command, choice);
  const items = command.client.stream("profile.run", { ...asked, model }, { signal: command.signal });
  for await (const item of namingDevices(command, items, [asked.device])) {
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
