/** `rlx tensors`: the tensors of a file, their groups, statistics of one or many, a page of values, the error to another file. */
import { resolve } from "node:path";
import type { TensorRow } from "../../contract/views/model.ts";
import type { HistogramView, SpreadView, TensorStatistics, ValuesPage } from "../../contract/views/tensors.ts";
import { toWireError, WorkbenchError } from "../../diagnostics/errors.ts";
import type { Command, CommonOptions, ModelChoice } from "./client.ts";
import { openModel, unfinished, wholeNumber } from "./client.ts";
import { printTensors, tensorRows } from "./inspect.ts";
import { compared, groupingOf, heldOf, printCompared, printList } from "./tensorLists.ts";

interface TensorsOptions extends CommonOptions {
  readonly tensor?: string;
  readonly stats?: boolean;
  readonly values?: string;
  readonly expert?: string;
  readonly against?: string;
  readonly group?: string;
  readonly for?: string;
}

export async function tensors(command: Command, choice: ModelChoice, options: TensorsOptions): Promise<undefined> {
  const { tensor: asked, values, stats = false, against } = options;
  if (values !== undefined && asked === undefined)
    throw misuse("--values: got no tensor, expected --tensor", "Name the tensor whose values to show.");
  if (options.expert !== undefined && values === undefined)
    throw misuse("--expert: got it without --values, expected both", "For example --values 0:0 --expert 3.");
  const corner = values === undefined ? undefined : cornerOf(values);
  const group = groupingOf(options.group);
  const isList = options.group !== undefined || options.for !== undefined;
  if (isList && (stats || values !== undefined))
    throw misuse("--group and --for: got them with --stats or --values, expected the list", "Leave one of them out.");
  const other = against === undefined ? null : resolve(against);
  const held = await heldOf(command, options);
  if (group === "form" && held === null)
    throw misuse("--group form: got no --for, expected one", "For example --for mlx: the form is that on a device.");
  const { model } = await openModel(command, choice);
  if (isList) {
    const query = asked ?? "";
    if (other !== null) await compared(command, { model, against: other, query });
    return printList(command, { model, query, group, held, against: other });
  }
  if (asked === undefined && !stats && other === null) return printTensors(command, model, "");
  const rows = await matching(command, model, asked ?? "");
  const [only] = rows;
  const isOne = rows.length === 1 && asked !== undefined;
  if (corner !== undefined) {
    if (!isOne || only === undefined)
      throw misuse(
        `--tensor: got ${rows.length} tensors that hold ${JSON.stringify(asked)}, expected one`,
        "Give its whole name.",
      );
    return printValues(command, model, only, { ...corner, expert: options.expert });
  }
  if (!isOne && !stats && other === null) return printTensors(command, model, asked ?? "");
  if (!isOne && !stats && other !== null) {
    printCompared(command, await compared(command, { model, against: other, query: asked ?? "" }));
    return undefined;
  }
  const all: TensorStatistics[] = [];
  const left: string[] = [];
  for (const [i, { name }] of rows.entries()) {
    if (!isOne) command.output.progress(`${i + 1} of ${rows.length}  ${name}`, "statistics");
    try {
      all.push(await statisticsOf(command, { model, tensor: name, against: other }));
    } catch (error) {
      if (isOne || toWireError(error).code !== "UNSUPPORTED_TENSOR_TYPE") throw error;
      left.push(name);
    }
  }
  command.output.endProgress();
  const [first] = all;
  if (isOne && first !== undefined) printOne(command, first);
  else printMany(command, all);
  if (left.length > 0) command.output.line(`Left out, for their type cannot be unpacked: ${left.join(", ")}`);
  return undefined;
}

const misuse = (what: string, hint: string): WorkbenchError =>
  new WorkbenchError("INPUT_ARGUMENT", `[rlx tensors] ${what}`, { hint });

/** The tensor of this name, or those that hold it. */
async function matching(command: Command, model: string, asked: string): Promise<readonly TensorRow[]> {
  const rows = await tensorRows(command, model, asked);
  const exact = rows.filter(({ name }) => name === asked);
  if (exact.length > 0) return exact;
  if (rows.length > 0 || asked === "") return rows;
  throw misuse(
    `--tensor: got ${asked}, expected a tensor of this file`,
    "`rlx tensors` with the file alone lists them.",
  );
}

function cornerOf(text: string): { readonly row: number; readonly column: number } {
  const [, row, column] = /^(\d+):(\d+)$/u.exec(text) ?? [];
  if (row === undefined || column === undefined)
    throw misuse(`--values: got ${text === "" ? "nothing" : text}, expected row:column`, "For example --values 0:0.");
  return { row: wholeNumber("values", row, 0), column: wholeNumber("values", column, 0) };
}

type Asked = { readonly model: string; readonly tensor: string; readonly against: string | null };

async function statisticsOf({ client, signal }: Command, asked: Asked): Promise<TensorStatistics> {
  for await (const item of client.stream("tensors.statistics", asked, { signal }))
    if (item.kind === "done") return item.statistics;
  throw unfinished(signal);
}

/** Six digits: enough to tell values apart, few enough for a column. */
export const numberText = (value: number | null): string =>
  value === null ? "–" : Number.isFinite(value) ? String(Number(value.toPrecision(6))) : String(value);
const short = (value: number | null): string => (value === null ? "–" : String(Number(value.toPrecision(3))));
export const percent = (value: number | null): string =>
  value === null ? "∞" : `${Number((100 * value).toPrecision(3))} %`;

const RIGHT = { right: [2, 3, 4, 5, 6, 7] } as const;

function printMany({ output }: Command, all: readonly TensorStatistics[]): void {
  output.value(all);
  const compares = all.some(({ difference }) => difference !== null);
  output.table(
    ["tensor", "type", "min", "max", "mean", "std", "zeros", ...(compares ? ["error"] : []), "notes"],
    all.map((each) => [
      ...[each.tensor, each.type],
      ...[each.min, each.max, each.mean, each.std].map(short),
      percent(each.elements === 0 ? 0 : each.zeros / each.elements),
      ...(compares ? [percent(each.difference?.relative ?? null)] : []),
      each.findings.map(({ sentence }) => sentence).join("; "),
    ]),
    RIGHT,
  );
}

function printOne({ output }: Command, view: TensorStatistics): void {
  output.value(view);
  output.line(`${view.tensor}  ${view.type}, ${view.shape.join(" × ")}`);
  for (const { kind, sentence } of view.findings)
    output.line(`${kind === "broken" ? "! broken" : "? odd"}: ${sentence}`);
  const line = (label: string, text: string): void => output.line(`${label.padEnd(16)} ${text}`);
  line("values", `${view.elements} in ${view.rows} rows`);
  line("range", `${numberText(view.min)} to ${numberText(view.max)}`);
  line("mean", numberText(view.mean));
  line("deviation", numberText(view.std));
  line("zeros", `${view.zeros} (${percent(view.elements === 0 ? 0 : view.zeros / view.elements)})`);
  const bad = [view.nans > 0 ? `${view.nans} NaN` : "", view.infinities > 0 ? `${view.infinities} infinite` : ""];
  line("not finite", bad.filter(Boolean).join(", ") || "none");
  line("rows of zeros", String(view.deadRows));
  if (view.histogram !== null) histogramLine(line, "histogram", view.histogram);
  for (const scales of view.scales) printSpread(line, scales);
  if (view.difference === null) return;
  const { file, type, rmse, relative, cosine, decibels, farthest, worst } = view.difference;
  line("against", `${file} (${type})`);
  line("", `relative error ${percent(relative)}, RMSE ${numberText(rmse)}, cosine ${numberText(cosine)}`);
  if (farthest !== null && relative !== 0) {
    const { row, expert, column } = farthest.place;
    const place = `row ${row}${expert === null ? "" : ` of expert ${expert}`}, column ${column}`;
    line("", `largest error ${numberText(farthest.difference)} (${place}), signal to noise ${short(decibels)} dB`);
  }
  if (worst !== null && relative !== 0) {
    const { row, expert } = worst.place;
    line("", `worst row ${row}${expert === null ? "" : ` of expert ${expert}`}: ${percent(worst.relative)}`);
  }
}

type Line = (label: string, text: string) => void;

function printSpread(line: Line, { what, count, min, max, mean, std, zeros, notFinite, histogram }: SpreadView): void {
  line(
    `block ${what}s`,
    `${count}: ${numberText(min)} to ${numberText(max)}, mean ${numberText(mean)}, deviation ${numberText(std)}`,
  );
  if (zeros + notFinite > 0) line("", `${zeros} zero${notFinite === 0 ? "" : `, ${notFinite} not finite`}`);
  if (histogram !== null) histogramLine(line, "", histogram);
}

const BARS = " ▁▂▃▄▅▆▇█";

/** Bars over the logarithm of the counts: one outlier stays in sight beside a million values. */
function histogramLine(line: Line, label: string, { from, to, counts }: HistogramView): void {
  const most = Math.log1p(Math.max(...counts));
  const bar = (n: number): string =>
    n === 0 ? " " : (BARS[Math.max(1, Math.round((8 * Math.log1p(n)) / most))] ?? " ");
  line(label, `${short(from)} ▕${counts.map(bar).join("")}▏ ${short(to)}, log counts`);
}

const ROWS = 16;
const COLUMNS = 8;

async function printValues(
  { client, output, signal }: Command,
  model: string,
  tensor: TensorRow,
  { row, column, expert }: { readonly row: number; readonly column: number; readonly expert: string | undefined },
): Promise<undefined> {
  const matrix = expert === undefined ? 0 : wholeNumber("expert", expert, 0);
  const asked = { model, tensor: tensor.name, matrix, row, column, rows: ROWS, columns: COLUMNS };
  const page = await client.call("tensors.values", asked, { signal });
  output.value({ ...asked, ...page, values: Array.from(page.values, jsonNumber) });
  const { rows, columns, matrices } = page;
  output.line(
    `${tensor.name}  ${tensor.type}, ${tensor.shape.join(" × ")}: ${matrices > 1 ? `expert ${matrix}, ` : ""}rows ${row} to ${row + rows - 1}, columns ${column} to ${column + columns - 1}`,
  );
  output.table(
    ["row", ...Array.from({ length: columns }, (_, i) => String(column + i))],
    valueRows(page).map((values, i) => [String(row + i), ...values.map(numberText)]),
    { right: Array.from({ length: columns }, (_, i) => i + 1) },
  );
  return undefined;
}

/** JSON has no NaN and no infinities. */
const jsonNumber = (value: number): number | string => (Number.isFinite(value) ? value : String(value));

const valueRows = ({ rows, columns, values }: ValuesPage): readonly (readonly number[])[] =>
  Array.from({ length: rows }, (_, i) => [...values.subarray(i * columns, (i + 1) * columns)]);
