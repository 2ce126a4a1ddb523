/**
 * A graph from a text on a device that runs parts of a cut graph (Core ML, or its simulator): parameters and states are
 * constants of the program, the parts are one package, the rest runs on the host.
 */
import { lowerGraph, withOpset } from "../../backends/coreml/hybrid/loweredGraph.ts";
import type { Route } from "../../backends/coreml/hybrid/route.ts";
import { routeLowered } from "../../backends/coreml/hybrid/route.ts";
import { leversOf } from "../../backends/coreml/levers.ts";
import { oldestEqualOpset } from "../../backends/coreml/mil/opTable.ts";
import type { PlanTarget } from "../../backends/coreml/plan/target.ts";
import { resolveTarget, systemOf } from "../../backends/coreml/plan/target.ts";
import type { CompileOptions } from "../../compiler/compile.ts";
import { compile } from "../../compiler/compile.ts";
import { pipelineFor } from "../../compiler/pipelines.ts";
import type { TargetSpec } from "../../contract/views/common.ts";
import type { RunTextInput } from "../../contract/views/text.ts";
import { invariant } from "../../diagnostics/errors.ts";
import type { Graph } from "../../ir/graph.ts";
import { opTable } from "../../ops/index.ts";
import type { CpuAccess } from "../../runtime/devices/cpu.ts";
import { counted } from "../words.ts";
import type { EngineDevice } from "../devices.ts";
import { runParts } from "../models/hybrid.ts";
import { coremlEntry } from "../models/packageRequest.ts";
import { inSlices } from "../models/taskCache.ts";
import type { PackageFiles } from "../services.ts";
import type { Made, RunValues } from "./runText.ts";
import { withoutStates, withValues } from "./subject.ts";

export interface SegmentParts {
  readonly cpu: CpuAccess;
  readonly packages: Pick<PackageFiles, "temporary" | "writer">;
}

const KEPT_PARTS = { backend: "coreml", blocked: "keep" } as const;
export const SEGMENT_PASSES = pipelineFor(KEPT_PARTS.backend);

async function routed(
  graph: Graph,
  target: PlanTarget,
  options: Pick<CompileOptions, "bindings" | "passes">,
  signal: AbortSignal,
): Promise<Route> {
  const legal = (await inSlices(compile(graph, { ...options, ...KEPT_PARTS }), signal)).graph;
  const { opset } = systemOf(target.os);
  const levers = leversOf(target);
  const lowered = await inSlices(
    lowerGraph(legal, {
      ...{ table: opTable, entries: coremlEntry, profile: target.profile, functionName: "main", levers },
      opset: oldestEqualOpset(opset),
    }),
    signal,
  );
  return inSlices(routeLowered(withOpset(lowered, opset), target), signal);
}

/** Compiled with the passes of Core ML, or with these. */
export async function onSegments(
  parts: SegmentParts & { readonly device: EngineDevice; readonly target: TargetSpec },
  graph: Graph,
  { inputs, params, states, symbols }: RunValues,
  { repeats, passes }: Pick<RunTextInput, "repeats"> & Pick<CompileOptions, "passes">,
  signal: AbortSignal,
): Promise<Made> {
  const began = performance.now();
  const { device, target } = parts;
  const whole = withValues(withoutStates(graph, states), params);
  const route = await routed(
    whole,
    resolveTarget(target, "decode"),
    { bindings: symbols, ...(passes && { passes }) },
    signal,
  );
  const { segments } = device;
  invariant(segments, `device ${device.id} runs segments`);
  let compileSeconds = 0;
  const times: number[] = [];
  const run = await runParts(
    { ...parts, engine: parts.cpu.engine(), open: segments(route, signal), route },
    async (runOnce) => {
      compileSeconds = (performance.now() - began) / 1000;
      let last = await timed(runOnce, times);
      while (times.length < repeats) last = await timed(runOnce, times);
      return last;
    },
    { inputs, signal },
  );
  const onHost = run.timings.filter(({ side }) => side === "host").length;
  return {
    outputs: Object.entries(run.outputs).map(([name, { dtype, shape, data }]) => ({
      ...{ name, dtype, shape },
      values: Float64Array.from(data),
    })),
    compileSeconds,
    times,
    steps: run.timings.map(({ part, side, seconds }) => ({
      kernel: side === "host" ? "host" : run.truth === "measured" ? "Core ML" : "Core ML, simulated",
      op: [...new Set(route.parts[part]?.nodes.map((id) => route.graph.nodes[id]?.op ?? "") ?? [])].join(" + "),
      label: `part ${part + 1}`,
      seconds,
    })),
    note: onHost === 0 ? "" : ` ${counted(onHost, "part")} of ${run.timings.length} ran on the host.`,
  };
}

async function timed<T>(work: () => Promise<T>, times: number[]): Promise<T> {
  const began = performance.now();
  const result = await work();
  times.push((performance.now() - began) / 1000);
  return result;
}
