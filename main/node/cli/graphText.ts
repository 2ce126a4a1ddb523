/** `rlx check|fmt|eval|grad|vmap FILE.rlx`: graphs as text (docs/ir-text.md). */
import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Input } from "../../contract/contract.ts";
import type { TextDiagnostic, TextRun } from "../../contract/views/text.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { counted } from "../../engine/words.ts";
import { writeAtomically } from "../files/recents.ts";
import type { Command, CommonOptions } from "./client.ts";
import { deviceOption, wholeNumber } from "./client.ts";
import { npyBytes } from "./npyFile.ts";
import { readText, STANDARD_INPUT } from "./text.ts";

export const isGraphText = (file: string | undefined): file is string => file !== undefined && /\.rlx$/iu.test(file);

/** `graph.rlx:3:7: [add] …`, and what to write instead. */
const told = (file: string, { line, column, message, code, fix }: TextDiagnostic): string =>
  `${file}:${line}:${column}: ${message} (${code})${fix === null ? "" : `\n    ${fix.title}`}`;

const nameOf = (file: string): string => (file === STANDARD_INPUT ? "standard input" : file);

/** Everything that is wrong in a text, or what its graph is. Exits with 1 if something is. */
export async function checkText(command: Command, file: string): Promise<number> {
  const { client, output, signal } = command;
  const report = await client.call("text.read", { text: await readText(file, command) }, { signal });
  output.value(report);
  for (const diagnostic of report.diagnostics) output.line(told(nameOf(file), diagnostic));
  const { graph } = report;
  if (graph === null) {
    output.line(`\n${counted(report.diagnostics.length, "fault")}`);
    return 1;
  }
  output.line(`${JSON.stringify(graph.name)} is sound: ${counted(graph.operations, "operation")}, hash ${graph.hash}`);
  output.line();
  const rows = (kind: string, leaves: readonly { readonly name: string; readonly type: string }[]): string[][] =>
    leaves.map(({ name, type }) => [kind, name, type]);
  output.table(
    ["", "name", "type"],
    [
      ...rows("input", graph.inputs),
      ...rows("parameter", graph.params),
      ...rows("state", graph.states),
      ...rows("output", graph.outputs),
    ],
  );
  return 0;
}

export interface FormatOptions extends CommonOptions {
  readonly write?: boolean;
  readonly check?: boolean;
}

export async function format(command: Command, file: string, options: FormatOptions): Promise<number> {
  const { client, output, signal } = command;
  if (options.write === true && (file === STANDARD_INPUT || options.check === true))
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      "[rlx fmt] --write: got it with --check or standard input, expected a file",
    );
  const text = await readText(file, command);
  const formatted = await client.call("text.format", { text }, { signal });
  const isFormatted = formatted.text === text;
  output.value({ ...formatted, isFormatted });
  if (formatted.text === null) {
    for (const diagnostic of formatted.diagnostics) output.line(told(nameOf(file), diagnostic));
    return 1;
  }
  if (options.check === true) {
    if (!isFormatted) output.line(`${nameOf(file)} would change`);
    return isFormatted ? 0 : 1;
  }
  if (options.write !== true) output.write(formatted.text);
  else if (!isFormatted) {
    await writeAtomically(resolve(file), formatted.text);
    output.note(`${file} is formatted`);
  }
  return 0;
}

export interface DeriveOptions extends CommonOptions {
  readonly of?: string;
  readonly wrt?: string;
  readonly size?: string;
  readonly inputs?: string;
}

const namesIn = (list: string | undefined): string[] =>
  list === undefined ? [] : list.split(",").map((name) => name.trim());

export async function derive(
  command: Command,
  file: string,
  kind: "grad" | "vmap",
  { of, wrt, size, inputs }: DeriveOptions,
): Promise<number> {
  const { client, output, signal } = command;
  const text = await readText(file, command);
  const how =
    kind === "grad"
      ? { kind, of: of ?? null, wrt: namesIn(wrt) }
      : { kind, size: sizeOf(size ?? "N"), inputs: namesIn(inputs) };
  const derived = await client.call("text.derive", { text, how }, { signal });
  output.value(derived);
  output.write(derived.text);
  return 0;
}

const sizeOf = (text: string): number | string => (/^\d/u.test(text) ? wholeNumber("size", text, 0, 1 << 24) : text);

export interface ValueOptions {
  readonly input?: readonly string[];
  readonly symbol?: readonly string[];
  readonly seed?: string;
}

export interface EvalOptions extends CommonOptions, ValueOptions {
  readonly device: string;
  readonly output?: string;
}

/** The numbers of a run, as options say them. */
export const valuesOf = ({
  input,
  symbol,
  seed,
}: ValueOptions): Pick<Input<"text.run">, "inputs" | "symbols" | "seed"> => ({
  inputs: Object.fromEntries((input ?? []).map(inputOf)),
  symbols: Object.fromEntries((symbol ?? []).map(symbolOf)),
  ...(seed === undefined ? {} : { seed: wholeNumber("seed", seed, 0, 0xffff_ffff) }),
});

/** Numbers of an output that are shown. */
const FEW_VALUES = 12;

export async function evaluateText(command: Command, file: string, options: EvalOptions): Promise<number> {
  const { client, output, signal } = command;
  const device = await deviceOption(command, options.device, "graphs");
  const text = await readText(file, command);
  const run = await client.call("text.run", { text, device, ...valuesOf(options) }, { signal });
  output.value(run);
  output.line(run.sentence);
  output.line();
  output.table(
    ["output", "type", "values", "from the reference"],
    run.outputs.map(({ name, dtype, shape, values, error }) => [
      name,
      `${dtype}[${shape.join(",")}]`,
      valuesText(values),
      error === 0 ? "the same" : error.toExponential(1),
    ]),
    { yields: 2 },
  );
  if (options.output !== undefined) await writeArrays(options.output, run, (path) => output.note(path));
  return 0;
}

const valuesText = (values: Float64Array): string => {
  const shown = Array.from(values.subarray(0, FEW_VALUES), (value) => String(Number(value.toPrecision(5)))).join(" ");
  return values.length > FEW_VALUES ? `${shown} … ${values.length - FEW_VALUES} more` : shown;
};

async function writeArrays(folder: string, run: TextRun, note: (text: string) => void): Promise<void> {
  const place = resolve(folder);
  await mkdir(place, { recursive: true });
  for (const { name, dtype, shape, values } of run.outputs) {
    const path = join(place, `${name.replaceAll(/[^\w.-]/gu, "_")}.npy`);
    await writeFile(path, npyBytes(dtype, shape, values));
    note(path);
  }
}

const halves = (option: string, text: string): readonly [string, string] => {
  const at = text.indexOf("=");
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
  throw new WorkbenchError("INPUT_ARGUMENT", `[rlx eval] --${option}: got ${text}, expected name=…`);
};

/** `x=1,2,3` or `x=file.npy`. */
function inputOf(text: string): [string, { numbers: number[] } | { path: string }] {
  const [name, said] = halves("input", text);
  if (/\.npy$/iu.test(said)) return [name, { path: resolve(said) }];
  const numbers = said.split(",").map(Number);
  if (said !== "" && numbers.every((value) => !Number.isNaN(value))) return [name, { numbers }];
  throw new WorkbenchError(
    "INPUT_ARGUMENT",
    `[rlx eval] --input ${name}: got ${said}, expected numbers or a .npy file`,
    {
      hint: "Write --input x=1,2,3 or --input x=array.npy.",
    },
  );
}

function symbolOf(text: string): [string, number] {
  const [name, said] = halves("symbol", text);
  return [name, wholeNumber(`symbol ${name}`, said, 0, 1 << 24)];
}
