/** `rlx diff`: two files, or one file on two targets, against each other; in words first. */
import type { CompareInput, Comparison, Measured, OpDifference } from "../../contract/views/compare.ts";
import type { BenchResult } from "../../contract/views/bench.ts";
import type { Subject } from "../../contract/views/cost.ts";
import type { Device } from "../../contract/views/common.ts";
import type { Backend } from "../../contract/views/graph.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Command, CommonOptions, ModelChoice, TargetOptions } from "./client.ts";
import { devicesOf, openModel, targetOf, unfinished } from "./client.ts";
import { backendOf, phaseOf } from "./graph.ts";
import { writeMergedSvg } from "./graphSvg.ts";
import { writeNew } from "./newFile.ts";
import { bytesText, figureText, phaseText } from "./output.ts";

export interface DiffOptions extends CommonOptions {
  readonly backend?: string;
  readonly bBackend?: string;
  readonly bChip?: string;
  readonly bUnits?: string;
  readonly bProfile?: string;
  readonly bContext?: string;
  readonly bOptions?: string;
  readonly bench?: boolean;
  readonly warn?: boolean;
  readonly html?: string;
  readonly svg?: string;
  readonly overwrite?: boolean;
  readonly all?: boolean;
}

/** Rows of a list without --all. */
const FEW_ROWS = 12;

export async function diff(
  command: Command,
  choice: ModelChoice,
  other: string | undefined,
  options: DiffOptions,
): Promise<number> {
  const { client, output, signal } = command;
  const phase = phaseOf(options);
  const first = await openModel(command, choice);
  const second = other === undefined ? first : await openModel(command, { file: other, offer: undefined });
  const subjects = { a: await subjectOf(command, options), b: await subjectOf(command, ofB(options)) };
  const sides = {
    a: { model: first.model, subject: subjects.a },
    b: { model: second.model, subject: subjects.b },
  };
  if (first === second && JSON.stringify(subjects.a) === JSON.stringify(subjects.b))
    throw new WorkbenchError("INPUT_ARGUMENT", "[rlx] diff: got one file on one target, expected two sides", {
      hint: "Name a second file, or another target for it: --b-units all, --b-backend cpu.",
    });
  const speed = options.bench === true ? await measured(command, sides, options) : null;
  const input: CompareInput = { ...sides, phase, speed };
  const comparison = await compared(command, input);
  if (options.html !== undefined) {
    const asked = { model: first.model, subject: subjects.a, phase, against: input };
    const { html } = await client.call("report.make", asked, { signal });
    const path = await writeNew("diff", options.html, html, options.overwrite === true);
    output.note(`${bytesText(html.length)} in ${path}`);
  }
  if (options.svg !== undefined) await writeMergedSvg(command, { ...sides, phase }, options.svg);
  output.value(comparison);
  print(command, comparison, options.all === true ? Infinity : FEW_ROWS);
  return 0;
}

/** The second target: the first, but for what is said of it. */
const ofB = (options: DiffOptions): TargetOptions & { readonly backend?: string } => {
  const { bBackend, bChip, bUnits, bProfile, bContext, bOptions, ...own } = options;
  return {
    ...own,
    ...(bBackend === undefined ? {} : { backend: bBackend }),
    ...(bChip === undefined ? {} : { chip: bChip }),
    ...(bUnits === undefined ? {} : { units: bUnits }),
    ...(bProfile === undefined ? {} : { profile: bProfile }),
    ...(bContext === undefined ? {} : { context: bContext }),
    ...(bOptions === undefined ? {} : { options: bOptions }),
  };
};

const subjectOf = async (
  command: Command,
  options: TargetOptions & { readonly backend?: string },
): Promise<Subject> => ({ backend: backendOf(options), target: await targetOf(command, options) });

async function compared({ client, output, signal }: Command, input: CompareInput): Promise<Comparison> {
  for await (const item of client.stream("compare.run", input, { signal })) {
    if (item.kind === "done") return item.comparison;
    output.progress(phaseText(item), item.name);
  }
  throw unfinished(signal);
}

type Sides = Pick<CompareInput, "a" | "b">;

/** Both sides in turn: each round takes one sample of each. */
async function measured(
  command: Command,
  { a, b }: Sides,
  options: DiffOptions,
): Promise<NonNullable<CompareInput["speed"]>> {
  const { client, output, signal } = command;
  const devices = await devicesOf(command);
  const deviceOf = (backend: Backend): string => {
    const found = devices.find(
      (each) => each.backend === backend && each.available && each.capabilities.measure === true,
    );
    if (found !== undefined) return found.id;
    throw new WorkbenchError("ENV_NO_DEVICE", `[rlx] --bench: got ${backend}, which is measured on no device here`, {
      hint: "Compare without --bench, or on another --backend: rlx doctor lists the devices.",
    });
  };
  const [onA, onB] = [deviceOf(a.subject.backend), deviceOf(b.subject.backend)];
  const input = {
    model: a.model,
    others: a.model === b.model ? [] : [b.model],
    device: [...new Set([onA, onB])],
    ...{ promptTokens: 128, generateTokens: 32, repeats: 100, decideWithin: 30 },
    conditions: options.warn === true ? ("warn" as const) : ("wait" as const),
  };
  for await (const item of client.stream("bench.run", input, { signal })) {
    if (item.kind === "phase") output.progress(phaseText(item), item.name);
    else if (item.kind === "sample") output.progress(`Measuring both in turn, ${item.done} of ${item.total}`, "bench");
    else if (item.kind === "done")
      return { a: sideOf(item, a.model, onA), b: sideOf(item, b.model, onB), together: true };
  }
  throw unfinished(signal);
}

function sideOf(result: BenchResult, model: string, device: string): Measured {
  const subject = result.subjects.findIndex((each) => each.model === model && each.device === device);
  return { record: result, subject: Math.max(0, subject), name: "measured now, in turn" };
}

function print({ output }: Command, comparison: Comparison, most: number): void {
  comparison.sentences.forEach((sentence, i) =>
    output.line(comparison.sentences.length > 1 ? `${i + 1}. ${sentence}` : sentence),
  );
  const { numbers, routing, costs, speed, graph, tensors, keys, facts } = comparison;
  const list = (
    title: string,
    head: readonly string[],
    rows: readonly string[][],
    right: readonly number[] = [],
  ): void => {
    if (rows.length === 0) return;
    output.line(`\n${title}`);
    output.table([...head], rows.slice(0, most), { right: [...right], yields: head.length - 1 });
    if (rows.length > most) output.line(`and ${rows.length - most} more (--all)`);
  };
  list(
    "Numbers (the better side has a star)",
    ["", "A", "B"],
    numbers.map(({ label, a, b, better }) => [
      label,
      (a === null ? "–" : figureText(a)) + (better === "a" ? " *" : ""),
      (b === null ? "–" : figureText(b)) + (better === "b" ? " *" : ""),
    ]),
    [1, 2],
  );
  if (speed !== null)
    list(
      "Measured",
      ["test", "A", "B", "verdict"],
      speed.rows.map(({ test, a, b, sentence }) => [test, figureText(a), figureText(b), sentence]),
      [1, 2],
    );
  if (routing !== null)
    list(
      "Runs elsewhere",
      ["op", "where", "A", "B", "why in B"],
      routing.rows.map((row) => [row.op, placeOf(row), deviceText(row.from), deviceText(row.to), row.reasonB]),
    );
  list(
    "Predicted time by op",
    ["op", "where", "A", "B", "difference"],
    costs.map((row) => [
      ...[row.op, placeOf(row), secondsText(row.secondsA), secondsText(row.secondsB)],
      deltaText(row.secondsA, row.secondsB),
    ]),
    [2, 3, 4],
  );
  if (graph !== null)
    list(
      "Ops",
      ["", "op", "where", "what"],
      graph.rows.map((row) => [SIGNS[row.kind], row.op, placeOf(row), row.what]),
    );
  list(
    "Tensors",
    ["", "tensor", "A", "B"],
    tensors.rows.map(({ name, a, b, numbers: own }) => [
      a === null ? "+" : b === null ? "-" : "~",
      name,
      formText(a),
      own === "other" ? "other numbers" : formText(b),
    ]),
  );
  list(
    "Facts",
    ["", "A", "B"],
    facts.map(({ label, a, b }) => [label, a ?? "–", b ?? "–"]),
  );
  list(
    "Keys",
    ["key", "A", "B"],
    keys.rows.map(({ key, a, b }) => [key, shortened(a), shortened(b)]),
  );
}

const SIGNS = { added: "+", removed: "-", changed: "~" } as const;
const deviceText = (device: Device): string => (device === "none" ? "–" : device.toUpperCase());
const placeOf = ({ path, name, count, blocks }: Pick<OpDifference, "path" | "name" | "count" | "blocks">): string =>
  [path, name].filter((part) => part !== "").join(" ") +
  (count === 1 ? "" : ` ×${count}${blocks === "" ? "" : ` (${blocks})`}`);
const secondsText = (value: number | null): string =>
  value === null ? "–" : figureText({ value, low: null, high: null, unit: "seconds", truth: "predicted", basis: "" });
const deltaText = (a: number | null, b: number | null): string => {
  const delta = (b ?? 0) - (a ?? 0);
  return `${delta < 0 ? "−" : "+"}${secondsText(Math.abs(delta)).replace("~", "")}`;
};
const formText = (form: Comparison["tensors"]["rows"][number]["a"]): string =>
  form === null ? "–" : `${form.type} ${form.shape.join("×")}`;
const shortened = (text: string | null): string =>
  text === null
    ? "–"
    : text.length > 60
      ? `${text.slice(0, 59).replaceAll(/\s+/gu, " ")}…`
      : text.replaceAll(/\s+/gu, " ");
