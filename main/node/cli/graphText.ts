/** `rlx check|fmt|grad|vmap FILE.rlx`: graphs as text (docs/ir-text.md). */
import { basename, resolve } from "node:path";
import type { Input, Output } from "../../contract/contract.ts";
import type { TextDiagnostic } from "../../contract/views/text.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { counted } from "../../engine/words.ts";
import { writeAtomically } from "../files/smallFile.ts";
import type { Command, CommonOptions } from "./client.ts";
import { wholeNumber } from "./client.ts";
import { readText, STANDARD_INPUT } from "./text.ts";

export const isGraphText = (file: string | undefined): file is string => file !== undefined && /\.rlx$/iu.test(file);

/** `graph.rlx:3:7: [add] …`, and what to write instead. */
const told = (file: string, { line, column, message, code, fix }: TextDiagnostic): string =>
  `${file}:${line}:${column}: ${message} (${code})${fix === null ? "" : `\n    ${fix.title}`}`;

const nameOf = (file: string): string => (file === STANDARD_INPUT ? "standard input" : file);

/** A text, and the name that its faults get. */
export const namedText = async (
  file: string,
  command: Command,
): Promise<{ readonly text: string; readonly name: string }> => ({
  text: await readText(file, command),
  name: basename(nameOf(file)),
});

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
  const named = await namedText(file, command);
  const made = (how: Input<"text.derive">["how"]): Promise<Output<"text.derive">> =>
    client.call("text.derive", { ...named, how }, { signal });
  const mapped = (by: string | number): Promise<Output<"text.derive">> =>
    made({ kind: "vmap", size: by, inputs: namesIn(inputs) });
  const derived = await (kind === "grad"
    ? made({ kind, of: of ?? null, wrt: namesIn(wrt) })
    : size === undefined
      ? mapped("N").catch((error: unknown) => mapped(freeSymbol(error)))
      : mapped(sizeOf(size)));
  output.value(derived);
  output.write(derived.text);
  return 0;
}

/** The symbol that the graph does not have, where it has the one that was tried. */
function freeSymbol(error: unknown): string {
  const free = error instanceof WorkbenchError ? error.details?.["free"] : undefined;
  if (typeof free === "string") return free;
  throw error;
}

const sizeOf = (text: string): number | string => (/^\d/u.test(text) ? wholeNumber("size", text, 0, 1 << 24) : text);
