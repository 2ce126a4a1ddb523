/**
 * Which step of the way to a device changes a graph's result: the graph as it stands after each pass that changed it runs on
 * the device, with the same numbers and without the passes behind. Every step is run, because one may put right what
 * another did.
 */
import type { BisectTextInput, TextBisection } from "../../contract/views/text.ts";
import { distanceText, toldDistance } from "../../contract/distance.ts";
import { BUILT } from "../../contract/views/graph.ts";
import { pipelineFor } from "../../compiler/pipelines.ts";
import { applyPrecision } from "../../compiler/precision.ts";
import { throwIfCancelled, WorkbenchError } from "../../diagnostics/errors.ts";
import type { Graph } from "../../ir/graph.ts";
import type { Pass } from "../../ir/pass.ts";
import { runPipeline } from "../../passes/pipeline.ts";
import { inSlices } from "../models/taskCache.ts";
import { counted } from "../words.ts";
import type { MadeOutput, TextRunParts } from "./runText.ts";
import { SEGMENT_PASSES, onSegments } from "./segments.ts";
import { distanceOf, expectedOf, onDevice, referenceOf, valuesFor } from "./runText.ts";

type Asked = Omit<BisectTextInput, "text" | "name" | "device">;
/** With infinity where a NaN or an infinity comes or goes. */
interface Step {
  readonly name: string;
  readonly nodes: number;
  readonly hits: number;
  readonly change: number;
  readonly error: number;
}
/** As the graph stands: no pass runs again. */
const ONCE = { repeats: 1, profile: false, passes: [] };

interface Stage {
  readonly name: string;
  readonly graph: Graph;
  readonly hits: number;
}

async function stagesOf(
  graph: Graph,
  { precision }: Asked,
  passes: readonly Pass[],
  signal: AbortSignal,
): Promise<readonly Stage[]> {
  const typed = await inSlices(applyPrecision(graph, precision), signal);
  const { records } = await inSlices(runPipeline(typed, { passes, verify: true, signal }), signal);
  const first = { name: BUILT, graph, hits: 0 };
  return [
    first,
    ...(typed === graph ? [] : [{ name: `precision ${precision}`, graph: typed, hits: 0 }]),
    ...records.filter(({ changed }) => changed).map(({ name, after, hits }) => ({ name, graph: after, hits })),
  ];
}

/** Of all outputs the largest. */
const largest = (outputs: readonly MadeOutput[], of: (output: MadeOutput, index: number) => number): number =>
  outputs.reduce((most, output, i) => Math.max(most, of(output, i)), 0);

export async function bisectText(
  parts: TextRunParts,
  graph: Graph,
  asked: Asked,
  signal: AbortSignal,
  passes: readonly Pass[] = isCompiled(parts) ? pipelineFor(parts.device.backend ?? "cpu") : SEGMENT_PASSES,
): Promise<TextBisection> {
  const values = await valuesFor(parts.arrays, graph, asked, signal);
  requireSymbols(asked.symbols, Object.keys(values.symbols));
  const reference = await referenceOf(graph, values, signal);
  const steps: Step[] = [];
  let before: readonly MadeOutput[] = [];
  for (const stage of await stagesOf(graph, asked, passes, signal)) {
    throwIfCancelled(signal);
    const { outputs } = await (isCompiled(parts) ? onDevice : onSegments)(parts, stage.graph, values, ONCE, signal);
    const previous = before.length === 0 ? outputs : before;
    steps.push({
      name: stage.name,
      nodes: stage.graph.nodes.length,
      hits: stage.hits,
      change: largest(outputs, (output, i) => distanceOf(output.values, previous[i]?.values ?? output.values)),
      error: largest(outputs, ({ name, values }) => distanceOf(values, expectedOf(name, values, reference))),
    });
    before = outputs;
  }
  const found = steps.find(({ change }) => change > asked.tolerance);
  return {
    device: parts.device.id,
    step: found?.name ?? null,
    sentence: sentenceOf(steps, found, asked.tolerance),
    steps: steps.map((step) => ({ ...step, change: toldDistance(step.change), error: toldDistance(step.error) })),
  };
}

/** By one device as a whole, and not part by part. */
const isCompiled = ({ device }: Pick<TextRunParts, "device">): boolean => device.capabilities.graphs === true;

/** A size of a symbol that the graph does not have would change nothing. */
function requireSymbols(said: Asked["symbols"], names: readonly string[]): void {
  const unused = Object.keys(said).find((name) => !names.includes(name));
  if (unused === undefined) return;
  throw new WorkbenchError(
    "INPUT_ARGUMENT",
    `[bisect] symbol: got ${unused}, expected ${names.length === 0 ? "none: the graph has no symbols" : names.join(", ")}`,
    { hint: "Name a symbol of the graph." },
  );
}

const amount = (value: number): string => distanceText(toldDistance(value));

function sentenceOf(steps: readonly Step[], found: Step | undefined, tolerance: number): string {
  const most = steps.reduce((so, { change }) => Math.max(so, change), 0);
  if (found !== undefined)
    return `The result changes after “${found.name}”, by ${amount(found.change)} of its largest number; it is then ${amount(found.error)} from the reference.`;
  const looked = `${counted(steps.length, "step")} looked at.`;
  if (most === 0) return `No pass changes the result: every bit is the same. ${looked}`;
  return `No pass changes the result by more than ${amount(tolerance)}: the most is ${amount(most)}. ${looked}`;
}
