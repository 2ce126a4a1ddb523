/** `rlx eval|run|bench|profile FILE.rlx`: a graph in text on devices. `rlx new`: one to start from. */
import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Input } from "../../contract/contract.ts";
import { distanceText } from "../../contract/distance.ts";
import type { Capability, DeviceInfo } from "../../contract/views/engine.ts";
import type { TextRun } from "../../contract/views/text.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { counted } from "../../engine/words.ts";
import type { Command, CommonOptions } from "./client.ts";
import { devicesOf, orList, targetOf, wholeNumber } from "./client.ts";
import { requireFolder } from "./newFolder.ts";
import { npyBytes } from "./npyFile.ts";
import { namedText } from "./graphText.ts";

export interface ValueOptions {
  readonly input?: readonly string[];
  readonly symbol?: readonly string[];
  readonly seed?: string;
}

export interface EvalOptions extends CommonOptions, ValueOptions {
  readonly device: string;
  readonly output?: string;
}

/** The numbers of a run, as options say them. `who` is the command in messages. */
export const valuesOf = (
  who: string,
  { input, symbol, seed }: ValueOptions,
): Pick<Input<"text.run">, "inputs" | "symbols" | "seed"> => ({
  inputs: eachOnce(who, "input", input ?? [], inputOf),
  symbols: eachOnce(who, "symbol", symbol ?? [], symbolOf),
  ...(seed === undefined ? {} : { seed: wholeNumber("seed", seed, 0, 0xffff_ffff) }),
});

/** Numbers of an output that are shown. */
const FEW_VALUES = 12;
const MOST_RUNS = 10_000;

/** The device, which compiles graphs or runs their parts. */
export async function graphDevice(command: Command, text: string, needs: readonly Capability[]): Promise<string> {
  const able = (device: DeviceInfo): boolean => needs.some((need) => device.capabilities[need] === true);
  const devices = await devicesOf(command);
  const found = devices.find(({ id }) => id === text);
  if (found !== undefined && able(found)) return text;
  const why = needs.map((need) => found?.capabilities[need]).find((told) => typeof told === "string");
  throw new WorkbenchError(
    "INPUT_ARGUMENT",
    `[rlx] --device: got ${text === "" ? "nothing" : text}, expected ${orList(devices.filter(able).map(({ id }) => id))}`,
    why === undefined ? {} : { hint: String(why) },
  );
}

/** What is asked for besides the device. */
async function asked(command: Command, file: string, options: Omit<EvalOptions, "device">): Promise<Input<"text.run">> {
  const isTargeted = (["chip", "os", "units", "profile", "context"] as const).some(
    (name) => options[name] !== undefined,
  );
  return {
    ...(await namedText(file, command)),
    ...valuesOf("rlx eval", options),
    ...(isTargeted ? { target: await targetOf(command, options) } : {}),
  };
}

export async function evaluateText(command: Command, file: string, options: EvalOptions): Promise<number> {
  const { client, output, signal } = command;
  const device = await graphDevice(command, options.device, ["graphs", "segments"]);
  const folder = options.output === undefined ? undefined : await requireFolder("rlx eval", options.output);
  const run = await client.call("text.run", { ...(await asked(command, file, options)), device }, { signal });
  requireUsed(options, run);
  output.value({ ...run, outputs: run.outputs.map((each) => ({ ...each, values: jsonNumbers(each.values) })) });
  output.line(run.sentence);
  output.line();
  printOutputs(command, run);
  if (folder !== undefined) await writeArrays(folder, run, (path) => output.note(path));
  return 0;
}

/** JSON has neither NaN nor infinities: they are the words that JavaScript and Python read, "NaN", "Infinity", "-Infinity". */
const jsonNumbers = (values: Float64Array): readonly (number | string)[] =>
  Array.from(values, (value) => (Number.isFinite(value) ? value : String(value)));

/** A size of a symbol that the graph does not have changed nothing. */
function requireUsed({ symbol }: ValueOptions, { symbols }: TextRun): void {
  const names = Object.keys(symbols);
  const unused = (symbol ?? []).map((said) => symbolOf("rlx eval", said)[0]).find((name) => !names.includes(name));
  if (unused !== undefined)
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[rlx eval] --symbol: got ${unused}, expected ${names.length === 0 ? "none: the graph has no symbols" : orList(names)}`,
    );
}

function printOutputs({ output }: Command, run: TextRun): void {
  output.table(
    ["output", "type", "values", "from the reference"],
    run.outputs.map(({ name, dtype, shape, values, count, error }) => [
      name,
      `${dtype}[${shape.join(",")}]`,
      valuesText(values, count),
      distanceText(error, "the same"),
    ]),
    { yields: 2 },
  );
}

const valuesText = (values: Float64Array, count: number): string => {
  const shown = Array.from(values.subarray(0, FEW_VALUES), (value) => String(Number(value.toPrecision(5)))).join(" ");
  return count > FEW_VALUES ? `${shown} … ${count - FEW_VALUES} more` : shown;
};

/** Outputs "a b" and "A_b" would be one file. */
function freeName(name: string, taken: Set<string>): string {
  let free = name;
  for (let i = 2; taken.has(free.toLowerCase()); i++) free = `${name}-${i}`;
  taken.add(free.toLowerCase());
  return free;
}

async function writeArrays(folder: string, run: TextRun, note: (text: string) => void): Promise<void> {
  await mkdir(folder, { recursive: true });
  const taken = new Set<string>();
  for (const { name, dtype, shape, values } of run.outputs) {
    const path = join(folder, `${freeName(name.replaceAll(/[^\w.-]/gu, "_"), taken)}.npy`);
    await writeFile(path, npyBytes(dtype, shape, values));
    note(path);
    if (dtype === "i64" && values.some((value) => Math.abs(value) >= 2 ** 53))
      note(`${name}: i64 numbers are held exactly up to 2^53, and rounded beyond it.`);
  }
}

export interface GraphBenchOptions extends CommonOptions {
  readonly device: string;
  readonly repeats: string;
  readonly warmup: string;
}

const milliseconds = (seconds: number): string => `${(seconds * 1000).toPrecision(4)} ms`;

/** Whole runs of a graph, on each device behind the other. */
export async function benchText(command: Command, file: string, options: GraphBenchOptions): Promise<number> {
  const { client, output, signal } = command;
  const devices: string[] = [];
  for (const id of options.device.split(",")) devices.push(await graphDevice(command, id.trim(), ["graphs"]));
  const warmup = wholeNumber("warmup", options.warmup, 0, 100);
  const repeats = wholeNumber("repeats", options.repeats, 1, MOST_RUNS - 100);
  const input = await asked(command, file, {});
  const results = [];
  for (const device of devices) {
    output.progress(`Running on ${device}`, device);
    const run = await client.call("text.run", { ...input, device, repeats: repeats + warmup, values: 0 }, { signal });
    const times = run.times.slice(warmup).sort((a, b) => a - b);
    results.push({
      ...{ device, compileSeconds: run.compileSeconds, times: run.times.slice(warmup) },
      ...{ least: times[0] ?? 0, median: times[times.length >> 1] ?? 0, most: times.at(-1) ?? 0 },
    });
  }
  output.value({ file, results });
  output.table(
    ["device", "compiled in", "shortest", "median", "longest", "runs"],
    results.map(({ device, compileSeconds, least, median, most, times }) => [
      device,
      ...[compileSeconds, least, median, most].map(milliseconds),
      String(times.length),
    ]),
    { right: [1, 2, 3, 4, 5] },
  );
  return 0;
}

/** Where the time of a run goes, by step or added up by op. */
export async function profileText(
  command: Command,
  file: string,
  options: CommonOptions & { readonly device: string; readonly by: string },
): Promise<number> {
  const { client, output, signal } = command;
  if (options.by !== "op" && options.by !== "layer")
    throw new WorkbenchError("INPUT_ARGUMENT", `[rlx profile] --by: got ${options.by}, expected op or layer`);
  const device = await graphDevice(command, options.device, ["graphs"]);
  const input = await asked(command, file, {});
  // The first run finds cold caches.
  const run = await client.call("text.run", { ...input, device, profile: true, repeats: 2, values: 0 }, { signal });
  output.value(run);
  output.line(run.sentence);
  if (run.steps === null) {
    output.line(`${device} tells no time of single steps.`);
    return 0;
  }
  const sums = new Map<string, { seconds: number; steps: number }>();
  for (const { op, label, seconds } of run.steps) {
    const key = options.by === "op" ? op : label;
    const sum = sums.get(key) ?? { seconds: 0, steps: 0 };
    sums.set(key, { seconds: sum.seconds + seconds, steps: sum.steps + 1 });
  }
  const whole = run.steps.reduce((sum, { seconds }) => sum + seconds, 0);
  output.line();
  output.table(
    [options.by === "op" ? "op" : "where", "time", "share", "steps"],
    [...sums]
      .sort(([, a], [, b]) => b.seconds - a.seconds)
      .map(([name, { seconds, steps }]) => [
        name,
        milliseconds(seconds),
        `${((100 * seconds) / (whole || 1)).toFixed(1)} %`,
        String(steps),
      ]),
    { right: [1, 2, 3], yields: 0 },
  );
  output.note(counted(run.steps.length, "step"));
  return 0;
}

/** The gallery, or the text of one of its graphs. */
export async function newGraph(command: Command, id: string | undefined): Promise<number> {
  const { client, output, signal } = command;
  const { graphs } = await client.call("text.gallery", {}, { signal });
  if (id === undefined) {
    output.value({ graphs });
    output.table(
      ["graph", "what"],
      graphs.map(({ id: name, sentence }) => [name, sentence]),
      { yields: 1 },
    );
    output.note("rlx new cnn > cnn.rlx writes one of them.");
    return 0;
  }
  const found = graphs.find((graph) => graph.id === id);
  if (found === undefined)
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[rlx new] got ${JSON.stringify(id)}, expected ${orList(graphs.map((graph) => graph.id))}`,
    );
  output.value(found);
  output.write(found.text);
  return 0;
}

function eachOnce<T>(
  who: string,
  option: string,
  texts: readonly string[],
  read: (who: string, text: string) => readonly [name: string, value: T],
): Record<string, T> {
  const said = texts.map((text) => read(who, text));
  const found = new Map(said);
  const twice = said.find(([name, value]) => found.get(name) !== value)?.[0];
  if (twice === undefined) return Object.fromEntries(found);
  throw new WorkbenchError("INPUT_ARGUMENT", `[${who}] --${option}: got ${twice} twice, expected it once`);
}

const halves = (who: string, option: string, text: string): readonly [string, string] => {
  const at = text.indexOf("=");
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
  throw new WorkbenchError("INPUT_ARGUMENT", `[${who}] --${option}: got ${text}, expected name=…`);
};

/** As texts write them, and as JavaScript and Python do. */
const ODD_NUMBERS: ReadonlyMap<string, number> = new Map([
  ...["nan", "NaN"].map((word) => [word, NaN] as const),
  ...["inf", "Infinity"].map((word) => [word, Infinity] as const),
  ...["-inf", "-Infinity"].map((word) => [word, -Infinity] as const),
]);

/** Undefined for what is no number, or too large for one. */
function numberOf(text: string): number | undefined {
  const word = text.trim();
  const number = word === "" ? NaN : Number(word);
  return ODD_NUMBERS.get(word) ?? (Number.isFinite(number) ? number : undefined);
}

/** `x=1,2,3`, `x=file.npy` or `x=file.npz`. */
function inputOf(who: string, text: string): [string, NonNullable<Input<"text.run">["inputs"]>[string]] {
  const [name, said] = halves(who, "input", text);
  if (/\.np[yz]$/iu.test(said)) return [name, { path: resolve(said) }];
  const words = said.split(",").map(numberOf);
  const numbers = words.filter((number) => number !== undefined);
  // Numbers that JSON does not have go as a file.
  if (numbers.length === words.length)
    return numbers.every(Number.isFinite)
      ? [name, { numbers }]
      : [name, { name: "input.npy", bytes: npyBytes("f64", [numbers.length], Float64Array.from(numbers)) }];
  throw new WorkbenchError(
    "INPUT_ARGUMENT",
    `[${who}] --input ${name}: got ${said}, expected numbers, or a .npy or .npz file`,
    {
      hint: "Write --input x=1,2,3 or --input x=array.npy.",
    },
  );
}

function symbolOf(who: string, text: string): [string, number] {
  const [name, said] = halves(who, "symbol", text);
  return [name, wholeNumber(`symbol ${name}`, said, 0, 1 << 24)];
}
