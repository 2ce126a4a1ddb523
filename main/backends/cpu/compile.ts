/** Graph → plan: lower, memory, bytes. Portable; the addon only reads the result. */
import { canFollowGgml, followGgml } from "./asGgml.ts";
import type { Bindings } from "../../ir/dim.ts";
import type { Graph } from "../../ir/graph.ts";
import { blockLayout } from "../../ir/dtype.ts";
import { flatten, inBodies } from "./control.ts";
import type { DraftInstruction, PlanDraft } from "./draft.ts";
import type { LocateWeight } from "../../ir/weightPlace.ts";
import type { CpuRules } from "./lower.ts";
import { lower, assignMemory } from "./lower.ts";
import type { MemoryPlan } from "./memoryPlan.ts";
import { planMemory } from "./memoryPlan.ts";
import { writePlan } from "./planWriter.ts";

export interface CpuCompileOptions {
  /** Largest size of each symbol, over the limits that the graph itself has. */
  readonly limits?: Bindings;
  /** Add and round as ggml does where all weights are f32 or f16 (on x86 to the last bit): for comparing with it. */
  readonly asGgml?: boolean;
}

/** What a plan says of itself: for reports, profiles, and estimates. */
export interface CpuPlan {
  readonly bytes: Uint8Array;
  readonly memory: MemoryPlan;
  readonly limits: Bindings;
  readonly instructions: readonly PlanStep[];
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly states: readonly string[];
  /** Bytes of weights that one decode step reads. */
  readonly weightBytes: number;
}

export interface PlanStep {
  readonly kernel: string;
  readonly nodes: readonly number[];
}

export function compileCpu(
  graph: Graph,
  rules: CpuRules,
  locate: LocateWeight,
  options: CpuCompileOptions = {},
): CpuPlan {
  const draft = lower(graph, rules, locate);
  if (options.asGgml === true && canFollowGgml(draft)) {
    inBodies(draft, followGgml);
    followGgml(draft);
  }
  assignMemory(draft);
  flatten(draft);
  const limits = { ...graph.symbolLimits, ...options.limits };
  const memory = planMemory(draft, limits);
  return {
    bytes: writePlan(draft, memory, limits),
    memory,
    limits,
    instructions: draft.instructions.map(({ kernel, nodes }) => ({ kernel, nodes })),
    inputs: draft.inputs.map((input) => input.name),
    outputs: draft.outputs.map((output) => output.name),
    states: draft.states.map((state) => state.name),
    weightBytes: weightBytes(draft, draft.instructions),
  };
}

function weightBytes(draft: PlanDraft, instructions: readonly DraftInstruction[]): number {
  let total = 0;
  for (const instruction of instructions)
    for (const [i, id] of instruction.inputs.entries()) {
      if (id < 0) continue;
      const { type, buffer } = draft.valueAt(id);
      const kind = draft.kindOf(buffer);
      // A gathered table is read by rows only.
      if (kind.kind !== "weight" || (instruction.kernel === "gather" && i === 0)) continue;
      const elements = type.shape.reduce<number>((n, dim) => n * Number(dim), 1);
      const block = blockLayout(type.dtype);
      total += (elements / block.elements) * block.bytes;
    }
  return total;
}
