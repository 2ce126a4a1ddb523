/** A decoder while it is built: what a step adds to a model's graph, which is its caches and its logits. */
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { Dim } from "../ir/dim.ts";
import type { Value, WeightSource } from "../ir/graph.ts";
import type { HostTensor } from "../ir/hostTensor.ts";
import { hostScalar, hostTensor } from "../ir/hostTensor.ts";
import type { Rewind, Ring } from "../ir/rewind.ts";
import type { TensorType } from "../ir/type.ts";
import { scalar, tensor } from "../ir/type.ts";
import type { CachePacking } from "../ops/families/packedRows.ts";
import { packedRowBytes } from "../ops/families/packedRows.ts";
import type { AttentionRules, GraphSizes, Heads, ModelOptions, Scales, SharedHeads } from "./blocks.ts";
import { CAPACITY, EMBEDDING, INPUTS, LOGITS, ModelGraph, RING, ROWS, TOKENS } from "./blocks.ts";
import { ringFor } from "./rings.ts";

export interface DecoderSizes extends GraphSizes {
  readonly tiedEmbedding: boolean;
}

export interface DecoderState {
  readonly label: string;
  readonly rewind: Rewind;
  /** Of a ring. */
  readonly spare?: number;
}

/** Keys and values of one layer, those of this step among them. */
export interface Caches {
  readonly k: Value;
  readonly v: Value;
  /** Rows are packed so. */
  readonly packing?: CachePacking;
  /** They are rings. */
  readonly isRing?: boolean;
}

/** Sylvester's matrix of a power of two, divided by its root: element (i, j) is -1 where i and j share an odd number of bits. */
function hadamard(order: number): HostTensor {
  const parity = (bits: number): number => (bits === 0 ? 0 : (bits & 1) ^ parity(bits >> 1));
  const cell = (i: number): number => (parity(Math.floor(i / order) & (i % order)) === 1 ? -1 : 1) / Math.sqrt(order);
  return hostTensor(
    "f32",
    [order, order],
    Float64Array.from({ length: order * order }, (_, i) => Math.fround(cell(i))),
  );
}

/** How sessions take a cache back: one of all positions, or a ring. */
const rewound = (ring: Ring | undefined): Pick<DecoderState, "rewind" | "spare"> =>
  ring === undefined ? { rewind: "positions" } : { rewind: "ring", spare: ring.spare };

/** A decoder while it is built: tokens of one step, caches of those before it, and logits. */
export class Decoder extends ModelGraph {
  /** Element type and positions of the caches, as they were asked for. */
  readonly cache: ModelOptions;
  /** Tokens that were read before this step. */
  readonly past: Value;
  readonly #tiedEmbedding: boolean;
  readonly #rows: Value;
  readonly #caches = new Map<number, Caches>();
  #hasPacked = false;

  constructor(sizes: DecoderSizes, weights: WeightSource, options: ModelOptions) {
    super(sizes, weights, options.largestStep, options.countsExperts);
    const { builder } = this;
    this.cache = options;
    this.#tiedEmbedding = sizes.tiedEmbedding;
    builder.limitSymbol(ROWS, options.largestRows);
    if (options.capacity === CAPACITY) builder.limitSymbol(CAPACITY, options.largestCapacity ?? sizes.context);
    this.past = builder.input(INPUTS.past, scalar("i32"), { label: INPUTS.past });
    this.#rows = builder.input(INPUTS.rows, tensor("i32", [ROWS]), { label: INPUTS.rows });
  }

  positions(): Value {
    return this.g.add([this.g.iota([], { shape: [TOKENS], axis: 0 }, "steps"), this.past], {}, "positions");
  }

  /** The wanted rows, normed, against the output matrix: the graph's result. */
  head(x: Value, scales: Scales = {}, norm: string | false = "output_norm"): void {
    const { vocabulary, width } = this.sizes;
    const rows = this.scoped("final_norm", () => {
      const wanted = this.g.gather([x, this.#rows], { axis: 0 }, "rows");
      return norm === false ? wanted : this.norm(wanted, norm, width, "norm");
    });
    this.scoped("head", () => {
      const name = this.#tiedEmbedding ? EMBEDDING : "output.weight";
      const bias = this.has("output.bias") ? [this.vector("output.bias", vocabulary)] : [];
      const matrix = this.weight(name, [vocabulary, width]);
      const plain = this.g.linear(bias[0] === undefined ? [rows, matrix] : [rows, matrix, bias[0]], {}, LOGITS);
      // The parts of an embedding's adapter are those of its rows: they say nothing of the matrix as an output.
      const logits = this.#tiedEmbedding ? plain : this.withLowRank(plain, rows, name, [vocabulary, width]);
      this.builder.output(LOGITS, this.#finished(logits, scales));
    });
  }

  /** A value that stays from step to step: how sessions can take it back, and what it becomes after this one. */
  state(name: string, type: TensorType, options: DecoderState, next: (before: Value) => Value): Value {
    const before = this.builder.state(name, type, options);
    const after = next(before);
    this.builder.setState(name, after);
    return after;
  }

  /** Appends k and v to the layer's caches `k.<i>` and `v.<i>`, and attends over them. */
  attend(layer: number, { q, ...kept }: Heads | SharedHeads, rules: AttentionRules): Value {
    const ring = ringFor(rules, this.cache, this.sizes.context);
    return this.attendOver(q, this.#appendPlain(layer, kept, ring), rules, layer);
  }

  /** The same where `bias` [T, capacity], which is added to the scores, says what is seen: [T, heads, size]. */
  attendBiased(layer: number, { q, ...kept }: Heads | SharedHeads, bias: Value, scale: number): Value {
    const { g } = this;
    const { k, v } = this.#append(layer, kept);
    const batch = (x: Value): Value => {
      const { dtype, shape } = g.typeOf(x);
      return g.reshape([dtype === "f32" ? x : g.cast([x], { to: "f32" })], { shape: [1, ...shape] });
    };
    const [keys, queries] = [batch(k), batch(g.transpose([q], { perm: [1, 0, 2] }))];
    const mask = g.reshape([bias], { shape: [1, 1, ...g.typeOf(bias).shape] });
    const mixed = g.attention([queries, keys, k === v ? keys : batch(v), mask], { scale, mask: "bias" }, "attention");
    const [, heads = 0, , size = 0] = g.typeOf(mixed).shape;
    return g.transpose([g.reshape([mixed], { shape: [heads, TOKENS, size] })], { perm: [1, 0, 2] });
  }

  /** Rows of a layer's caches: those of a ring are fewer where the capacity is. */
  #rowsOf(ring: Ring | undefined): Dim {
    const { capacity } = this.cache;
    if (ring === undefined) return capacity;
    if (capacity !== CAPACITY) return ring.rows;
    this.builder.limitSymbol(RING, ring.rows);
    return RING;
  }

  /** Appends rows [T, heads, size] to the cache `<name>.<layer>`; gives it with them: [heads, capacity or the ring's rows, size]. */
  cached(name: string, layer: number, fresh: Value, ring?: Ring): Value {
    const [, heads = 0, size = 0] = this.g.typeOf(fresh).shape;
    const type = tensor(this.#plainType, [heads, this.#rowsOf(ring), size]);
    const label = `${name}_cache`;
    return this.state(`${name}.${layer}`, type, { label, ...rewound(ring) }, (cache) =>
      this.g.kv_append([cache, fresh, this.past], ring && { ring: true }, label),
    );
  }

  /** Whether the caches that `attendOver` is given can be packed. */
  protected get packs(): boolean {
    return true;
  }

  /** Of what is not packed: q8_0 and q4_0 stand for the keys and values of plain attention. */
  get #plainType(): "f16" | "f32" {
    return this.cache.cacheType === "f32" ? "f32" : "f16";
  }

  /** The caches of the layer with the step's rows, packed where that was asked for. */
  #appendPlain(layer: number, kept: Omit<Heads, "q"> | Omit<SharedHeads, "q">, ring: Ring | undefined): Caches {
    const { cacheType: packing } = this.cache;
    if (!this.packs || packing === "f16" || packing === "f32") return this.#append(layer, kept, ring);
    const k = this.#packed("k", layer, kept.k, packing, ring);
    const v = "v" in kept ? this.#packed("v", layer, kept.v, packing, ring) : k;
    const caches = { k, v, packing, isRing: ring !== undefined };
    this.#caches.set(layer, caches);
    return caches;
  }

  /** As `cached`, in blocks: u8[heads, capacity or the ring's rows, bytes]. */
  #packed(name: string, layer: number, fresh: Value, packing: CachePacking, ring: Ring | undefined): Value {
    const [, heads = 0, size = 0] = this.g.typeOf(fresh).shape;
    if (typeof size !== "number" || size % 32 !== 0)
      throw new WorkbenchError(
        "UNSUPPORTED_ARCHITECTURE",
        `[${this.sizes.name}] a ${packing} cache: got heads of ${size} numbers, expected a multiple of 32`,
        { hint: "Keep keys and values in f16." },
      );
    const type = tensor("u8", [heads, this.#rowsOf(ring), packedRowBytes("cache", size, packing)]);
    const label = `${name}_cache`;
    this.#hasPacked = true;
    const rows = packing === "q4_0" ? this.#spread(fresh) : fresh;
    return this.state(`${name}.${layer}`, type, { label, ...rewound(ring) }, (cache) =>
      this.g.kv_append_packed([cache, rows, this.past], { packing, ...(ring && { ring: true }) }, label),
    );
  }

  /**
   * Rows times a Hadamard matrix, which is its own inverse and keeps products of rows: a large number among small ones would
   * take all 16 codes of its block, and is spread over the row instead.
   */
  #spread(rows: Value): Value {
    const { g } = this;
    const shape = g.typeOf(rows).shape;
    const size = Number(shape.at(-1));
    const order = size & -size;
    const pieces = [...shape.slice(0, -1), size / order, order];
    const turned = g.matmul([g.reshape([rows], { shape: pieces }), g.constant(hadamard(order))], {}, "spread");
    return g.reshape([turned], { shape });
  }

  #append(layer: number, { k, ...rest }: Omit<Heads, "q"> | Omit<SharedHeads, "q">, ring?: Ring): Caches {
    const keys = this.cached("k", layer, k, ring);
    const v = "v" in rest ? this.cached("v", layer, rest.v, ring) : keys;
    const caches = { k: keys, v, isRing: ring !== undefined };
    this.#caches.set(layer, caches);
    return caches;
  }

  /** Attends over the caches of an earlier layer. */
  attendOverLayer(layer: number, q: Value, rules: AttentionRules): Value {
    const caches = this.#caches.get(layer);
    if (caches === undefined) throw new WorkbenchError("BUG_INVARIANT", `[attention] layer ${layer} has no caches yet`);
    return this.attendOver(q, caches, rules, layer);
  }

  protected attendOver(
    query: Value,
    { k, v, packing, isRing = false }: Caches,
    { sinks, ...seen }: AttentionRules,
    _layer: number,
  ): Value {
    const attrs = isRing ? { ...seen, ring: true } : seen;
    const q = packing === "q4_0" ? this.#spread(query) : query;
    const [, heads] = this.g.typeOf(q).shape;
    const logits = sinks === undefined ? [] : [this.vector(sinks, typeof heads === "number" ? heads : 0)];
    const plain = [q, k, v, this.past] as const;
    const operands = logits[0] === undefined ? plain : ([...plain, logits[0]] as const);
    if (packing === undefined) return this.g.attention_cached(operands, attrs, "attention");
    const mixed = this.g.attention_packed(operands, { ...attrs, packing }, "attention");
    return packing === "q4_0" ? this.#spread(mixed) : mixed;
  }

  protected room(): Dim {
    return this.cache.capacity;
  }

  /** Nothing of the model can be packed: said instead of keeping f16 all the same. */
  #requirePacked(): void {
    const { cacheType } = this.cache;
    if (cacheType === "f16" || cacheType === "f32" || this.#hasPacked) return;
    throw new WorkbenchError(
      "UNSUPPORTED_ARCHITECTURE",
      `[${this.sizes.name}] a ${cacheType} cache: got no layer that attends over plain keys and values, expected one`,
      { hint: "Keep keys and values in f16." },
    );
  }

  #finished(logits: Value, { logits: scale = 1, logitCap }: Scales): Value {
    this.#requirePacked();
    const { g } = this;
    const factor = (value: number): Value => g.constant(hostScalar("f32", Math.fround(value)));
    const scaled = scale === 1 ? logits : g.mul([logits, factor(scale)], {}, "scaled");
    if (logitCap === undefined) return scaled;
    return g.mul([g.tanh([g.mul([scaled, factor(1 / logitCap)])]), factor(logitCap)], {}, "capped");
  }
}
