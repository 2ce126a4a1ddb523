/** A graph from a text on a device, once or several times, beside the float64 reference. */
import { toldDistance } from "../../contract/distance.ts";
import type { RunTextInput, TextRun } from "../../contract/views/text.ts";
import type { TargetSpec } from "../../contract/views/common.ts";
import { compileNow } from "../../compiler/compile.ts";
import { WorkbenchError, invariant } from "../../diagnostics/errors.ts";
import type { Bindings } from "../../ir/dim.ts";
import type { DType } from "../../ir/dtype.ts";
import type { Graph } from "../../ir/graph.ts";
import type { Pass } from "../../ir/pass.ts";
import { isMemoryParam } from "../../ir/graph.ts";
import { numbersIn, typedArrayOf } from "../../ir/hostBytes.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { formatType } from "../../ir/type.ts";
import { evaluate } from "../../ops/evaluate.ts";
import type { Evaluation } from "../../ops/evaluate.ts";
import type { PlanStep } from "../../runtime/device.ts";
import type { EngineDevice } from "../devices.ts";
import { inSlices } from "../models/taskCache.ts";
import type { SegmentParts } from "./segments.ts";
import { onSegments } from "./segments.ts";
import type { ArrayFiles } from "./values.ts";
import { givenNumbers, paramsOf, statesOf, tensorsOf } from "./values.ts";

type Asked = Omit<RunTextInput, "text" | "name" | "device" | "target">;

export interface TextRunParts extends SegmentParts {
  readonly arrays: ArrayFiles;
  readonly device: EngineDevice;
  readonly threads: number;
  readonly target: TargetSpec;
}

export interface RunValues {
  readonly inputs: Readonly<Record<string, HostTensor>>;
  readonly params: Readonly<Record<string, HostTensor>>;
  readonly states: Readonly<Record<string, HostTensor>>;
  readonly symbols: Bindings;
}

/** An output as a device made it. */
export interface MadeOutput {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly values: Float64Array;
}

export interface Made {
  readonly outputs: readonly MadeOutput[];
  /** Of compiling, and of each run. */
  readonly compileSeconds: number;
  readonly times: readonly number[];
  /** Where a run took its time; of the last. */
  readonly steps: TextRun["steps"];
  /** What of it ran elsewhere. */
  readonly note: string;
}

/** What a run is given: numbers that were said, and drawn ones. */
export async function valuesFor(
  arrays: ArrayFiles,
  graph: Graph,
  asked: Pick<Asked, "inputs" | "symbols" | "seed">,
  signal: AbortSignal,
): Promise<RunValues> {
  refuseFiles(graph);
  const given = await givenNumbers(arrays, graph, asked, signal);
  const { inputs, symbols } = tensorsOf(graph, given, asked);
  return { inputs, symbols, params: paramsOf(graph, asked.seed), states: statesOf(graph, symbols) };
}

/** By the meaning of the ops, in float64. */
export const referenceOf = (
  graph: Graph,
  { inputs, params, states, symbols }: RunValues,
  signal: AbortSignal,
): Promise<Evaluation> => inSlices(evaluate(graph, { inputs, params, states, bindings: symbols, signal }), signal);

export async function runText(parts: TextRunParts, graph: Graph, asked: Asked, signal: AbortSignal): Promise<TextRun> {
  const values = await valuesFor(parts.arrays, graph, asked, signal);
  const { inputs, symbols } = values;
  const { device } = parts;
  const made =
    device.capabilities.graphs === true
      ? await onDevice(parts, graph, values, asked, signal)
      : await onSegments(parts, graph, values, asked, signal);
  const reference = await referenceOf(graph, values, signal);
  const seconds = Math.min(...made.times);
  return {
    device: device.id,
    sentence: `${device.title}: compiled in ${milliseconds(made.compileSeconds)}, run in ${milliseconds(seconds)}.${made.note}`,
    seconds,
    compileSeconds: made.compileSeconds,
    times: [...made.times],
    steps: made.steps,
    symbols: { ...symbols },
    inputs: Object.entries(inputs).map(([name, tensor]) => ({ name, type: formatType(tensor) })),
    outputs: made.outputs.map((output) => ({
      ...{ name: output.name, dtype: output.dtype, shape: [...output.shape] },
      ...statisticsOf(output.values),
      values: output.values.subarray(0, asked.values),
      error: toldDistance(distanceOf(output.values, expectedOf(output.name, output.values, reference))),
    })),
  };
}

const milliseconds = (seconds: number): string => `${(seconds * 1000).toFixed(1)} ms`;

/** In a loop: a tensor has more values than a call can have arguments. Of what is finite. */
function statisticsOf(
  values: Float64Array,
): Pick<TextRun["outputs"][number], "count" | "least" | "most" | "mean" | "odd"> {
  let [least, most, sum, finite] = [Infinity, -Infinity, 0, 0];
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    least = Math.min(least, value);
    most = Math.max(most, value);
    sum += value;
    finite++;
  }
  const told = finite > 0;
  return {
    count: values.length,
    least: told ? least : null,
    most: told ? most : null,
    mean: told ? sum / finite : null,
    odd: values.length - finite,
  };
}

/** A text names the weights of files and does not hold them. */
function refuseFiles(graph: Graph): void {
  const param = graph.nodes.find((node) => node.op === "param" && !isMemoryParam(node));
  if (param === undefined) return;
  throw new WorkbenchError(
    "INPUT_ARGUMENT",
    `[run] ${String(param.attrs["name"])}: got a weight of a file, expected parameters in memory`,
    { hint: "Run the model's own file, or write {memory: true} and an initial value." },
  );
}

/** Compiled with the passes of the device's backend, or with these. */
export async function onDevice(
  { device, threads }: Pick<TextRunParts, "device" | "threads">,
  graph: Graph,
  { inputs, params, symbols }: RunValues,
  { repeats, profile, passes }: Pick<Asked, "repeats" | "profile"> & { readonly passes?: readonly Pass[] },
  signal: AbortSignal,
): Promise<Made> {
  const began = performance.now();
  const limited = { ...graph, symbolLimits: { ...symbols, ...graph.symbolLimits } };
  const made = device.device?.({ threads });
  invariant(made, `device ${device.id} compiles graphs`);
  const compiled = made.compile(
    device.backend === undefined
      ? limited
      : compileNow(limited, { backend: device.backend, ...(passes === undefined ? {} : { passes }) }).graph,
  );
  try {
    const session = compiled.open({ symbols });
    try {
      const held = session.params;
      invariant(held !== undefined || Object.keys(params).length === 0, `device ${device.id} holds parameters`);
      for (const [name, tensor] of Object.entries(params)) held?.setParam(name, tensor.data);
      const compileSeconds = (performance.now() - began) / 1000;
      const typed = Object.fromEntries(Object.entries(inputs).map(([name, tensor]) => [name, typedArrayOf(tensor)]));
      const fetch = graph.outputs.map(({ name }) => name);
      const run = (): ReturnType<typeof session.run> =>
        session.run({ inputs: typed, fetch, symbols, ...(profile ? { profile } : {}) }, signal);
      const first = await run();
      const times = [first.seconds];
      let last = first;
      while (times.length < repeats) {
        if (graph.states.length > 0) await session.reset();
        last = await run();
        times.push(last.seconds);
      }
      const outputs = fetch.map((name): MadeOutput => {
        const output = last.outputs[name];
        invariant(output, `output ${name} was fetched`);
        const { dtype, shape, bytes } = output;
        return { name, dtype, shape, values: Float64Array.from(numbersIn(dtype, bytes)) };
      });
      const timed = last.profile?.seconds;
      return {
        outputs,
        compileSeconds,
        times,
        steps: timed === undefined ? null : stepsOf(compiled.steps, timed),
        note: "",
      };
    } finally {
      session.dispose();
    }
  } finally {
    compiled.dispose();
  }
}

const stepsOf = (steps: readonly PlanStep[], seconds: Float32Array): NonNullable<TextRun["steps"]> =>
  steps.map(({ kernel, op, label }, i) => ({ kernel, op, label, seconds: seconds[i] ?? 0 }));

export function expectedOf(name: string, values: Float64Array, { outputs }: Evaluation): Float64Array {
  const expected = outputs[name]?.data;
  invariant(expected?.length === values.length, `the reference has output ${name}`);
  return expected;
}

/** Largest distance over the largest value; infinities and NaN count where only one side has them. */
export function distanceOf(values: Float64Array, expected: Float64Array): number {
  let [distance, largest] = [0, 0];
  for (const [i, value] of values.entries()) {
    const right = expected[i] ?? NaN;
    if (Object.is(value, right)) continue;
    distance = Math.max(
      distance,
      Number.isFinite(value) && Number.isFinite(right) ? Math.abs(value - right) : Infinity,
    );
  }
  for (const right of expected) if (Number.isFinite(right)) largest = Math.max(largest, Math.abs(right));
  return distance === 0 ? 0 : distance / (largest || 1);
}
