/**
 * A language model in a package, step by step over any package runner. Prompts go through the prefill function in buckets; the rest and
 * new tokens go through the decode function. Caches are Core ML states or, if they are functional, arrays of the host, which writes the
 * new keys into them. States that are no caches come and go as a whole, and what enters them stays: a model that has some runs no bucket
 * that its tokens do not fill.
 */
import { WorkbenchError, invariant } from "../../../diagnostics/errors.ts";
import type { FunctionBindings } from "../export.ts";
import type { FeatureBinding } from "../lowering/lower.ts";
import type { Rewind } from "../../../ir/rewind.ts";
import { leastRewind } from "../../../ir/rewind.ts";
import { elementCount, isFloat } from "../mil/types.ts";
import type { PackageRunner, PackageRunOptions, PackageState } from "./packageRunner.ts";
import type { PackageTensor } from "./packageTensor.ts";
import { allocate, packageTensor } from "./packageTensor.ts";

/** Names of a decoder graph's inputs and result. */
export interface DecoderNames {
  readonly tokens: string;
  readonly past: string;
  readonly rows: string;
  readonly logits: string;
}

export interface StepOptions {
  /** Inputs that stay the same from step to step: what an encoder has read. */
  readonly inputs?: Readonly<Record<string, ArrayBufferView>>;
  readonly signal?: AbortSignal;
  readonly onOperation?: (functionName: string, index: number, milliseconds: number) => void;
}

interface StepFunction {
  readonly name: string;
  readonly bindings: readonly FeatureBinding[];
  /** Tokens of one call. */
  readonly tokens: number;
  /** Logit rows of one call. */
  readonly rows: number;
  /** Takes any number of tokens up to that. */
  readonly flexible: boolean;
}

export class PackageDecoder {
  /** Of the runner; stands in the brackets of error messages. */
  readonly label: string;
  readonly capacity: number;
  readonly vocabulary: number;
  /** Most tokens of one call. */
  readonly chunk: number;
  /** How its states go back together. */
  readonly rewind: Rewind;
  readonly #runner: PackageRunner;
  readonly #bindings: FunctionBindings;
  readonly #names: DecoderNames;
  readonly #decode: StepFunction;
  /** The smallest first. */
  readonly #functions: readonly StepFunction[];
  #state: PackageState;
  /** Functional caches by graph name. */
  #caches = new Map<string, PackageTensor>();

  constructor(runner: PackageRunner, bindings: FunctionBindings, names: DecoderNames) {
    this.#runner = runner;
    this.label = runner.label;
    this.#state = runner.newState();
    this.#bindings = bindings;
    this.#names = names;
    // The others are an encoder's.
    const functions = Object.entries(bindings)
      .filter(([, list]) => list.some((b) => b.kind === "input" && b.name === names.past))
      .flatMap(([name, list]) => stepFunctions(name, list, names))
      .sort((a, b) => a.tokens - b.tokens);
    const [decode] = functions;
    // One that takes none would never come to an end.
    if (decode === undefined || decode.tokens < 1 || (decode.tokens !== 1 && !decode.flexible))
      throw new WorkbenchError("INPUT_ARGUMENT", `[${this.label}] the package has no function that takes one token`);
    this.#decode = decode;
    this.#functions = functions;
    this.chunk = functions.at(-1)?.tokens ?? 1;
    const states = this.#stateBindings();
    this.rewind = leastRewind(states.map(({ rewind }) => rewind ?? "positions"));
    const cache = states.find(({ rewind }) => rewind === undefined);
    this.capacity = cache?.shape[1] ?? Number.MAX_SAFE_INTEGER;
    this.vocabulary = decode.bindings.find((b) => b.kind === "output" && b.name === names.logits)?.shape.at(-1) ?? 0;
  }

  /** Runs tokens at positions `past …`; gives logits [rows, vocabulary] of the wanted ones. */
  async step(
    tokens: Int32Array,
    past: number,
    rows: readonly number[],
    options: StepOptions = {},
  ): Promise<Float32Array> {
    if (past + tokens.length > this.capacity)
      throw new WorkbenchError(
        "RUN_CONTEXT_FULL",
        `[${this.label}] ${past + tokens.length} tokens do not fit into ${this.capacity}`,
      );
    const wanted = new Set(rows);
    const made = new Map<number, ArrayLike<number>>();
    for (let at = 0; at < tokens.length;) {
      const [f, count] = this.#functionFor(
        tokens.length - at,
        past + at,
        (wide) => rows.filter((r) => r >= at && r < at + wide).length,
      );
      const row = rows.find((r) => r >= at && r < at + count) ?? at;
      const logits = await this.#call(f, tokens.subarray(at, at + count), past + at, row - at, options);
      if (wanted.has(row)) made.set(row, logits.data.subarray(0, this.vocabulary));
      at += count;
    }
    const out = new Float32Array(rows.length * this.vocabulary);
    rows.forEach((row, i) => out.set(made.get(row) ?? [], i * this.vocabulary));
    return out;
  }

  /** A decoder of its own with the same caches. */
  async fork(): Promise<PackageDecoder> {
    const copy = new PackageDecoder(this.#runner, this.#bindings, this.#names);
    copy.#state = await this.#state.copy();
    for (const [name, cache] of this.#caches) copy.#caches.set(name, { ...cache, data: cache.data.slice() });
    return copy;
  }

  /** The first `positions` of every cache, and other states whole, as bytes, four to a number, kept by the package's state or by the host. */
  async save(positions: number): Promise<Uint8Array<ArrayBuffer>> {
    const saved = new Uint8Array(this.#savedBytes(positions));
    let at = 0;
    for (const b of this.#stateBindings()) {
      const held = b.kind === "state" ? await this.#state.read(b.feature) : this.#caches.get(b.name);
      for (const [start, end] of heldRuns(b, positions)) {
        // A cache that nothing was written to is zeros, as the bytes are already.
        const rows = held?.data.subarray(start, end);
        if (rows !== undefined) saved.set(new Uint8Array(rows.buffer, rows.byteOffset, rows.byteLength), at);
        at += 4 * (end - start);
      }
    }
    return saved;
  }

  /** What `save` of as many positions gave; positions behind them are zeros, which no run looks at before it writes them. */
  restore(positions: number, saved: Uint8Array): void {
    this.#checkSize(positions, saved);
    this.reset();
    if (positions > 0) this.#write(this.#stateBindings(), positions, saved);
  }

  /** What `save` of no positions gave; caches stay as they are. */
  putBack(saved: Uint8Array): void {
    this.#checkSize(0, saved);
    const whole = this.#stateBindings().filter(({ rewind }) => rewind !== undefined);
    this.#write(whole, 0, saved);
  }

  #checkSize(positions: number, saved: Uint8Array): void {
    const expected = this.#savedBytes(positions);
    if (saved.byteLength !== expected)
      throw new WorkbenchError(
        "INPUT_ARGUMENT",
        `[${this.label}] saved state: got ${saved.byteLength} bytes, expected ${expected}`,
      );
  }

  #write(states: readonly FeatureBinding[], positions: number, saved: Uint8Array): void {
    // A copy: a view may stand anywhere, numbers only at multiples of four.
    const { buffer } = saved.slice();
    let at = 0;
    for (const b of states) {
      const data = allocate(b.dtype, elementCount(b.shape));
      for (const [start, end] of heldRuns(b, positions)) {
        data.set(
          isFloat(b.dtype) ? new Float32Array(buffer, at, end - start) : new Int32Array(buffer, at, end - start),
          start,
        );
        at += 4 * (end - start);
      }
      const cache = packageTensor(b.dtype, b.shape, data);
      if (b.kind === "state") this.#state.write(b.feature, cache);
      else this.#caches.set(b.name, cache);
    }
  }

  #stateBindings(): readonly FeatureBinding[] {
    return this.#decode.bindings.filter(({ kind }) => kind === "state" || kind === "stateIn");
  }

  #savedBytes(positions: number): number {
    if (positions > this.capacity)
      throw new WorkbenchError(
        "RUN_CONTEXT_FULL",
        `[${this.label}] ${positions} positions: the cache holds ${this.capacity}`,
      );
    const rows = this.#stateBindings().flatMap((b) => heldRuns(b, positions));
    return rows.reduce((sum, [start, end]) => sum + 4 * (end - start), 0);
  }

  reset(): void {
    this.#state.dispose();
    this.#state = this.#runner.newState();
    this.#caches = new Map();
  }

  /**
   * The smallest that takes all, or the largest there is. A bucket writes all its rows into the cache, so it must fit; it gives logits
   * of a few rows only; and what pads it must not enter a state that is no cache.
   */
  #functionFor(left: number, past: number, rowsIn: (count: number) => number): readonly [StepFunction, number] {
    const mayPad = this.rewind === "positions";
    const usable = this.#functions.filter(
      (f) =>
        (f.flexible || past + f.tokens <= this.capacity) &&
        (f.flexible || mayPad || f.tokens <= left) &&
        rowsIn(Math.min(left, f.tokens)) <= f.rows,
    );
    const f = usable.find(({ tokens }) => tokens >= left) ?? usable.at(-1);
    return f === undefined ? [this.#decode, 1] : [f, Math.min(left, f.tokens)];
  }

  async #call(
    f: StepFunction,
    tokens: Int32Array,
    past: number,
    row: number,
    options: StepOptions,
  ): Promise<PackageTensor> {
    const padded = new Int32Array(f.flexible ? tokens.length : f.tokens);
    padded.set(tokens);
    const given: Readonly<Record<string, ArrayLike<number>>> = {
      [this.#names.tokens]: padded,
      [this.#names.past]: [past],
      [this.#names.rows]: new Array<number>(f.rows).fill(row),
    };
    const inputs: Record<string, PackageTensor> = {};
    for (const b of f.bindings) {
      const shape = b.shape.map((size, d) => (b.free?.includes(d) === true ? padded.length : size));
      if (b.kind === "input")
        inputs[b.feature] = packageTensor(b.dtype, shape, given[b.name] ?? this.#numbers(b.name, options));
      else if (b.kind === "stateIn") inputs[b.feature] = this.#cache(b);
    }
    const predict: PackageRunOptions = {
      state: this.#state,
      ...(options.signal === undefined ? {} : { signal: options.signal }),
      ...(options.onOperation === undefined
        ? {}
        : { onOperation: (index, ms) => options.onOperation?.(f.name, index, ms) }),
    };
    const made = await this.#runner.function(f.name).predict(inputs, predict);
    let logits: PackageTensor | undefined;
    for (const b of f.bindings) {
      const value = made[b.feature];
      if (b.kind === "freshKeys" && value !== undefined) this.#store(b, value, past, tokens.length);
      else if (b.kind === "stateOut" && value !== undefined) this.#caches.set(b.name, value);
      else if (b.kind === "output" && b.name === this.#names.logits) logits = value;
    }
    invariant(logits, "the function gave no logits");
    return logits;
  }

  #numbers(input: string, { inputs }: StepOptions): ArrayLike<number> {
    const values = inputs?.[input];
    if (values instanceof Float32Array || values instanceof Int32Array) return values;
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[${this.label}] the model wants an input ${input} that a decoder does not have`,
    );
  }

  #cache(b: FeatureBinding): PackageTensor {
    const known = this.#caches.get(b.name);
    if (known !== undefined) return known;
    const empty: PackageTensor = { dtype: b.dtype, shape: b.shape, data: allocate(b.dtype, elementCount(b.shape)) };
    this.#caches.set(b.name, empty);
    return empty;
  }

  /** Fresh keys [heads, T, size] of the first `count` tokens into the cache [heads, capacity, size] at `past`. */
  #store(b: FeatureBinding, fresh: PackageTensor, past: number, count: number): void {
    const cache = this.#caches.get(b.name);
    invariant(cache, `no cache ${b.name}`);
    const [heads = 0, rows = 0, size = 0] = fresh.shape;
    const capacity = cache.shape[1] ?? 0;
    for (let h = 0; h < heads; h++)
      cache.data.set(fresh.data.subarray(h * rows * size, (h * rows + count) * size), (h * capacity + past) * size);
  }
}

/**
 * Where the first `positions` of a cache [heads, capacity, size] stand in it: from and to, of each head. A state that is no cache has
 * one run.
 */
function heldRuns({ shape, rewind }: FeatureBinding, positions: number): readonly (readonly [number, number])[] {
  if (rewind !== undefined) return [[0, elementCount(shape)]];
  const [heads = 0, capacity = 0, ...rest] = shape;
  const size = elementCount(rest);
  return Array.from({ length: heads }, (_, h) => [h * capacity * size, (h * capacity + positions) * size] as const);
}

/** One whose input takes some sizes is as many functions. */
function stepFunctions(
  name: string,
  bindings: readonly FeatureBinding[],
  names: DecoderNames,
): readonly StepFunction[] {
  const sizeOf = (input: string): number => bindings.find((b) => b.kind === "input" && b.name === input)?.shape[0] ?? 0;
  const leader = bindings.find((b) => b.name === names.tokens && b.free !== undefined);
  const own = { name, bindings, tokens: sizeOf(names.tokens), rows: sizeOf(names.rows), flexible: false };
  if (leader === undefined) return [own];
  return leader.sizes?.map((tokens) => ({ ...own, tokens })) ?? [{ ...own, flexible: true }];
}
