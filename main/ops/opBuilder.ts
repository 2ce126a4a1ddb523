/**
 * The typed builder `g`: one method per op, derived from the op list, so that wrong attributes or
 * arity do not compile.
 */
import type { NoAttrs } from "../ir/attributes.ts";
import type { GraphBuilder } from "../ir/builder.ts";
import type { Graph, Value } from "../ir/graph.ts";
import type { HostTensor } from "../ir/hostTensor.ts";
import type { TensorType } from "../ir/type.ts";
import type { Arity, InputsOf, Op, OutputCount } from "./defineOp.ts";
import type { OpList } from "./index.ts";

type Result<O extends OutputCount> = O extends "one" ? Value : readonly Value[];

/** Makes a sub-graph: `build` gets its inputs, one argument each, and gives its outputs. */
export type RegionMaker = (
  name: string,
  inputs: readonly TensorType[],
  build: (g: OpBuilder, ...inputs: Value[]) => readonly Value[],
) => Graph;

type Method<D> =
  D extends Op<string, infer Attrs, infer A extends Arity, infer O extends OutputCount>
    ? NoAttrs extends Attrs
      ? (inputs: InputsOf<A, Value>, attrs?: Attrs, label?: string, regions?: readonly Graph[]) => Result<O>
      : (inputs: InputsOf<A, Value>, attrs: Attrs, label?: string, regions?: readonly Graph[]) => Result<O>
    : never;

export type OpMethods = { readonly [K in keyof OpList]: Method<OpList[K]> };

export interface OpBuilder extends OpMethods {
  readonly constant: (tensor: HostTensor) => Value;
  readonly typeOf: (value: Value) => TensorType;
  readonly region: RegionMaker;
  /** The builder underneath, for leaves, scopes and ops by name. */
  readonly graph: Pick<GraphBuilder, "apply" | "typeOf" | "constant">;
}
