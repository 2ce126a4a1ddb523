/**
 * Writes the operators of one function: the `CoremlEmitter` that op rules receive. Knows the forms of planned weights,
 * the two forms of a cache (Core ML state; or old keys in, new keys out), and what a function needs only once. Over
 * 500 lines: one object that rules write through, whose parts share its scope of names.
 */
import { invariant } from "../../../diagnostics/errors.ts";
import type { ElementType } from "../../../ir/dtype.ts";
import { isFloat, isPacked } from "../../../ir/dtype.ts";
import type { Graph } from "../../../ir/graph.ts";
import { hashBytes } from "../../../ir/hash.ts";
import type { AttentionArgs, CoremlEmitter } from "../emitter.ts";
import { f32ToF16Array } from "../../../quant/half.ts";
import type { BuiltBlock, MilFunctionBuilder } from "../mil/builder.ts";
import { unpackValues } from "../mil/fromProto.ts";
import { requireVersion } from "../mil/opTable.ts";
import type { MilArgs, MilOpName } from "../mil/ops.generated.ts";
import type { CacheLayout, MilConstant, MilData, MilDtype, MilOpset, MilValue } from "../mil/types.ts";
import { elementCount, packedByteLength, tensorType } from "../mil/types.ts";
import type { WeightPart } from "../weights/forms.ts";
import type { PlannedPart, PlannedWeight, SmallParts, WeightPlan, WeightTensor } from "../weights/plan.ts";
import { BLOB_ELEMENTS, partKey } from "../weights/plan.ts";
import { whyNotElement } from "../rules.ts";
import { attend } from "./attention.ts";
import { pickByProduct, rowPartsOf, rowsOfParts } from "./rowParts.ts";

/** A planned weight as values of this function. */
interface WeightValues {
  readonly planned: PlannedWeight;
  /** Dense when plain, the decompressed codes otherwise. */
  readonly main: MilValue;
  /** Per-block addend of a split form. */
  readonly rest: MilValue | undefined;
  readonly fold: number;
}

/** A value read from a state, whose last dimension may be padded there. */
interface StateRead {
  readonly state: MilValue;
  /** As read, with the padding. */
  readonly whole: MilValue;
  /** Size of the last dimension without it. */
  readonly size: number;
}

/** The last dimension of a state is a multiple of this: others were reported to fail on the Neural Engine. */
const STATE_ALIGNMENT = 32;

/** Shape of the state that holds a value. */
export const stateShape = (shape: readonly number[]): readonly number[] =>
  shape.map((d, i) => (i === shape.length - 1 ? Math.ceil(d / STATE_ALIGNMENT) * STATE_ALIGNMENT : d));

/** How caches are held: `state` = Core ML state; `functional` = the function returns what is new. */
export type CacheMode = "state" | "functional";

/** Lowers the nodes of a sub-graph over these values; gives its results. */
export type LowerRegion = (region: Graph, values: readonly MilValue[]) => readonly MilValue[];

export interface EmitterOptions {
  readonly float: "fp16" | "fp32";
  readonly caches: CacheMode;
  /** Powers of two folded out of weights (`weights/write.ts` finds them). */
  readonly folds: ReadonlyMap<string, number>;
  /** Data of weights too small for the weight file (`readSmallParts`); zeros stand in until it is known. */
  readonly small: SmallParts;
  /** Whether rows of computed tensors are picked by a product. */
  readonly picksByProduct: boolean;
  /** Rows of a part, by the tensors that are stored in parts. */
  readonly splitRows: ReadonlyMap<string, number>;
}

/** From this size on integers go to the weight file; floats do from BLOB_ELEMENTS on. */
const BLOB_INTEGERS = 1024;

export class FunctionEmitter implements CoremlEmitter {
  readonly float: "fp16" | "fp32";
  readonly caches: CacheMode;
  readonly builder: MilFunctionBuilder;
  readonly #plan: WeightPlan;
  readonly #folds: ReadonlyMap<string, number>;
  readonly #small: SmallParts;
  readonly #picksByProduct: boolean;
  readonly #splitRows: ReadonlyMap<string, number>;
  /** The parts of a weight by its name. */
  readonly #rowParts = new Map<string, readonly WeightTensor[]>();
  #weights = new Map<string, WeightValues>();
  #once = new Map<string, MilValue>();
  readonly #lowerRegion: LowerRegion;
  /** Old keys that the host passes in, by the value's name. */
  #passedCaches = new Set<string>();
  /** Numbers of constants of the weight file, by the constant's name. */
  readonly #numbers = new Map<string, ArrayLike<number>>();
  /** The codes that became int32, by the name of what they became. */
  readonly #narrow = new Map<string, MilValue>();
  /** Where a value was read from, by the value's name. */
  #states = new Map<string, StateRead>();

  constructor(builder: MilFunctionBuilder, plan: WeightPlan, options: EmitterOptions, lowerRegion: LowerRegion) {
    this.#lowerRegion = lowerRegion;
    this.builder = builder;
    this.#plan = plan;
    this.float = options.float;
    this.caches = options.caches;
    this.#folds = options.folds;
    this.#small = options.small;
    this.#picksByProduct = options.picksByProduct;
    this.#splitRows = options.splitRows;
  }

  /** The opset that op rules write for. */
  get #newest(): boolean {
    return this.opset === "CoreML8" || this.opset === "CoreML9";
  }

  get opset(): MilOpset {
    return this.builder.opset;
  }

  /** Arguments with "absent" values and arguments this opset does not have yet are dropped before the builder sees them. */
  op<N extends MilOpName>(type: N, args: MilArgs[N]): MilValue {
    const [only] = this.ops(type, args);
    invariant(only, `${type} has no output`);
    return only;
  }

  ops<N extends MilOpName>(type: N, args: MilArgs[N]): readonly MilValue[] {
    invariant(!type.startsWith("constexpr_") && type !== "const", `${type} is not for rules`);
    const whole = this.#withoutPieces(args);
    return this.builder.ops(
      type as Parameters<MilFunctionBuilder["ops"]>[0],
      this.#newest ? (whole as never) : (this.#withoutNewer(type, whole) as never),
    );
  }

  /** Arguments with caches in one piece; nearly always they are. */
  #withoutPieces<N extends MilOpName>(args: MilArgs[N]): MilArgs[N] {
    const given: readonly unknown[] = Object.values(args);
    if (!given.some((value) => (Array.isArray(value) ? value.some(isCacheInPieces) : isCacheInPieces(value))))
      return args;
    const whole = (value: unknown): unknown => (isCacheInPieces(value) ? this.#joined(value, value.cache) : value);
    return Object.fromEntries(
      Object.entries<unknown>(args).map(([name, value]) => [
        name,
        Array.isArray(value) ? value.map(whole) : whole(value),
      ]),
    ) as MilArgs[N];
  }

  /** The cache with its new keys in their places, for operators that are not attention. */
  #joined(value: MilValue, { stored, fresh, past }: CacheLayout): MilValue {
    const count = this.sizes(fresh, "cache")[1] ?? 0;
    return this.once(`joined ${value.name} ${fresh.name}`, () => {
      const steps = this.constant(
        "int32",
        [count],
        Int32Array.from({ length: count }, (_, i) => i),
      );
      const indices = this.op("add", { x: steps, y: past });
      const updates = this.cast(fresh, stored.type.dtype);
      return this.op("scatter", { data: stored, indices, updates, axis: 1, mode: "update", validate_indices: false });
    });
  }

  /** Without the arguments that this opset does not have yet. */
  #withoutNewer<N extends MilOpName>(type: N, args: MilArgs[N]): Readonly<Record<string, unknown>> {
    const known = new Set(requireVersion(type, this.opset).args.map((a) => a.name));
    return Object.fromEntries(
      Object.entries(args).filter(([name]) => known.has(name) || !NEWER.has(`${type}.${name}`)),
    );
  }

  constant(dtype: MilDtype, shape: readonly number[], values: ArrayLike<number>): MilValue {
    const count = elementCount(shape);
    const inFile =
      dtype === "fp16" || dtype === "fp32"
        ? count >= BLOB_ELEMENTS
        : dtype === "int32" && count >= BLOB_INTEGERS && this.#newest;
    if (!inFile) return this.builder.constant(dtype, shape, values);
    const held = this.#inFile(dtype, shape, values, count);
    this.#numbers.set(held.name, values);
    return held;
  }

  #inFile(dtype: MilDtype, shape: readonly number[], values: ArrayLike<number>, count: number): MilValue {
    const bytes = bytesOf(dtype, values);
    const record = this.#plan.inline(`${dtype}:${hashBytes(bytes)}:${count}`, dtype, count, () => bytes);
    return this.builder.data({ type: tensorType(dtype, shape), data: { kind: "blob", offset: record.offset } }, "c");
  }

  numbers({ name, constant }: MilValue): ArrayLike<number> | undefined {
    return constant?.data.kind === "numbers" ? constant.data.values : this.#numbers.get(name);
  }

  dtypeOf(type: ElementType): MilDtype {
    const reason = whyNotElement(type);
    invariant(reason === undefined, `a value of ${type} would be narrowed: ${reason ?? ""}`);
    if (type === "bool") return "bool";
    return isFloat(type) || isPacked(type) ? this.float : "int32";
  }

  cast(x: MilValue, dtype: MilDtype): MilValue {
    if (x.type.dtype === dtype) return x;
    const before = this.#narrow.get(x.name);
    if (before?.type.dtype === dtype) return before;
    const made = this.op("cast", { x, dtype });
    if (x.type.dtype === "int8" && dtype === "int32") this.#narrow.set(made.name, x);
    return made;
  }

  once(key: string, make: () => MilValue): MilValue {
    const known = this.#once.get(key);
    if (known !== undefined) return known;
    const made = make();
    this.#once.set(key, made);
    return made;
  }

  branch(inputs: readonly MilValue[], regions: readonly Graph[]): readonly MilValue[] {
    const [pred, ...captures] = inputs;
    invariant(pred, "[if] the predicate is missing");
    const blocks = regions.map((region) => this.#block([], () => this.#lowerRegion(region, captures)));
    return this.builder.nested("cond", [["pred", [pred]]], blocks, blocks[0]?.types ?? []);
  }

  /** The limit is one more carried value, which counts the turns. */
  loop(
    inputs: readonly MilValue[],
    regions: readonly Graph[],
    { carried, maxIterations: most }: Parameters<CoremlEmitter["loop"]>[2],
  ): readonly MilValue[] {
    const [condition, body] = regions;
    invariant(condition && body, "[while] a sub-graph is missing");
    invariant(typeof most !== "string", "[while] the limit holds a symbol");
    const rest = inputs.slice(carried);
    const start = inputs.slice(0, carried).map((x) => this.dense(x));
    const counted = most === undefined ? start : [...start, this.constant("int32", [], [0])];
    const variables = counted.map(({ type }, i) => ({
      wish: i < carried ? "carried" : "turn",
      type: tensorType(type.dtype, type.shape),
    }));
    const test = this.#block(variables, (values) => {
      const [goes] = this.#lowerRegion(condition, [...values.slice(0, carried), ...rest]);
      const turn = values[carried];
      invariant(goes, "[while] the condition has no result");
      if (most === undefined || turn === undefined) return [goes];
      const left = this.op("less", { x: turn, y: this.constant("int32", [], [most]) });
      return [this.op("logical_and", { x: left, y: goes })];
    });
    const turns = this.#block(variables, (values) => {
      const next = this.#lowerRegion(body, [...values.slice(0, carried), ...rest]);
      const turn = values[carried];
      return turn === undefined ? next : [...next, this.op("add", { x: turn, y: this.constant("int32", [], [1]) })];
    });
    const types = variables.map(({ type }) => type);
    const made = this.builder.nested("while_loop", [["loop_vars", counted]], [test, turns], types);
    return made.slice(0, carried);
  }

  /** Inside a block nothing is remembered for outside, and a cache is a value like any other. */
  #block(
    inputs: Parameters<MilFunctionBuilder["block"]>[0],
    build: (values: readonly MilValue[]) => readonly MilValue[],
  ): BuiltBlock {
    const outer = [this.#weights, this.#once, this.#passedCaches, this.#states] as const;
    const made = this.builder.block(inputs, (values) => {
      this.#weights = new Map(outer[0]);
      this.#once = new Map(outer[1]);
      this.#passedCaches = new Set();
      this.#states = new Map();
      return build(values).map((value) => this.dense(value));
    });
    [this.#weights, this.#once, this.#passedCaches, this.#states] = outer;
    return made;
  }

  sizes(x: MilValue, source: string): readonly number[] {
    return x.type.shape.map((d) => {
      invariant(d !== null, `[${source}] a dimension of ${x.name} is only known at run time`);
      return d;
    });
  }

  // Weights.

  /** The value that stands for a model weight until a rule uses it. */
  weight(tensor: WeightTensor): MilValue {
    const size = this.#splitRows.get(tensor.name);
    if (size !== undefined) return this.#splitWeight(tensor, size);
    const { planned, main, rest, fold } = this.#weightValues(tensor);
    if (rest === undefined && fold === 0) return { ...main, weight: { name: tensor.name, shape: tensor.shape } };
    return this.#standIn(planned.name, tensor);
  }

  /** For a weight that is no single value of the function, and so no operand either. */
  #standIn(name: string, tensor: WeightTensor): MilValue {
    return {
      number: -1,
      name,
      type: tensorType(this.float, tensor.shape),
      constness: "no",
      bindings: [],
      weight: { name: tensor.name, shape: tensor.shape },
    };
  }

  #splitWeight(tensor: WeightTensor, size: number): MilValue {
    const parts = rowPartsOf(tensor, size);
    this.#rowParts.set(tensor.name, parts);
    for (const part of parts) this.#weightValues(part);
    return this.#standIn(tensor.name, tensor);
  }

  /** The parts of a weight that is stored so. */
  #partsIn(value: MilValue): readonly MilValue[] | undefined {
    const parts = value.weight && this.#rowParts.get(value.weight.name);
    return parts?.map((part) => this.weight(part));
  }

  #weightValues(tensor: WeightTensor): WeightValues {
    const known = this.#weights.get(tensor.name);
    if (known !== undefined) return known;
    const planned = this.#plan.weight(tensor);
    const made: WeightValues = {
      planned,
      main: this.#decompressed(planned),
      rest: planned.form.kind === "split" ? this.#blobPart(planned, "rest") : undefined,
      fold: this.#folds.get(tensor.name) ?? 0,
    };
    this.#weights.set(tensor.name, made);
    return made;
  }

  #decompressed(planned: PlannedWeight): MilValue {
    const { form } = planned;
    if (form.kind === "plain") return this.#blobPart(planned, "data");
    const literal = (part: WeightPart, argument: string = part): (readonly [string, MilConstant])[] =>
      planned.parts
        .filter((p) => p.part === part)
        .map((p) => [argument, { type: tensorType(p.dtype, p.shape), data: this.#partData(planned, p) }]);
    if (form.kind === "palette") {
      const places = [...literal("data", "indices"), ...literal("table", "lut")];
      const shape: MilConstant = {
        type: tensorType("uint32", [planned.shape.length]),
        data: { kind: "numbers", values: planned.shape },
      };
      const operands = form.inBytes ? [...places, ["shape", shape] as const] : places;
      return this.builder.constexpr("constexpr_lut_to_dense", operands, planned.name);
    }
    return this.builder.constexpr(
      "constexpr_blockwise_shift_scale",
      [...literal("data"), ...literal("scale"), ...literal("offset")],
      planned.name,
    );
  }

  #partData(planned: PlannedWeight, part: PlannedPart): MilData {
    if (part.record !== undefined) return { kind: "blob", offset: part.record.offset };
    const count = elementCount(part.shape);
    const bytes =
      this.#small.get(partKey(planned.name, part.part)) ?? new Uint8Array(packedByteLength(part.dtype, count));
    return { kind: "numbers", values: unpackValues(part.dtype, count, bytes) };
  }

  #blobPart(planned: PlannedWeight, part: WeightPart): MilValue {
    const found = planned.parts.find((p) => p.part === part);
    invariant(found, `${planned.name} has no ${part}`);
    const wish = part === "data" ? planned.name : `${planned.name}_${part}`;
    return this.builder.data(
      { type: tensorType(found.dtype, found.shape), data: this.#partData(planned, found) },
      wish,
    );
  }

  #known(value: MilValue): WeightValues | undefined {
    return value.weight === undefined ? undefined : this.#weights.get(value.weight.name);
  }

  /** y · 2^-fold. */
  #unfold(y: MilValue, fold: number): MilValue {
    return fold === 0 ? y : this.op("mul", { x: y, y: 2 ** -fold });
  }

  linear(x: MilValue, weight: MilValue, bias?: MilValue): MilValue {
    const parts = this.#partsIn(weight);
    if (parts !== undefined) return this.#linearInParts(x, parts, bias);
    const known = this.#known(weight);
    const shape = this.sizes(x, "linear");
    const rows = shape.slice(0, -1);
    const [out = 0, inner = 0] = this.sizes(weight, "linear");
    // `linear` takes up to three dimensions, products at least two.
    const flat =
      shape.length > 3 || shape.length < 2 ? this.op("reshape", { x, shape: [elementCount(rows), inner] }) : x;
    if (known === undefined) return this.#shaped(this.#plainLinear(flat, weight, bias), [...rows, out]);
    // Only a constant bias can be inside, and only where nothing is added or scaled afterwards.
    const inside = bias !== undefined && bias.constness !== "no" && known.rest === undefined && known.fold === 0;
    let y = this.op("linear", { x: flat, weight: known.main, bias: inside ? bias : this.#zeros(out) });
    if (known.rest !== undefined) y = this.op("add", { x: y, y: this.#restTerm(flat, known, known.rest) });
    y = this.#unfold(y, known.fold);
    if (!inside && bias !== undefined) y = this.op("add", { x: y, y: bias });
    return this.#shaped(y, [...rows, out]);
  }

  #linearInParts(x: MilValue, parts: readonly MilValue[], bias: MilValue | undefined): MilValue {
    const values = parts.map((part) => this.linear(x, part));
    const y = this.op("concat", { values, axis: -1, interleave: false });
    return bias === undefined ? y : this.op("add", { x: y, y: bias });
  }

  /** A weight that was computed cannot be the operand of `linear`. */
  #plainLinear(x: MilValue, weight: MilValue, bias: MilValue | undefined): MilValue {
    const fixed = weight.constness !== "no";
    const inside = fixed && bias !== undefined && bias.constness !== "no";
    const y = fixed
      ? this.op("linear", { x, weight, bias: inside ? bias : this.#zeros(this.sizes(weight, "linear")[0] ?? 0) })
      : this.op("matmul", { x, y: weight, transpose_x: false, transpose_y: true });
    return inside || bias === undefined ? y : this.op("add", { x: y, y: bias });
  }

  /** blocksum(x) · restᵀ: the part of x·Wᵀ that the codes do not carry. */
  #restTerm(x: MilValue, known: WeightValues, rest: MilValue): MilValue {
    const shape = this.sizes(x, "linear");
    const block = known.planned.form.kind === "split" ? known.planned.form.block : 1;
    const blocks = (shape.at(-1) ?? 0) / block;
    const split = this.op("reshape", { x, shape: [...shape.slice(0, -1), blocks, block] });
    const sums = this.op("reduce_sum", { x: split, axes: [shape.length], keep_dims: false });
    return this.op("linear", { x: sums, weight: rest, bias: this.#zeros(known.planned.shape[0] ?? 0) });
  }

  #zeros(count: number): MilValue {
    return this.once(`zeros ${count}`, () => this.constant(this.float, [count], new Float32Array(count)));
  }

  #shaped(x: MilValue, shape: readonly number[]): MilValue {
    return x.type.shape.join() === shape.join() ? x : this.op("reshape", { x, shape });
  }

  rows(table: MilValue, ids: MilValue): MilValue {
    const tensors = table.weight && this.#rowParts.get(table.weight.name);
    if (tensors !== undefined)
      return rowsOfParts(
        this,
        ids,
        tensors.map((tensor) => ({ tensor, rows: (own) => this.rows(this.weight(tensor), own) })),
      );
    const known = this.#known(table);
    if (known === undefined && this.#picksByProduct && isPickable(table)) return pickByProduct(this, table, ids);
    const gather = (x: MilValue): MilValue =>
      this.op("gather", { x, indices: ids, axis: 0, batch_dims: 0, validate_indices: false });
    if (known === undefined) return gather(table);
    const codes = gather(known.main);
    const dense = known.rest === undefined ? codes : this.#addRest(codes, gather(known.rest), known);
    return this.#unfold(dense, known.fold);
  }

  /** codes [.., K] + rest [.., K / block], each rest over its block. */
  #addRest(codes: MilValue, rest: MilValue, known: WeightValues): MilValue {
    const shape = this.sizes(codes, "rows");
    const block = known.planned.form.kind === "split" ? known.planned.form.block : 1;
    const blocks = (shape.at(-1) ?? 0) / block;
    const split = this.op("reshape", { x: codes, shape: [...shape.slice(0, -1), blocks, block] });
    const spread = this.op("reshape", { x: rest, shape: [...shape.slice(0, -1), blocks, 1] });
    return this.op("reshape", { x: this.op("add", { x: split, y: spread }), shape });
  }

  dense(weight: MilValue): MilValue {
    const parts = this.#partsIn(weight);
    if (parts !== undefined)
      return this.op("concat", { values: parts.map((part) => this.dense(part)), axis: 0, interleave: false });
    const known = this.#known(weight);
    if (known === undefined) return weight;
    const whole = known.rest === undefined ? known.main : this.#addRest(known.main, known.rest, known);
    return this.#unfold(whole, known.fold);
  }

  // Caches.

  /** Reads a Core ML state as a value whose last dimension is `size`; later appends to the value write it back. */
  readState(state: MilValue, size: number): MilValue {
    const whole = this.op("read_state", { input: state });
    const shape = this.sizes(whole, "state");
    const value =
      size === shape.at(-1)
        ? whole
        : this.op("slice_by_size", { x: whole, begin: shape.map(() => 0), size: [...shape.slice(0, -1), size] });
    this.#states.set(value.name, { state, whole, size });
    return value;
  }

  /** Marks a function input as old keys: an append gives back the new ones only, and the host writes them. */
  passedCache(value: MilValue): MilValue {
    this.#passedCaches.add(value.name);
    return value;
  }

  stateOf(value: MilValue): MilValue | undefined {
    return this.#states.get(value.name)?.state;
  }

  /** Puts a whole new value into the state that `before` was read from. */
  replaceState(before: MilValue, value: MilValue): void {
    const read = this.#states.get(before.name);
    invariant(read, `${before.name} was not read from a state`);
    const missing = (this.sizes(read.whole, "state").at(-1) ?? 0) - read.size;
    const padded =
      missing === 0 ? value : this.op("pad", { x: value, pad: [0, missing], mode: "constant", constant_val: 0 });
    this.builder.writeState(read.state, padded);
  }

  appendToCache(cache: MilValue, values: MilValue, past: MilValue): MilValue {
    if (this.#passedCaches.has(cache.name)) return { ...cache, cache: { stored: cache, fresh: values, past } };
    const [heads = 0, , size = 0] = this.sizes(cache, "kv_append");
    const count = this.sizes(values, "kv_append")[1] ?? 0;
    const read = this.#states.get(cache.name);
    const at = this.op("reshape", { x: past, shape: [1] });
    const zero = this.constant("int32", [1], [0]);
    const begin = this.op("concat", { values: [zero, at, zero], axis: 0, interleave: false });
    const after = this.op("add", { x: at, y: this.constant("int32", [1], [count]) });
    const end = this.op("concat", {
      values: [this.constant("int32", [1], [heads]), after, this.constant("int32", [1], [size])],
      axis: 0,
      interleave: false,
    });
    const written = this.op("slice_update", { x: read?.whole ?? cache, update: values, begin, end, ...PLAIN_SLICE });
    if (read === undefined) return written;
    this.builder.writeState(read.state, written);
    return this.readState(read.state, read.size);
  }

  attention(args: AttentionArgs): MilValue {
    return attend(this, args);
  }
}

const isCacheInPieces = (given: unknown): given is MilValue & { readonly cache: CacheLayout } =>
  typeof given === "object" && given !== null && "cache" in given && given.cache !== undefined;

/** More rows than a step has tokens are no step's: a product over them would cost more than the way to the CPU. */
const MOST_PICKED = 1024;

const isPickable = ({ constness, type }: MilValue): boolean =>
  constness === "no" && (type.dtype === "fp16" || type.dtype === "fp32") && (type.shape[0] ?? Infinity) <= MOST_PICKED;

/** Slice arguments without strides and masks, written out as the framework wants them. */
const PLAIN_SLICE = {
  stride: [1, 1, 1],
  begin_mask: [false, false, false],
  end_mask: [false, false, false],
  squeeze_mask: [false, false, false],
} as const;

/** Arguments that rules always give and older opsets do not have. */
const NEWER = new Set([
  "gather.batch_dims",
  "gather.validate_indices",
  "gather_along_axis.validate_indices",
  "gather_nd.batch_dims",
  "gather_nd.validate_indices",
  "topk.sort",
  "topk.return_indices",
  "topk.output_indices_dtype",
  "reduce_argmax.output_dtype",
  "reduce_argmin.output_dtype",
  "scatter.validate_indices",
  "scatter_nd.validate_indices",
  "scatter_along_axis.validate_indices",
]);

function bytesOf(dtype: MilDtype, values: ArrayLike<number>): Uint8Array {
  const array =
    dtype === "fp16" ? f32ToF16Array(values) : dtype === "fp32" ? Float32Array.from(values) : Int32Array.from(values);
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}
