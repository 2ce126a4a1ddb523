/** What a runtime with one device makes of its legal graph: the CPU engine's instructions, MLX's calls. No weight is read. */
import { compileMlx } from "../../backends/mlx/compile.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Graph } from "../../ir/graph.ts";
import { locateIn } from "../../runtime/decoderModel.ts";
import type { PlanStep } from "../../runtime/device.ts";
import { compileArtifact } from "../../runtime/devices/cpu.ts";
import { mlxRules } from "../../runtime/devices/mlx.ts";
import { stepsOf } from "../../runtime/planSteps.ts";
import type { OwnBackend } from "../../contract/views/graph.ts";
import type { Line } from "../views/textView.ts";
import type { OpenModel } from "./openModel.ts";
import type { TaskKind } from "./taskCache.ts";
import { tasksOf } from "./taskCache.ts";

const PLAN: TaskKind<readonly PlanStep[]> = { name: "plan", keep: 2 };

/** `key` tells graphs of one model apart. */
export const planSteps = (
  model: OpenModel,
  { backend, graph, key }: { readonly backend: OwnBackend; readonly graph: Graph; readonly key: string },
  signal: AbortSignal,
): Promise<readonly PlanStep[]> =>
  tasksOf(model).get(PLAN, `${backend} ${key}`, signal, () => Promise.resolve(stepsFor(model, backend, graph)));

function stepsFor({ file }: OpenModel, backend: OwnBackend, graph: Graph): readonly PlanStep[] {
  const locate = file === undefined ? noWeights : locateIn(file);
  if (backend === "mlx") return stepsOf(graph, compileMlx(graph, mlxRules, locate).steps);
  return compileArtifact(graph, { weights: { paths: [], locate } }).steps;
}

const noWeights = (_file: string, tensor: string): never => {
  throw new WorkbenchError(
    "INPUT_MISSING_TENSOR",
    `[plan] weight "${tensor}": got a graph without a file, expected one`,
  );
};

/** A line for each: the kernel or function, the ops of the graph that it runs, and where they stand. */
export function planLines(steps: readonly PlanStep[]): readonly Line[] {
  const widest = steps.reduce((most, { kernel }) => Math.max(most, kernel.length), 0);
  return steps.map(({ kernel, op, label, nodes }) => ({
    text: [kernel.padEnd(widest), op, label].filter((part) => part !== "").join("  "),
    node: nodes[0] ?? -1,
  }));
}
