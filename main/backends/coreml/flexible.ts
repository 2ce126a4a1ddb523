/**
 * One function for any number of new tokens. The graph is lowered at three sizes: what is equal in all of them stays, a dimension
 * that differs is unknown until the model runs, and whole numbers that differ are computed from the size that came in. Two
 * sizes say how (a straight line), the third proves it. Sizes are primes, so that no other number of the model is taken for one.
 */
import { invariant, WorkbenchError } from "../../diagnostics/errors.ts";
import type { Flexibility } from "./features.ts";
import type { FeatureBinding, LoweredFunction } from "./lowering/lower.ts";
import { requireVersion } from "./mil/opTable.ts";
import type { MilOpName } from "./mil/ops.generated.ts";
import type { MilConstant, MilDim, MilFunction, MilNamed, MilOperation, MilType } from "./mil/types.ts";
import { tensorType } from "./mil/types.ts";

/**
 * How an export treats the number of new tokens. inputs: a function whose input has a range of sizes, or a list where the system
 * takes no range, or `sizes` where what a program does does not follow from the number; sizes: a function for each of some; native: a
 * range or an error.
 */
export type ShapeFlexibility = "fixed" | "inputs" | "sizes" | "native";

/** Those of a list; the largest of a call follows. */
const LISTED = [1, 2, 4, 8, 16, 32] as const;

/** Whether a program of this flexibility has an input of more than one shape, so that the system should optimise for each. */
export const takesShapes = (flexibility: ShapeFlexibility): boolean =>
  flexibility === "native" || flexibility === "inputs";

/** Of an error that says why there is no flexible function. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof WorkbenchError && error.code === "UNSUPPORTED_TARGET" && error.message.startsWith("[flexible]");

const PRIMES = [61, 59, 53, 47, 43, 41, 37, 31, 29, 23, 19, 17, 13, 11, 7, 5, 3] as const;

export const hasFlexibleSizes = (context: number): boolean => PRIMES.filter((size) => size < context).length >= 3;

/** Three sizes, the largest first: it is also what one call takes at most. */
export function flexibleSizes(context: number): readonly number[] {
  const sizes = PRIMES.filter((size) => size < context).slice(0, 3);
  if (sizes.length < 3)
    throw new WorkbenchError(
      "UNSUPPORTED_TARGET",
      `[flexible] got a context of ${context} tokens, expected at least 8`,
    );
  return sizes;
}

export interface MergeOptions {
  /** The input whose only dimension is the size. */
  readonly input: string;
  /** Of the functions, in order. */
  readonly sizes: readonly number[];
  /** What the input says of its sizes: a range without it. */
  readonly says?: Flexibility["kind"] | undefined;
  /** Bytes of a constant in the weight file, where they are known. */
  readonly stored: (offset: number) => Uint8Array | undefined;
}

export interface FlexibleFunction extends LoweredFunction {
  readonly flexible: Readonly<Record<string, Flexibility>>;
}

const differs = (what: string): never => {
  throw new WorkbenchError("UNSUPPORTED_TARGET", `[flexible] ${what} does not follow from the number of tokens`, {
    hint: "Unset RLX_COREML_NATIVE_FLEX: RLX_COREML_FLEXIBLE_INPUTS makes a function for each of several sizes.",
  });
};

export function mergeSizes(functions: readonly LoweredFunction[], options: MergeOptions): FlexibleFunction {
  return new Merge(functions, options).run();
}

class Merge {
  readonly #functions: readonly LoweredFunction[];
  readonly #options: MergeOptions;
  readonly #base: LoweredFunction;
  readonly #made: MilOperation[] = [];
  readonly #names: Set<string>;
  /** Arguments that read a value: "reshape.shape". */
  readonly #readers = new Map<string, Set<string>>();

  constructor(functions: readonly LoweredFunction[], options: MergeOptions) {
    const [base] = functions;
    invariant(base && functions.length === options.sizes.length && functions.length > 2, "three sizes or more");
    this.#functions = functions;
    this.#options = options;
    this.#base = base;
    const { mil } = base;
    this.#names = new Set([...mil.inputs, ...mil.operations.flatMap((op) => op.outputs)].map(({ name }) => name));
    for (const op of mil.operations)
      for (const [argument, bindings] of op.inputs)
        for (const binding of bindings) if (binding.kind === "name") this.#read(binding.name, `${op.type}.${argument}`);
  }

  #read(name: string, by: string): void {
    const known = this.#readers.get(name) ?? new Set<string>();
    known.add(by);
    this.#readers.set(name, known);
  }

  run(): FlexibleFunction {
    const { mil, bindings } = this.#base;
    const inputs = mil.inputs.map((input, i) => ({
      name: input.name,
      type: this.#type(
        input.name,
        this.#all((f) => f.inputs[i]?.type),
      ),
    }));
    const size = this.#sizeOf(inputs);
    mil.operations.forEach((op, i) => {
      const same = this.#all((f) => f.operations[i]);
      if (same.some((one) => one === undefined || callOf(one) !== callOf(op))) differs(`operator ${op.name}`);
      if (op.blocks !== undefined) differs(`operator ${op.name} has blocks, which`);
      if (op.type === "const") this.#constant(op, same, size);
      else this.#made.push({ ...op, outputs: this.#outputs(op, same) });
    });
    if (this.#all((f) => f.operations.length).some((count) => count !== mil.operations.length))
      differs("the number of operators");
    return {
      mil: { ...mil, inputs, operations: this.#made },
      bindings: bindings.map((binding, i) => this.#binding(binding, i)),
      flexible: Object.fromEntries(inputs.flatMap((input) => this.#range(input))),
    };
  }

  #all<T>(pick: (f: MilFunction) => T): T[] {
    return this.#functions.map(({ mil }) => pick(mil));
  }

  #type(name: string, types: readonly (MilType | undefined)[]): MilType {
    const [first] = types;
    invariant(first, `${name} has a type`);
    for (const type of types)
      if (type?.kind !== first.kind || type.dtype !== first.dtype || type.shape.length !== first.shape.length)
        return differs(`the type of ${name}`);
    if (first.kind === "state")
      return types.some((type) => type?.shape.join() !== first.shape.join()) ? differs(`the state ${name}`) : first;
    const shape = first.shape.map((dim, d): MilDim => (types.every((type) => type?.shape[d] === dim) ? dim : null));
    return tensorType(first.dtype, shape);
  }

  #outputs(op: MilOperation, same: readonly (MilOperation | undefined)[]): readonly MilNamed[] {
    return op.outputs.map((output, o) => ({
      name: output.name,
      type: this.#type(
        output.name,
        same.map((one) => one?.outputs[o]?.type),
      ),
    }));
  }

  /** An unknown dimension of an input is the number of tokens itself. */
  #range({ name, type }: MilNamed): readonly (readonly [string, Flexibility])[] {
    if (type.kind === "state" || !type.shape.includes(null)) return [];
    if (this.#options.says === "enumerated") {
      const shapes = this.#listed().map((size) => type.shape.map((dim) => dim ?? size));
      return [[name, { kind: "enumerated", shapes }]];
    }
    const sizes = type.shape.map((dim) => (dim === null ? ([1, this.#most()] as const) : ([dim, dim] as const)));
    return [[name, { kind: "range", sizes }]];
  }

  #most(): number {
    return this.#options.sizes[0] ?? 1;
  }

  #listed(): readonly number[] {
    const most = this.#most();
    return [...LISTED.filter((size) => size < most), most];
  }

  #binding(binding: FeatureBinding, i: number): FeatureBinding {
    const shapes = this.#functions.map(({ bindings }) => bindings[i]?.shape ?? []);
    const free = binding.shape.flatMap((dim, d) => (shapes.every((shape) => shape[d] === dim) ? [] : [d]));
    for (const d of free)
      if (shapes.some((shape, f) => shape[d] !== this.#options.sizes[f])) differs(`a dimension of ${binding.feature}`);
    if (free.length === 0) return binding;
    return { ...binding, free, ...(this.#options.says === "enumerated" && { sizes: this.#listed() }) };
  }

  // ------------------------------------------------------------------------ what is computed

  #name(wish: string): string {
    let name = wish;
    for (let n = 1; this.#names.has(name); n++) name = `${wish}_${n}`;
    this.#names.add(name);
    return name;
  }

  #emit(
    type: string,
    wish: string,
    inputs: Readonly<Record<string, string>>,
    output: MilType,
    name = this.#name(wish),
  ): string {
    this.#made.push({
      type,
      name,
      inputs: Object.entries(inputs).map(([argument, value]) => [argument, [{ kind: "name", name: value }]] as const),
      outputs: [{ name, type: output }],
      origins: [],
    });
    return name;
  }

  #numbers(wish: string, shape: readonly number[], values: readonly number[], name = this.#name(wish)): string {
    const type = tensorType("int32", shape);
    const value: MilConstant = { type, data: { kind: "numbers", values } };
    this.#made.push({ type: "const", name, inputs: [], outputs: [{ name, type }], value, origins: [] });
    return name;
  }

  /** The number of tokens that came in, as int32[1]. */
  #sizeOf(inputs: readonly MilNamed[]): string {
    const leader = inputs.find(({ name }) => name === this.#options.input);
    if (leader?.type.kind !== "tensor" || leader.type.shape.join() !== [null].join())
      return differs(`the input ${this.#options.input}`);
    return this.#emit("shape", "token_count", { x: leader.name }, tensorType("int32", [1]));
  }

  /** `value = slope · size + start` for every element, proven at every size. */
  #line(name: string, values: readonly (readonly number[])[]): { readonly slope: number[]; readonly start: number[] } {
    const { sizes } = this.#options;
    const [[first = [], second = []], [a = 0, b = 0]] = [values, sizes];
    const slope = first.map((value, i) => (value - (second[i] ?? NaN)) / (a - b));
    const start = first.map((value, i) => value - (slope[i] ?? NaN) * a);
    const proven = values.every((list, f) =>
      list.every((value, i) => value === (slope[i] ?? NaN) * (sizes[f] ?? NaN) + (start[i] ?? NaN)),
    );
    if (!proven || ![...slope, ...start].every(Number.isInteger)) differs(`the constant ${name}`);
    return { slope, start };
  }

  /** Whole numbers that grow with the size, under the name of the constant that they replace. */
  #computed(name: string, shape: readonly number[], values: readonly (readonly number[])[], size: string): void {
    const { slope, start } = this.#line(name, values);
    const type = tensorType("int32", [slope.length]);
    const wide = shape.length === 0 ? undefined : name;
    const scaled = this.#emit(
      "mul",
      `${name}_scaled`,
      { x: size, y: this.#numbers(`${name}_slope`, [slope.length], slope) },
      type,
    );
    const sum = this.#emit(
      "add",
      `${name}_sum`,
      { x: scaled, y: this.#numbers(`${name}_start`, [start.length], start) },
      type,
      wide,
    );
    if (wide !== undefined) return;
    const axes = this.#numbers(`${name}_axes`, [1], [0]);
    this.#emit("squeeze", name, { x: sum, axes }, tensorType("int32", []), name);
  }

  #constant(op: MilOperation, same: readonly (MilOperation | undefined)[], size: string): void {
    const constants = same.map((one) => one?.value ?? differs(`the constant ${op.name}`));
    const [first] = constants;
    const [output] = op.outputs;
    invariant(first && output, "a constant has a value and an output");
    if (constants.every((one) => one.type.dtype === first.type.dtype && sameData(one, first)))
      return void this.#made.push(op);
    this.#requireComputable(output.name);
    const shape = numbersOf(first.type.shape, output.name);
    if (constants.some((one) => one.type.shape.join() !== first.type.shape.join()))
      return this.#table(op, constants, size);
    if (first.type.dtype !== "int32" || shape.length > 1) differs(`the constant ${output.name}`);
    const values = constants.map((one) =>
      one.data.kind === "numbers" ? Array.from(one.data.values) : differs(`the constant ${output.name}`),
    );
    const varying = (values[0] ?? []).flatMap((value, i) => (values.every((list) => list[i] === value) ? [] : [i]));
    // The one size that a reshape finds out itself.
    const onlyReshapes = [...(this.#readers.get(output.name) ?? [])].every((reader) => reader === "reshape.shape");
    if (onlyReshapes && varying.length === 1)
      return void this.#numbers(
        output.name,
        shape,
        (values[0] ?? []).map((value, i) => (varying.includes(i) ? -1 : value)),
        output.name,
      );
    this.#computed(output.name, shape, values, size);
  }

  /** A table that is longer for more tokens: the longest one is cut to the size. */
  #table(op: MilOperation, constants: readonly MilConstant[], size: string): void {
    const [largest] = constants;
    invariant(largest, "there is a largest table");
    const shapes = constants.map((one) => numbersOf(one.type.shape, op.name));
    const [whole = []] = shapes;
    if (shapes.some((shape) => shape.length !== whole.length)) differs(`the table ${op.name}`);
    constants.forEach((one, f) => {
      if (!isCorner(this.#bytes(one), shapes[f] ?? [], this.#bytes(largest), whole)) differs(`the table ${op.name}`);
    });
    const name = this.#name(`${op.name}_whole`);
    this.#made.push({ ...op, name, outputs: [{ name, type: largest.type }] });
    const begin = this.#numbers(
      `${op.name}_begin`,
      [whole.length],
      whole.map(() => 0),
    );
    const sizes = this.#name(`${op.name}_size`);
    this.#computed(sizes, [whole.length], shapes, size);
    const type = this.#type(
      op.name,
      constants.map((one) => one.type),
    );
    this.#emit("slice_by_size", op.name, { x: name, begin, size: sizes }, type, op.name);
  }

  #bytes(constant: MilConstant): ArrayLike<number> {
    const { data } = constant;
    if (data.kind === "numbers") return data.values;
    return (
      (data.kind === "blob" ? this.#options.stored(data.offset) : undefined) ?? differs("a table that is a weight")
    );
  }

  /** Where Core ML wants a constant, nothing can be computed. */
  #requireComputable(name: string): void {
    for (const reader of this.#readers.get(name) ?? []) {
      const [type = "", argument = ""] = reader.split(".");
      const { args } = requireVersion(type as MilOpName, this.#base.mil.opset);
      if (args.find((one) => one.name === argument)?.constant === true) differs(`${argument} of ${type}`);
    }
  }
}

const callOf = (op: MilOperation): string =>
  JSON.stringify([op.type, op.name, op.inputs, op.outputs.map((o) => o.name)]);

const numbersOf = (shape: readonly MilDim[], name: string): readonly number[] =>
  shape.map((dim) => dim ?? differs(`the shape of ${name}`));

function sameData(a: MilConstant, b: MilConstant): boolean {
  if (a.type.shape.join() !== b.type.shape.join() || a.data.kind !== b.data.kind) return false;
  if (a.data.kind === "numbers" && b.data.kind === "numbers") {
    const [x, y] = [a.data.values, b.data.values];
    return x.length === y.length && Array.from(x).every((value, i) => Object.is(value, y[i]));
  }
  return JSON.stringify(a.data) === JSON.stringify(b.data);
}

/** Whether `part` is the corner of `whole` at its first element; elements may be several entries (bytes) long. */
function isCorner(
  part: ArrayLike<number>,
  partShape: readonly number[],
  whole: ArrayLike<number>,
  shape: readonly number[],
): boolean {
  const count = (dims: readonly number[]): number => dims.reduce((product, dim) => product * dim, 1);
  const width = whole.length / count(shape);
  if (part.length / count(partShape) !== width || partShape.some((dim, i) => dim > (shape[i] ?? 0))) return false;
  for (let i = 0; i < count(partShape); i++) {
    let [rest, at, step] = [i, 0, 1];
    for (let d = shape.length; d-- > 0;) {
      const dim = partShape[d] ?? 1;
      at += (rest % dim) * step;
      rest = Math.floor(rest / dim);
      step *= shape[d] ?? 1;
    }
    for (let w = 0; w < width; w++) if (!Object.is(part[i * width + w], whole[at * width + w])) return false;
  }
  return true;
}
