/**
 * Functions with rules of their own, for the op `custom_fn`: what its four sub-graphs take and give, and the face for people
 * who write one, `customFunction`. A sub-graph without results stands for a rule that was not given.
 *
 *   forward  x…                → y…     what the function is
 *   vjp      x…, y…, cotangents of the y that are floats → cotangents of the x that are floats
 *   jvp      x…, y…, tangents of the x that are floats   → tangents of the y that are floats
 *   vmap     x… with an axis in front                    → y… with it in front; its size is a symbol
 */
import { WorkbenchError, invariant } from "../../diagnostics/errors.ts";
import type { Dim, Sizes } from "../../ir/dim.ts";
import { dimSymbols } from "../../ir/dim.ts";
import { isContinuous, isPacked, plainDType } from "../../ir/dtype.ts";
import type { Graph, Value } from "../../ir/graph.ts";
import { inlineGraph } from "../../ir/nested.ts";
import { expectPlain, expectTypes, regionInputs, regionOutputs } from "../../ir/regions.ts";
import type { TensorType } from "../../ir/type.ts";
import { formatType, sameType } from "../../ir/type.ts";
import type { AnyNumber, VjpContext } from "../defineOp.ts";
import type { OpBuilder } from "../opBuilder.ts";
import { filled, filledLike } from "./constants.ts";

export const CUSTOM_PARTS = ["forward", "vjp", "jvp", "vmap"] as const;
export type CustomPart = (typeof CUSTOM_PARTS)[number];
export type CustomRule = Exclude<CustomPart, "forward">;

/** What has a derivative. */
export const moves = ({ dtype }: TensorType): boolean => isContinuous(dtype) && !isPacked(dtype);
const wide = (type: TensorType, size: Dim): TensorType =>
  isPacked(type.dtype) ? type : { dtype: type.dtype, shape: [size, ...type.shape] };

export function partOf(regions: readonly Graph[], part: CustomPart): Graph {
  const region = regions[CUSTOM_PARTS.indexOf(part)];
  invariant(region, `[custom_fn] ${part} is missing`);
  return region;
}

/** A rule, or nothing where it was not given. */
export function ruleOf(regions: readonly Graph[], rule: CustomRule): Graph | undefined {
  const region = partOf(regions, rule);
  return region.outputs.length === 0 && region.inputs.length === 0 ? undefined : region;
}

/** Operands that a rule takes, by what it is. */
function takenBy(
  rule: CustomRule,
  operands: readonly TensorType[],
  results: readonly TensorType[],
  size: Dim,
): readonly TensorType[] {
  if (rule === "vmap") return operands.map((type) => wide(type, size));
  return [...operands, ...results, ...(rule === "vjp" ? results : operands).filter(moves)];
}

function givenBy(
  rule: CustomRule,
  operands: readonly TensorType[],
  results: readonly TensorType[],
  size: Dim,
): readonly TensorType[] {
  if (rule === "vmap") return results.map((type) => wide(type, size));
  return (rule === "vjp" ? operands : results).filter(moves);
}

/** The size of the axis in front that a batching rule is written for. */
function sizeOfRule(rule: Graph): Dim {
  const [size] = regionOutputs(rule)[0]?.shape ?? [];
  if (size !== undefined) return size;
  throw new WorkbenchError("IR_TYPE", "[custom_fn] outputs of vmap: got one without axes, expected an axis of items");
}

function checkSymbol(size: Dim, operands: readonly TensorType[]): void {
  const own = new Set(dimSymbols(size));
  const both = operands.find(({ shape }) => shape.some((dim) => dimSymbols(dim).some((symbol) => own.has(symbol))));
  if (both !== undefined)
    throw new WorkbenchError(
      "IR_SHAPE",
      `[custom_fn] vmap: its axis of items is ${size}, which is in an operand: got ${formatType(both)}`,
      { hint: "Give the axis of items a symbol of its own." },
    );
}

/** Types of the results; refuses a rule that takes or gives other types, by its name. */
export function customTypes(operands: readonly TensorType[], regions: readonly Graph[]): readonly TensorType[] {
  const forward = partOf(regions, "forward");
  expectTypes("custom_fn", "inputs of forward", regionInputs(forward), operands);
  const results = regionOutputs(forward);
  if (results.length === 0)
    throw new WorkbenchError("IR_TYPE", "[custom_fn] outputs of forward: got nothing, expected at least one");
  expectPlain("custom_fn", "an output of forward", results);
  for (const name of ["vjp", "jvp", "vmap"] as const) {
    const rule = ruleOf(regions, name);
    if (rule === undefined) continue;
    const size = name === "vmap" ? sizeOfRule(rule) : 0;
    checkSymbol(size, operands);
    expectTypes("custom_fn", `inputs of ${name}`, regionInputs(rule), takenBy(name, operands, results, size));
    expectTypes("custom_fn", `outputs of ${name}`, regionOutputs(rule), givenBy(name, operands, results, size));
  }
  return results;
}

/** What makes a batching rule one for so many items. */
export function boundToItems(rule: Graph, size: Dim): Sizes {
  const own = sizeOfRule(rule);
  if (own === size) return {};
  if (typeof own === "string" && dimSymbols(own)[0] === own) return { [own]: size };
  throw new WorkbenchError(
    "UNSUPPORTED_OP",
    `[custom_fn] vmap: got ${size} items, expected ${own}, which its rule is for`,
  );
}

type Values = readonly Value[];
type Some = readonly (Value | undefined)[];

/** What a rule is given, as a function that builds it. */
export interface CustomVjp {
  readonly g: OpBuilder;
  readonly inputs: Values;
  readonly outputs: Values;
  /** One for each output; nothing where it is no float. */
  readonly cotangents: Some;
}
export interface CustomJvp {
  readonly g: OpBuilder;
  readonly inputs: Values;
  readonly outputs: Values;
  /** One for each input; nothing where it is no float. */
  readonly tangents: Some;
}
export interface CustomVmap {
  readonly g: OpBuilder;
  /** With the axis of items in front; packed weights are as they were. */
  readonly inputs: Values;
  /** A symbol: how many items there are is known where the function is batched. */
  readonly size: Dim;
}

/** What a function with rules of its own is made of. A part is a graph, its inputs and outputs by position, or builds one. */
export interface CustomFunction {
  /** Shown in reports. */
  readonly name: string;
  readonly forward: Graph | ((g: OpBuilder, ...inputs: Value[]) => Values);
  /** A cotangent for each input; nothing is zero, and is all that an input without a derivative may get. */
  readonly vjp?: Graph | ((given: CustomVjp) => Some);
  /** A tangent for each output. */
  readonly jvp?: Graph | ((given: CustomJvp) => Some);
  /** The outputs of all items, with the axis of items in front. */
  readonly vmap?: Graph | ((given: CustomVmap) => Values);
}

/** The symbol of the axis of items in rules that are built. */
const ITEMS = "items";

function itemsSymbol(operands: readonly TensorType[]): string {
  const taken = new Set(operands.flatMap(({ shape }) => shape.flatMap((dim) => dimSymbols(dim))));
  let symbol = ITEMS;
  while (taken.has(symbol)) symbol += "_";
  return symbol;
}

/** In the place of each that moves its value; nothing elsewhere. */
export function spread(types: readonly TensorType[], values: Values): Some {
  let next = 0;
  return types.map((type) => (moves(type) ? values[next++] : undefined));
}

/** Of the values that move what is known of them, zeros where nothing is. */
export const orZeros = (g: OpBuilder, values: Values, known: Some): Values =>
  values.flatMap((value, i) => (moves(g.typeOf(value)) ? [known[i] ?? filledLike(g, value, 0)] : []));

/** A cotangent for each operand by the transpose of a forward rule, which is linear in its tangents. */
export function transposed(
  {
    g,
    inputs,
    outputs,
    cotangents,
    gradientOf,
  }: Pick<VjpContext<unknown, AnyNumber>, "g" | "inputs" | "outputs" | "cotangents" | "gradientOf">,
  jvp: Graph,
): Some {
  const behind = inputs.length + outputs.length;
  const seeds = orZeros(g, outputs, cotangents);
  const anywhere = orZeros(g, inputs, []);
  const back = gradientOf(
    jvp,
    seeds.map((_, i) => i),
    anywhere.map((_, i) => behind + i),
  );
  const types = inputs.map((x) => g.typeOf(x));
  return spread(types, inlineGraph(g.graph, back, [...inputs, ...outputs, ...anywhere, ...seeds]));
}

/** The function that a fault of a rule is told of. */
export interface RuleName {
  readonly who: string;
  readonly rule: CustomRule;
}
const faultOf = ({ who, rule }: RuleName, got: string, expected: string): WorkbenchError =>
  new WorkbenchError("IR_TYPE", `[${who}] outputs of ${rule}: got ${got}, expected ${expected}`);

/**
 * One for each value that moves: what the rule gave, or zeros. A wrong count or type, or one for what has no derivative, is
 * refused.
 */
function gathered(g: OpBuilder, name: RuleName, likes: readonly TensorType[], given: Some): Values {
  if (given.length !== likes.length) throw faultOf(name, String(given.length), String(likes.length));
  return likes.flatMap((like, i) => {
    const value = given[i];
    if (moves(like)) {
      if (value !== undefined && !sameType(g.typeOf(value), like))
        throw faultOf(name, formatType(g.typeOf(value)), formatType(like));
      return [value ?? filled(g, plainDType(like.dtype, name.who), like.shape, 0)];
    }
    if (value === undefined) return [];
    throw faultOf(name, formatType(g.typeOf(value)), `none for ${formatType(like)}, which has no derivative`);
  });
}

/** A rule for backwards as a sub-graph. */
export function vjpRegion(
  g: OpBuilder,
  who: string,
  operands: readonly TensorType[],
  results: readonly TensorType[],
  build: (given: CustomVjp) => Some,
): Graph {
  return g.region("vjp", takenBy("vjp", operands, results, 0), (h, ...all) => {
    const { rest, ...given } = split(all, operands.length, results.length);
    const made = build({ g: h, ...given, cotangents: spread(results, rest) });
    return gathered(h, { who, rule: "vjp" }, operands, made);
  });
}

/** A rule for forward mode as a sub-graph. */
export function jvpRegion(
  g: OpBuilder,
  who: string,
  operands: readonly TensorType[],
  results: readonly TensorType[],
  build: (given: CustomJvp) => Some,
): Graph {
  return g.region("jvp", takenBy("jvp", operands, results, 0), (h, ...all) => {
    const { rest, ...given } = split(all, operands.length, results.length);
    const made = build({ g: h, ...given, tangents: spread(operands, rest) });
    return gathered(h, { who, rule: "jvp" }, results, made);
  });
}

const split = (all: Values, inputs: number, outputs: number): Record<"inputs" | "outputs" | "rest", Values> => ({
  inputs: all.slice(0, inputs),
  outputs: all.slice(inputs, inputs + outputs),
  rest: all.slice(inputs + outputs),
});

const nothing = (g: OpBuilder, name: string): Graph => g.region(name, [], () => []);

/**
 * A function with rules of its own, to be called in any graph: `f(g, [x, y])` gives its outputs. What the rules share with the
 * function beside its outputs is a further output.
 *
 * @example
 * const kept = customFunction({ name: "kept", forward: (g, x) => [g.round([x])], vjp: ({ cotangents }) => cotangents });
 */
export function customFunction(own: CustomFunction): (g: OpBuilder, inputs: Values) => Values {
  return (g, inputs) => {
    const operands = inputs.map((x) => g.typeOf(x));
    const { name, forward, vjp, jvp, vmap } = own;
    const body = typeof forward === "function" ? g.region("forward", operands, forward) : forward;
    const results = regionOutputs(body);
    const batched = (build: (given: CustomVmap) => Values): Graph => {
      const size = itemsSymbol(operands);
      const taken = takenBy("vmap", operands, results, size);
      return g.region("vmap", taken, (h, ...all) => build({ g: h, inputs: all, size }));
    };
    const regions = [
      body,
      vjp === undefined
        ? nothing(g, "vjp")
        : typeof vjp === "function"
          ? vjpRegion(g, "custom_fn", operands, results, vjp)
          : vjp,
      jvp === undefined
        ? nothing(g, "jvp")
        : typeof jvp === "function"
          ? jvpRegion(g, "custom_fn", operands, results, jvp)
          : jvp,
      vmap === undefined ? nothing(g, "vmap") : typeof vmap === "function" ? batched(vmap) : vmap,
    ];
    return g.custom_fn(inputs, {}, name, regions);
  };
}
