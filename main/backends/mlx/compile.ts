/** Graph → MLX plan: lower, then bytes. Portable; the addon only reads the result. */
import type { Bindings } from "../../ir/dim.ts";
import { blockLayout } from "../../ir/dtype.ts";
import type { Graph } from "../../ir/graph.ts";
import type { MlxDraft } from "./draft.ts";
import type { MlxRules } from "./emitter.ts";
import type { LocateWeight } from "../../ir/weightPlace.ts";
import { fastRope } from "./patterns/fastRope.ts";
import { lower } from "./lower.ts";
import { writePlan } from "./planWriter.ts";

/** What a plan says of itself: for reports and profiles. */
export interface MlxPlan {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly steps: readonly { readonly kernel: string; readonly nodes: readonly number[] }[];
  /** Bytes in the file of the weights that one decode step reads. */
  readonly weightBytes: number;
}

export interface MlxCompileOptions {
  /** Largest size of each symbol, over the limits that the graph itself has. */
  readonly limits?: Bindings;
  /** Rotary turns by MLX's own kernel, which a GPU has: its angles are f32. */
  readonly fastRope?: boolean;
}

export function compileMlx(
  graph: Graph,
  rules: MlxRules,
  locate: LocateWeight,
  { limits = {}, fastRope: turns = false }: MlxCompileOptions = {},
): MlxPlan {
  const draft = lower(graph, rules, locate);
  if (turns) fastRope(draft);
  return {
    bytes: writePlan(draft, { ...graph.symbolLimits, ...limits }),
    steps: draft.calls.map(({ name, nodes }) => ({ kernel: name, nodes })),
    weightBytes: weightBytes(draft),
  };
}

function weightBytes(draft: MlxDraft): number {
  const sizes = new Map<number, number>();
  for (const { value, leaf } of draft.leaves) {
    if (leaf.kind !== "weight") continue;
    const elements = value.type.shape.reduce<number>((n, dim) => n * Number(dim), 1);
    const block = blockLayout(value.type.dtype);
    sizes.set(value.id, (elements / block.elements) * block.bytes);
  }
  let total = 0;
  for (const call of draft.calls)
    call.inputs.forEach((id, i) => {
      // A gathered table is read by rows only.
      if (call.name !== "take" || i > 0) total += sizes.get(id) ?? 0;
    });
  return total;
}
