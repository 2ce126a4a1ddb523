/** What the IR needs to know of ops; `main/ops` implements it, so that arrows point down. */
import type { AnyAttrSchema, AttrRecord } from "./attributes.ts";
import type { Graph } from "./graph.ts";
import type { TensorType } from "./type.ts";

export const TRAITS = [
  "pure",
  "elementwise",
  "commutative",
  "idempotent",
  "view",
  // Every element of a result is an element of an operand or a constant.
  "movement",
  "reduction",
  "sensitive",
  "random",
  "fused",
  "host",
] as const;
export type Trait = (typeof TRAITS)[number];

/** From `least` to `most` operands; those at the end may be left out. */
export interface Range<L extends number = number, M extends number = number> {
  readonly least: L;
  readonly most: M;
}

export interface OpSpec {
  readonly name: string;
  readonly summary: string;
  readonly arity: Range;
  readonly schema: AnyAttrSchema;
  /** Names of its sub-graphs, in order: none but for control flow. */
  readonly regionNames: readonly string[];
  readonly traits: readonly Trait[];
  /** Types in, types out; throws IR_TYPE or IR_SHAPE with the op name in brackets. */
  readonly inferTypes: (
    inputs: readonly TensorType[],
    attrs: AttrRecord,
    regions: readonly Graph[],
  ) => readonly TensorType[];
}

export interface OpTable {
  readonly get: (name: string) => OpSpec | undefined;
  readonly names: readonly string[];
}
