/**
 * What the rules and the cost model need to know of each operator of a function: types, constants, arithmetic, bytes.
 * Computed in one walk over the program. Operators that agree in all of this are one kind and share one set of facts: a model
 * repeats its blocks, so tens of thousands of operators are some hundred kinds. How values flow is kept in columns.
 */
import { Numbering, Sequences } from "../../../ir/numbering.ts";
import type { Steps } from "../../../ir/steps.ts";
import { each } from "../../../ir/steps.ts";
import { MIL_OPERATORS } from "../mil/operators/index.ts";
import type { ArgumentFact } from "../mil/operators/operator.ts";
import type { MilBlock, MilConstant, MilFunction, MilOperation, MilType } from "../mil/types.ts";
import { elementCount, packedByteLength, typeText } from "../mil/types.ts";

/** Facts of a kind of operators. */
export interface OpFacts {
  readonly type: string;
  /** Arguments by name; the first of several. */
  readonly inputs: ReadonlyMap<string, ArgumentFact>;
  readonly outputs: readonly MilType[];
  /** Types of computed operands and of results. */
  readonly tensors: readonly MilType[];
  /** Multiply-adds count twice. */
  readonly flops: number;
  /** Bytes of computed operands and results. */
  readonly activationBytes: number;
  /**
   * Bytes of constant operands as CPU and GPU read them: packed, but a palette is unpacked when the program is loaded. And as the
   * Neural Engine does: fp16, but a palette as it is (Apple's guide to palettisation).
   */
  readonly otherWeightBytes: number;
  readonly aneWeightBytes: number;
  /** Only relabels memory, or has no work at run time. */
  readonly free: boolean;
}

/** Computed values and function inputs, in the order in which they appear. */
export interface ValueColumns {
  readonly name: readonly string[];
  readonly bytes: Float64Array;
  /** Position of the operator that makes it, -1 for inputs; and of the last that reads it, -1 for none. */
  readonly madeBy: Int32Array;
  readonly lastUse: Int32Array;
}

export interface FunctionFacts {
  readonly function: MilFunction;
  readonly kinds: readonly OpFacts[];
  /** For each operator that runs (constants left out) its kind, and its index in the function's operations. */
  readonly kindOf: Uint32Array;
  readonly operations: Uint32Array;
  /** Computed operands of operator i: operands[operandStart[i]] … operands[operandStart[i + 1] - 1], indices of values. */
  readonly operandStart: Uint32Array;
  readonly operands: Uint32Array;
  readonly values: ValueColumns;
  readonly hasState: boolean;
  /** Size of all weights as the Neural Engine has them: fp16, or a palette. */
  readonly weightBytes: number;
}

/** Smaller constants are parameters, not data. */
const SMALL_BYTES = 128;
/** Constants up to this size are told apart by what they hold: the rules look at strides, axes, paddings. */
const PARAMETER_ELEMENTS = 32;
/** Operators between two pauses. */
const SLICE = 512;

const isFree = (type: string): boolean => type === "write_state" || MIL_OPERATORS.get(type)?.free === true;

const bytesOf = (type: MilType): number => {
  const count = elementCount(type.shape);
  return Number.isNaN(count) ? 0 : packedByteLength(type.dtype, count);
};

const denseBytes = (type: MilType): number => {
  const count = elementCount(type.shape);
  return Number.isNaN(count) ? 0 : count * (type.dtype === "fp32" || type.dtype === "int32" ? 4 : 2);
};

const aneBytes = ({ type, bytes, palette }: ArgumentFact): number => (palette === true ? bytes : denseBytes(type));

function constexprFact(op: MilOperation, type: MilType): ArgumentFact {
  let bytes = 0;
  let blocks = 1;
  for (const [argument, bindings] of op.inputs)
    for (const b of bindings) {
      if (b.kind !== "value") continue;
      bytes += bytesOf(b.value.type);
      if (argument === "scale") blocks = elementCount(b.value.type.shape.slice(1));
    }
  return {
    ...{ type, constness: "constexpr", blocksPerRow: blocks, bytes },
    ...(op.type === "constexpr_lut_to_dense" && { palette: true }),
  };
}

/** Only parameters keep their contents: of data nothing but type and size may matter. */
function constFact(type: MilType, constant: MilConstant | undefined): ArgumentFact {
  const data = constant?.data;
  const parameter = data?.kind === "text" || (data?.kind === "numbers" && data.values.length <= PARAMETER_ELEMENTS);
  return {
    type,
    constness: "const",
    bytes: bytesOf(type),
    ...(parameter && constant !== undefined ? { constant } : {}),
  };
}

/** Equal texts mean facts that are equal in all that the rules and the costs can see. */
function factText(fact: ArgumentFact): string {
  const head = `${fact.constness} ${typeText(fact.type)} ${fact.bytes} ${fact.blocksPerRow ?? ""} ${fact.palette === true ? "palette" : ""}`;
  const data = fact.constant?.data;
  if (data === undefined || data.kind === "blob") return head;
  return `${head} ${data.kind === "text" ? JSON.stringify(data.text) : Array.from(data.values).join()}`;
}

function flopsOf(type: string, inputs: ReadonlyMap<string, ArgumentFact>, output: MilType | undefined): number {
  const out = output === undefined ? 0 : elementCount(output.shape) || 0;
  const flops = MIL_OPERATORS.get(type)?.flops;
  return flops === undefined ? Math.max(out, elementCount(inputs.get("x")?.type.shape ?? []) || 0) : flops(out, inputs);
}

/** A fact and the number of its text. */
interface Numbered {
  readonly fact: ArgumentFact;
  readonly symbol: number;
}

/** An argument of an operator while the walk goes on: its fact, and the value it is (-1: a constant). */
interface Known {
  readonly of: Numbered;
  readonly value: number;
}

export interface FactsOptions {
  /** false: every operator is a kind of its own. The plan is the same (a test holds it to that). */
  readonly share?: boolean;
}

/** What the blocks of an operator do, each once. */
interface BlockWork {
  flops: number;
  activationBytes: number;
  otherWeightBytes: number;
  aneWeightBytes: number;
}
const NO_WORK: BlockWork = { flops: 0, activationBytes: 0, otherWeightBytes: 0, aneWeightBytes: 0 };

class Walk {
  readonly #blockWork = new Map<MilOperation, BlockWork>();
  readonly #known = new Map<string, Known>();
  readonly #texts = new Numbering<string>();
  readonly #sequences = new Sequences();
  /** Fact and symbol of computed values by their type, and by the type's text. */
  readonly #byType = new Map<MilType, Numbered>();
  readonly #byText = new Map<string, Numbered>();
  readonly #share: boolean;
  readonly #hasState: boolean;
  readonly kinds: OpFacts[] = [];
  readonly #kindOfState = new Map<number, number>();
  readonly kindOf: number[] = [];
  readonly operations: number[] = [];
  readonly operandStart: number[] = [0];
  readonly operands: number[] = [];
  readonly names: string[] = [];
  readonly bytes: number[] = [];
  readonly madeBy: number[] = [];
  readonly lastUse: number[] = [];
  weightBytes = 0;

  constructor(share: boolean, hasState: boolean) {
    this.#share = share;
    this.#hasState = hasState;
  }

  value(name: string, type: MilType, madeBy: number): Numbered {
    const of = this.#computed(type);
    this.#known.set(name, { of, value: this.names.length });
    this.names.push(name);
    this.bytes.push(of.fact.bytes);
    this.madeBy.push(madeBy);
    this.lastUse.push(-1);
    return of;
  }

  #computed(type: MilType): Numbered {
    const same = this.#byType.get(type);
    if (same !== undefined) return same;
    const text = typeText(type);
    const equal = this.#byText.get(text) ?? this.#fact({ type, constness: "computed", bytes: bytesOf(type) });
    this.#byText.set(text, equal);
    this.#byType.set(type, equal);
    return equal;
  }

  #fact(fact: ArgumentFact): Numbered {
    return { fact, symbol: this.#texts.of(factText(fact)) };
  }

  operation(op: MilOperation, index: number): void {
    const [output] = op.outputs;
    if (op.type === "const" && output !== undefined) {
      if (op.value?.data.kind === "blob") this.weightBytes += denseBytes(output.type);
      this.#known.set(output.name, { of: this.#fact(constFact(output.type, op.value)), value: -1 });
    } else if (op.type.startsWith("constexpr_") && output !== undefined) {
      const fact = constexprFact(op, output.type);
      this.weightBytes += aneBytes(fact);
      this.#known.set(output.name, { of: this.#fact(fact), value: -1 });
    } else this.#running(op, index);
  }

  #running(op: MilOperation, index: number): void {
    const position = this.operations.length;
    let state = this.#sequences.step(0, this.#texts.of(op.type));
    for (const [argument, bindings] of op.inputs)
      for (const b of bindings) {
        const known = b.kind === "name" ? this.#known.get(b.name) : undefined;
        if (known === undefined) continue;
        state = this.#sequences.step(state, this.#texts.of(argument));
        state = this.#sequences.step(state, known.of.symbol);
        if (known.value < 0) continue;
        this.operands.push(known.value);
        this.lastUse[known.value] = position;
      }
    if (op.blocks !== undefined) state = this.#sequences.step(state, this.#nested(op, position));
    for (const { name, type } of op.outputs)
      state = this.#sequences.step(state, this.value(name, type, position).symbol);
    this.kindOf.push(this.#kind(op, state));
    this.operations.push(index);
    this.operandStart.push(this.operands.length);
  }

  /**
   * Blocks belong to their operator: outer values they read are its operands, their work is its own, once. Gives a symbol that no
   * other operator has, because blocks are not compared.
   */
  #nested(op: MilOperation, position: number): number {
    const inside = new Walk(false, this.#hasState);
    for (const [name, known] of this.#known) inside.#known.set(name, known);
    const read = new Set<number>();
    const total = { ...NO_WORK };
    const walk = (block: MilBlock): void => {
      for (const { name, type } of block.inputs) inside.#known.set(name, { of: inside.#computed(type), value: -1 });
      for (const inner of block.operations) {
        for (const [, bindings] of inner.inputs)
          for (const b of bindings) if (b.kind === "name") read.add(this.#known.get(b.name)?.value ?? -1);
        inner.blocks?.forEach(walk);
        inside.#inner(inner, total);
      }
    };
    op.blocks?.forEach(walk);
    read.delete(-1);
    for (const value of read) {
      this.operands.push(value);
      this.lastUse[value] = position;
    }
    this.weightBytes += inside.weightBytes;
    this.#blockWork.set(op, total);
    return this.#texts.of(`blocks of operator ${position}`);
  }

  /** An operator of a block: its values are known by type, and have no columns. */
  #inner(op: MilOperation, total: BlockWork): void {
    const [output] = op.outputs;
    if (op.type === "const" || op.type.startsWith("constexpr_")) {
      if (output !== undefined) this.operation(op, -1);
      return;
    }
    const facts = this.#factsOf(op);
    total.flops += facts.flops;
    total.activationBytes += facts.activationBytes;
    total.otherWeightBytes += facts.otherWeightBytes;
    total.aneWeightBytes += facts.aneWeightBytes;
    for (const { name, type } of op.outputs) this.#known.set(name, { of: this.#computed(type), value: -1 });
  }

  #kind(op: MilOperation, state: number): number {
    const known = this.#share ? this.#kindOfState.get(state) : undefined;
    if (known !== undefined) return known;
    this.#kindOfState.set(state, this.kinds.length);
    this.kinds.push(this.#factsOf(op));
    return this.kinds.length - 1;
  }

  #factsOf(op: MilOperation): OpFacts {
    const inputs = new Map<string, ArgumentFact>();
    const tensors: MilType[] = [];
    let [activation, other, ane] = [0, 0, 0];
    for (const [argument, bindings] of op.inputs)
      for (const b of bindings) {
        const fact = b.kind === "name" ? this.#known.get(b.name)?.of.fact : undefined;
        if (fact === undefined) continue;
        if (!inputs.has(argument)) inputs.set(argument, fact);
        if (fact.constness === "computed") {
          tensors.push(fact.type);
          activation += fact.bytes;
        } else if (fact.bytes > SMALL_BYTES) {
          other += fact.palette === true ? denseBytes(fact.type) : fact.bytes;
          ane += aneBytes(fact);
        }
      }
    const outputs = op.outputs.map((output) => output.type);
    for (const type of outputs) {
      tensors.push(type);
      activation += bytesOf(type);
    }
    // A state is written in place: what moves is the update, not the cache that it goes into.
    const update = this.#hasState && op.type === "slice_update" ? inputs.get("update") : undefined;
    if (update !== undefined) activation = 2 * update.bytes;
    if (MIL_OPERATORS.get(op.type)?.picks === true)
      [other, ane] = [Math.min(other, activation), Math.min(ane, activation)];
    const free = isFree(op.type);
    const work = this.#blockWork.get(op) ?? NO_WORK;
    return {
      type: op.type,
      inputs,
      outputs,
      tensors,
      flops: (free ? 0 : flopsOf(op.type, inputs, outputs[0])) + work.flops,
      activationBytes: activation + work.activationBytes,
      otherWeightBytes: other + work.otherWeightBytes,
      aneWeightBytes: ane + work.aneWeightBytes,
      free,
    };
  }
}

export function* functionFacts(f: MilFunction, { share = true }: FactsOptions = {}): Steps<FunctionFacts> {
  const hasState = f.inputs.some((i) => i.type.kind === "state");
  const walk = new Walk(share, hasState);
  for (const input of f.inputs) walk.value(input.name, input.type, -1);
  yield* each(f.operations, SLICE, (op, index) => walk.operation(op, index));
  return {
    function: f,
    kinds: walk.kinds,
    kindOf: Uint32Array.from(walk.kindOf),
    operations: Uint32Array.from(walk.operations),
    operandStart: Uint32Array.from(walk.operandStart),
    operands: Uint32Array.from(walk.operands),
    values: {
      name: walk.names,
      bytes: Float64Array.from(walk.bytes),
      madeBy: Int32Array.from(walk.madeBy),
      lastUse: Int32Array.from(walk.lastUse),
    },
    hasState,
    weightBytes: walk.weightBytes,
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
