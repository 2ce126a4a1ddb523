/** The `mlx` entry of ops that are one call: which element types it takes, and how attributes become its own. */
import type { ElementType } from "../../ir/dtype.ts";
import { isFloat, isInteger, isPacked } from "../../ir/dtype.ts";
import type { NodeInfo } from "../../ir/nodeInfo.ts";
import type { MlxAttrs, MlxEmitter, MlxValue } from "./emitter.ts";
import type { MlxFunction } from "./functions.ts";

/** Inputs of any op; missing optional ones are undefined. */
type Operands = readonly (MlxValue | undefined)[];

/** What may be computed with, beside what may only be moved. */
export type MlxTakes = "floats" | "whole" | "numbers" | "comparable" | "any";

const ACCEPTS: { readonly [T in MlxTakes]: (type: ElementType) => boolean } = {
  floats: isFloat,
  whole: isInteger,
  numbers: (type) => isFloat(type) || isInteger(type),
  comparable: (type) => isFloat(type) || isInteger(type) || type === "bool",
  any: () => true,
};
const SPELLED: { readonly [T in MlxTakes]: string } = {
  floats: "floats",
  whole: "whole numbers",
  numbers: "floats and whole numbers",
  comparable: "numbers and truth values",
  any: "every type",
};

export interface MlxOptions<Attrs> {
  readonly attrs?: (attrs: Attrs, node: NodeInfo<Attrs>) => MlxAttrs;
  /** Element types of the first operand (all have the same, where an op does not say otherwise). Floats, when absent. */
  readonly takes?: MlxTakes;
  readonly when?: (node: NodeInfo<Attrs>) => true | string;
}

interface Entry<Attrs> {
  readonly kind: "native";
  readonly emit: (
    e: MlxEmitter,
    inputs: Operands,
    attrs: Attrs,
    node: NodeInfo<Attrs>,
  ) => MlxValue | readonly MlxValue[];
  readonly when: (node: NodeInfo<Attrs>) => true | string;
}

export const present = (inputs: Operands): readonly MlxValue[] => inputs.filter((value) => value !== undefined);

function takesFirst<Attrs>(name: string, takes: MlxTakes, { inputs: [first] }: NodeInfo<Attrs>): true | string {
  if (first === undefined || isPacked(first.dtype) || ACCEPTS[takes](first.dtype)) return true;
  return `MLX's ${name} is used for ${SPELLED[takes]}, this operand is ${first.dtype}`;
}

/** A rule of its own, with the check of its first operand. */
export const mlxNative = <Attrs>(
  name: string,
  emit: Entry<Attrs>["emit"],
  { takes = "floats", when }: Pick<MlxOptions<Attrs>, "takes" | "when"> = {},
): Entry<Attrs> => ({
  kind: "native",
  emit,
  when: (node) => {
    const types = takesFirst(name, takes, node);
    return types === true ? (when?.(node) ?? true) : types;
  },
});

/** One call; its results are the node's. */
export const mlxCall = <Attrs>(
  name: MlxFunction | ((attrs: Attrs) => MlxFunction),
  options: MlxOptions<Attrs> = {},
): Entry<Attrs> => {
  const nameOf = (attrs: Attrs): MlxFunction => (typeof name === "function" ? name(attrs) : name);
  return mlxNative<Attrs>(
    typeof name === "function" ? "comparison" : name,
    (e, inputs, attrs, node) =>
      e.call(nameOf(attrs), present(inputs), node.outputs, options.attrs?.(attrs, node) ?? {}),
    options,
  );
};

/** For calls that MLX makes in float32 at most. */
export const withoutDouble =
  (name: string) =>
  <Attrs>(node: NodeInfo<Attrs>): true | string =>
    node.inputs.some((type) => type.dtype === "f64") ? `MLX's ${name} computes in float32, this operand is f64` : true;
