/** `rlx graph` and `rlx passes`. */
import type { Input, StreamInputOf, StreamItemOf } from "../../contract/contract.ts";
import type { Backend, Precision, Stage, StepNumbers, TextPage, Watched } from "../../contract/views/graph.ts";
import { backendTitle, BACKENDS, isRouted, ROUTED, stageOn, stepTitle } from "../../contract/views/graph.ts";
import type { Phase, TargetSpec } from "../../contract/views/common.ts";
import { nodeDataText } from "../../contract/nodeData.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { precisionNamed } from "./precision.ts";
import { blocksOf, printBlocks } from "./blocks.ts";
import type { Command, CommonOptions, ModelChoice } from "./client.ts";
import { openForTarget, orList } from "./client.ts";
import { writeGraphSvg } from "./graphSvg.ts";
import { writeNewText } from "./newText.ts";
import { figureText } from "./output.ts";

export interface PassesOptions extends CommonOptions {
  readonly backend?: string;
  readonly precision: string;
}

interface PassesListOptions extends PassesOptions {
  readonly bisect?: string;
  /** The option that said what is watched, where it is another. */
  readonly watchedBy?: string;
  readonly steps?: boolean;
}

interface GraphOptions extends PassesOptions {
  readonly stage: string;
  readonly mil?: boolean;
  readonly plan?: boolean;
  readonly find?: string;
  readonly nodeData?: string;
  readonly svg?: string;
  readonly theme?: string;
  readonly expand?: boolean;
  readonly by?: string;
}

export function phaseOf(options: CommonOptions): Phase {
  const phase: string = options.phase ?? "decode";
  if (phase === "decode" || phase === "prefill") return phase;
  throw new WorkbenchError("INPUT_ARGUMENT", `[rlx] --phase: got ${phase}, expected decode or prefill`);
}

export function backendOf({ backend = ROUTED.backend }: { readonly backend?: string }): Backend {
  const found = BACKENDS.find((each) => each.backend === backend);
  if (found !== undefined) return found.backend;
  const names = BACKENDS.map((each) => each.backend).join(", ");
  throw new WorkbenchError("INPUT_ARGUMENT", `[rlx] --backend: got ${backend}, expected one of ${names}`);
}

export function precisionOf(options: PassesOptions, backend: Backend): Precision {
  const precision = precisionNamed(options.precision);
  if (precision !== "f32" && backend !== "cpu")
    throw new WorkbenchError("INPUT_ARGUMENT", `[rlx] --precision: got ${precision} for ${backend}, expected f32`, {
      hint: "Name --backend cpu. For Core ML the form of the weights decides: --profile exact and f32 compute in f32, the others in f16.",
    });
  return precision;
}

function stageOf({ stage, ...options }: GraphOptions, target: TargetSpec): Stage {
  const backend = backendOf(options);
  const precision = precisionOf(options, backend);
  return backend === "cpu"
    ? { ...stageOn(backend, stage, target), backend, precision }
    : stageOn(backend, stage, target);
}

export async function graph(command: Command, choice: ModelChoice, options: GraphOptions): Promise<undefined> {
  const { client, output, signal } = command;
  const at = { backend: backendOf(options), step: options.stage };
  if (options.mil === true && (at.backend !== ROUTED.backend || !isRouted(at)))
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[rlx] --mil: got --backend ${at.backend} --stage ${at.step}, expected neither`,
      { hint: "MIL is made of the graph that is legal for Core ML." },
    );
  if (options.plan === true && (at.backend === ROUTED.backend || !isRouted(at)))
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[rlx] --plan: got --backend ${at.backend} --stage ${at.step}, expected --backend cpu or mlx and no stage`,
      { hint: "Core ML is given MIL: see --mil." },
    );
  const { model, target, canGraph } = await openForTarget(command, choice, options);
  if (!canGraph.ok && options.mil !== true && hasOnlyBlocks(canGraph)) {
    const blocks = await blocksOf(command, model);
    output.note(canGraph.sentence);
    output.value(blocks);
    printBlocks(command, blocks);
    return undefined;
  }
  const key = { model, stage: stageOf(options, target), phase: phaseOf(options) };
  if (options.svg !== undefined) {
    await writeGraphSvg(command, { key, target }, { ...options, svg: options.svg });
    return undefined;
  }
  if (options.theme !== undefined || options.expand === true)
    throw new WorkbenchError("INPUT_ARGUMENT", "[rlx] --theme, --expand: got no --svg, expected the file to write");
  if (options.nodeData !== undefined || options.by !== undefined) {
    await writeNodeData(command, { key, target }, options);
    return undefined;
  }
  const language = options.mil === true ? "mil" : options.plan === true ? "plan" : "rlx-ir";
  if (options.find !== undefined) {
    await printFound(command, { key, target, language }, options.find);
    return undefined;
  }
  if (language !== "rlx-ir") {
    const pages = [];
    for await (const page of textPages(command, { key, target, language })) pages.push(page);
    const text = pages.map((page) => page.text).join("\n");
    output.value({ title: pages[0]?.title ?? "", [language]: text });
    output.line(text);
  } else if (output.json) output.value(await client.call("graph.get", key, { signal }));
  else for await (const { text } of textPages(command, { key, target, language: "rlx-ir" })) output.line(text);
  return undefined;
}

/** Lines of the whole text in which something stands, with their numbers. */
async function printFound(command: Command, asked: Omit<Input<"text.find">, "query">, query: string): Promise<void> {
  const { output, client, signal } = command;
  const { total, lines } = await client.call("text.find", { ...asked, query }, { signal });
  const wanted = new Set(lines);
  const found: { readonly line: number; readonly text: string }[] = [];
  for await (const page of textPages(command, asked))
    page.text.split("\n").forEach((text, i) => {
      if (wanted.has(page.firstLine + i)) found.push({ line: page.firstLine + i + 1, text });
    });
  output.value({ query, total, found });
  const most = Math.max(0, ...found.map(({ line }) => line));
  for (const { line, text } of found) output.line(`${String(line).padStart(String(most).length)}  ${text}`);
  if (total !== found.length) output.note(`${total - found.length} more lines have it.`);
  if (total === 0) output.note(`No line has ${query}.`);
}

const QUANTITIES = ["time", "bytes", "flops"] as const;

/** The numbers of each op as a file for the window's graph and for Model Explorer. */
async function writeNodeData(
  { client, output, signal }: Command,
  { key, target }: { readonly key: Input<"graph.get">; readonly target: TargetSpec },
  { nodeData: path, by = "time" }: GraphOptions,
): Promise<void> {
  const kind = QUANTITIES.find((each) => each === by);
  if (kind === undefined)
    throw new WorkbenchError("INPUT_ARGUMENT", `[rlx] --by: got ${by}, expected ${orList(QUANTITIES)}`);
  if (path === undefined)
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      "[rlx] --by: got neither --node-data nor --svg, expected the file to write",
    );
  const view = await client.call("graph.get", key, { signal });
  const { values, truth, basis } = await client.call("graph.overlay", { key, kind, target }, { signal });
  await writeNewText("--node-data", path, nodeDataText(view, values));
  output.value({ path, by: kind, truth, basis });
  output.line(`${by} of each op (${truth}), written to ${path}`);
}

/** True for a valid file whose graph cannot be built here. A broken file is an error. */
const hasOnlyBlocks = ({ code }: { readonly code: string }): boolean =>
  code === "UNSUPPORTED_ARCHITECTURE" || code === "UNSUPPORTED_TENSOR_TYPE";

/** The pages of a program's text. */
async function* textPages(
  { client, signal }: Command,
  asked: Omit<Input<"text.page">, "firstLine">,
): AsyncGenerator<TextPage, void> {
  for (let firstLine = 0; ;) {
    const page = await client.call("text.page", { ...asked, firstLine }, { signal });
    yield page;
    firstLine += page.nodes.length;
    if (firstLine >= page.totalLines || page.nodes.length === 0) return;
  }
}

export async function passes(command: Command, choice: ModelChoice, options: PassesListOptions): Promise<undefined> {
  const backend = backendOf(options);
  const precision = precisionOf(options, backend);
  const { model, target } = await openForTarget(command, choice, options);
  const { client, output, signal } = command;
  const phase = phaseOf(options);
  if (options.bisect !== undefined) {
    const watched = watchedOf(options.watchedBy ?? "bisect", options.bisect);
    const found = await client.call(
      "passes.bisect",
      { model, backend, phase, target, watched, from: null },
      { signal },
    );
    output.value(found);
    output.line(found.sentence);
    return undefined;
  }
  const list = await client.call("passes.list", { model, backend, phase, target, precision }, { signal });
  // The numbers of other floats are not worked out: a route is that of the runtime's own.
  const steps =
    precision === "f32" && (output.json || options.steps === true)
      ? await stepsOf(command, { model, backend, phase, target })
      : null;
  output.value({ ...list, precision, ...steps });
  command.output.line(`Passes for ${backendTitle(backend)}, ${list.phase}.`);
  const rows = list.passes.map((pass, i) => [
    String(i + 1),
    pass.name,
    `${pass.opsBefore} → ${pass.opsAfter}`,
    String(pass.hits),
    String(pass.misses.length),
    figureText(pass.time),
    pass.reason,
  ]);
  command.output.table(["", "pass", "ops", "hits", "misses", "time", "why it is here"], rows, {
    right: [0, 2, 3, 4, 5],
    yields: 6,
    by: "wrap",
  });
  if (steps !== null) {
    output.line();
    output.line("Step by step: what the program would be worth that took the shortest way to the end from there.");
    output.table(["step", "", "ops", "hops", "ANE", "time", "what it did"], stepRows(backend, steps.steps), {
      right: [2, 3, 4, 5],
      yields: 6,
      by: "wrap",
    });
  }
  for (const pass of list.passes)
    for (const miss of pass.misses.slice(0, 5))
      command.output.line(`  ${pass.name}: not at ${miss.where}: ${miss.why}`);
  return undefined;
}

type NumbersItem = Extract<StreamItemOf<"passes.steps">, { kind: "numbers" }>;

interface StepRow extends StepNumbers, Pick<NumbersItem, "ops" | "says" | "details"> {
  readonly name: string;
  readonly counts: string;
}
interface StepList {
  readonly steps: readonly StepRow[];
}

async function stepsOf({ client, output, signal }: Command, asked: StreamInputOf<"passes.steps">): Promise<StepList> {
  let listed: readonly Pick<StepRow, "name" | "counts">[] = [];
  const steps: StepRow[] = [];
  for await (const item of client.stream("passes.steps", asked, { signal })) {
    if (item.kind === "list") listed = item.steps;
    else {
      const { ops, says, details, numbers } = item;
      const { name = "", counts = "" } = listed[item.index] ?? {};
      steps.push({ name, counts, ops, says, details, ...numbers });
      output.progress(`Step ${item.index + 1} of ${listed.length}`);
    }
  }
  return { steps };
}

/** Numbers, each with its change against the step before. */
const stepRows = (backend: Backend, steps: readonly StepRow[]): string[][] =>
  steps.map((step, i) => {
    const before = steps[i - 1];
    const { name, counts, ops, says, hops, aneShare, seconds } = step;
    return [
      stepTitle(backend, name),
      counts === "ops" ? "" : counts,
      changed(ops, before?.ops ?? null, String),
      changed(hops, before?.hops ?? null, String),
      changed(aneShare, before?.aneShare ?? null, (share) => `${(share * 100).toFixed(1)} %`),
      changed(seconds.value, before?.seconds.value ?? null, () => figureText(seconds), timeText),
      says,
    ];
  });

function changed(
  value: number | null,
  before: number | null,
  text: (value: number) => string,
  byText: (value: number) => string = text,
): string {
  if (value === null) return "–";
  const by = before === null ? 0 : value - before;
  return byText(Math.abs(by)) === byText(0)
    ? text(value)
    : `${text(value)} (${by < 0 ? "−" : "+"}${byText(Math.abs(by))})`;
}

const timeText = (seconds: number): string => `${(seconds * 1e3).toFixed(3)} ms`;

/** What a halving looks at, as an option says it. */
export function watchedOf(option: string, text: string): Watched {
  if (text === "ane" || text === "hops" || text === "seconds" || text === "ops") return text;
  const id = /^op:(\d{1,9})$/.exec(text)?.[1];
  if (id !== undefined) return { op: Number(id) };
  throw new WorkbenchError(
    "INPUT_ARGUMENT",
    `[rlx] --${option}: got ${text}, expected ane, hops, seconds, ops or op:ID`,
    {
      hint: "An op is named by the id that `rlx graph --json` gives it in nodes.id.",
    },
  );
}
