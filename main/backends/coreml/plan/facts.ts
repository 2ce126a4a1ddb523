/**
 * What the rules and the cost model need to know of each operator of a function: types, constants, arithmetic, bytes.
 * Computed in one walk over the program.
 */
import type { MilConstant, MilFunction, MilOperation, MilType } from "../mil/types.ts";
import { elementCount, packedByteLength } from "../mil/types.ts";

export interface OpFacts {
  /** Index in the function's operations. */
  readonly index: number;
  readonly op: MilOperation;
  readonly type: string;
  /** Arguments by name; the first of several. */
  readonly inputs: ReadonlyMap<string, ArgumentFact>;
  /** Computed operands, all of them. */
  readonly operands: readonly ArgumentFact[];
  readonly results: readonly ArgumentFact[];
  readonly outputs: readonly MilType[];
  /** Types of computed operands and of results. */
  readonly tensors: readonly MilType[];
  /** Multiply-adds count twice. */
  readonly flops: number;
  /** Bytes of computed operands and results. */
  readonly activationBytes: number;
  /** Bytes of constant operands as stored (packed), and as fp16. */
  readonly storedWeightBytes: number;
  readonly denseWeightBytes: number;
  /** Only relabels memory, or has no work at run time. */
  readonly free: boolean;
}

export interface ArgumentFact {
  readonly name: string;
  readonly type: MilType;
  readonly constness: "computed" | "const" | "constexpr";
  /** Present for small constants. */
  readonly constant?: MilConstant;
  /** For constexprs: how many blocks share a row, 1 = one scale per row. */
  readonly blocksPerRow?: number;
  /** Bytes as stored: packed for weights. */
  readonly bytes: number;
  /** Position (in `ops`) of the operator that makes it, -1 for inputs and constants; and of the last that reads it. */
  readonly madeBy: number;
  lastUse: number;
}

export interface FunctionFacts {
  readonly function: MilFunction;
  /** Operators that run: constants left out. */
  readonly ops: readonly OpFacts[];
  readonly hasState: boolean;
  /** Dense fp16 size of all weights. */
  readonly weightBytes: number;
}

/** Smaller constants are parameters, not data. */
const SMALL_BYTES = 128;

const FREE = new Set(["reshape", "expand_dims", "squeeze", "identity", "read_state", "write_state"]);

const bytesOf = (type: MilType): number => {
  const count = elementCount(type.shape);
  return Number.isNaN(count) ? 0 : packedByteLength(type.dtype, count);
};

const denseBytes = (type: MilType): number => {
  const count = elementCount(type.shape);
  return Number.isNaN(count) ? 0 : count * (type.dtype === "fp32" || type.dtype === "int32" ? 4 : 2);
};

function constexprFact(op: MilOperation, name: string, type: MilType): ArgumentFact {
  let bytes = 0;
  let blocks = 1;
  for (const [argument, bindings] of op.inputs)
    for (const b of bindings) {
      if (b.kind !== "value") continue;
      bytes += bytesOf(b.value.type);
      if (argument === "scale") blocks = elementCount(b.value.type.shape.slice(1));
    }
  return { name, type, constness: "constexpr", blocksPerRow: blocks, bytes, madeBy: -1, lastUse: -1 };
}

const computedFact = (name: string, type: MilType, madeBy: number): ArgumentFact => ({
  name,
  type,
  constness: "computed",
  bytes: bytesOf(type),
  madeBy,
  lastUse: -1,
});

/** 2·M·N·K for products; a few operations an element for the rest. */
function flopsOf(op: MilOperation, inputs: ReadonlyMap<string, ArgumentFact>, output: MilType | undefined): number {
  const out = output === undefined ? 0 : elementCount(output.shape) || 0;
  const last = (name: string): number => inputs.get(name)?.type.shape.at(-1) ?? 1;
  switch (op.type) {
    case "linear":
      return 2 * out * last("x");
    case "matmul": {
      const shape = inputs.get("x")?.type.shape ?? [];
      const flipped = inputs.get("transpose_x")?.constant?.data;
      const inner = flipped?.kind === "numbers" && flipped.values[0] === 1 ? shape.at(-2) : shape.at(-1);
      return 2 * out * (inner ?? 1);
    }
    case "conv":
      return 2 * out * (elementCount((inputs.get("weight")?.type.shape ?? []).slice(1)) || 1);
    case "scaled_dot_product_attention":
      return 4 * out * (inputs.get("key")?.type.shape.at(-2) ?? 1);
    case "softmax":
    case "layer_norm":
    case "gelu":
    case "silu":
      return 8 * out;
    default:
      return Math.max(out, elementCount(inputs.get("x")?.type.shape ?? []) || 0);
  }
}

export function functionFacts(f: MilFunction): FunctionFacts {
  const known = new Map<string, ArgumentFact>();
  for (const input of f.inputs) known.set(input.name, computedFact(input.name, input.type, -1));
  const ops: OpFacts[] = [];
  let weightBytes = 0;
  for (const [index, op] of f.operations.entries()) {
    const [output] = op.outputs;
    if (op.type === "const" && output !== undefined) {
      const constant = op.value;
      weightBytes += constant?.data.kind === "blob" ? denseBytes(output.type) : 0;
      known.set(output.name, {
        ...computedFact(output.name, output.type, -1),
        constness: "const",
        ...(constant === undefined ? {} : { constant }),
      });
    } else if (op.type.startsWith("constexpr_") && output !== undefined) {
      weightBytes += denseBytes(output.type);
      known.set(output.name, constexprFact(op, output.name, output.type));
    } else {
      const facts = opFacts(op, index, ops.length, known);
      for (const result of facts.results) known.set(result.name, result);
      ops.push(facts);
    }
  }
  return { function: f, ops, hasState: f.inputs.some((i) => i.type.kind === "state"), weightBytes };
}

function opFacts(op: MilOperation, index: number, position: number, known: ReadonlyMap<string, ArgumentFact>): OpFacts {
  const inputs = new Map<string, ArgumentFact>();
  const operands: ArgumentFact[] = [];
  const tensors: MilType[] = [];
  let [activation, stored, dense] = [0, 0, 0];
  for (const [argument, bindings] of op.inputs)
    for (const b of bindings) {
      const fact = b.kind === "name" ? known.get(b.name) : undefined;
      if (fact === undefined) continue;
      if (!inputs.has(argument)) inputs.set(argument, fact);
      if (fact.constness === "computed") {
        operands.push(fact);
        tensors.push(fact.type);
        fact.lastUse = position;
        activation += fact.bytes;
      } else if (fact.bytes > SMALL_BYTES) {
        stored += fact.bytes;
        dense += denseBytes(fact.type);
      }
    }
  const results = op.outputs.map((o) => computedFact(o.name, o.type, position));
  for (const result of results) {
    tensors.push(result.type);
    activation += result.bytes;
  }
  // A gather reads the rows it picks, not the table.
  if (op.type.startsWith("gather")) [stored, dense] = [Math.min(stored, activation), Math.min(dense, activation)];
  const free = FREE.has(op.type);
  return {
    index,
    op,
    type: op.type,
    inputs,
    operands,
    results,
    outputs: results.map((r) => r.type),
    tensors,
    flops: free ? 0 : flopsOf(op, inputs, results[0]?.type),
    activationBytes: activation,
    storedWeightBytes: stored,
    denseWeightBytes: dense,
    free,
  };
}

/** Contents of a small constant argument. */
export function constantNumbers(facts: OpFacts, argument: string): readonly number[] | undefined {
  const data = facts.inputs.get(argument)?.constant?.data;
  return data?.kind === "numbers" ? Array.from(data.values) : undefined;
}

export function constantText(facts: OpFacts, argument: string): string | undefined {
  const data = facts.inputs.get(argument)?.constant?.data;
  return data?.kind === "text" ? data.text : undefined;
}
