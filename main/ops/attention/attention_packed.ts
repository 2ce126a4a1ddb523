import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import type { TensorType } from "../../ir/type.ts";
import { formatType, tensor } from "../../ir/type.ts";
import type { InputsOf, Op, Sample } from "../defineOp.ts";
import { defineOp, nondifferentiable } from "../defineOp.ts";
import { cpuKernel } from "../../backends/cpu/rules.ts";
import { alibiSlopes } from "../families/attention.ts";
import { eachItem } from "../families/batching.ts";
import { lines } from "../families/oracle.ts";
import type { CachePacking } from "../families/packedRows.ts";
import {
  CACHE_PACKINGS,
  PACKED_ON_CPU,
  UNPACK_NUMPY,
  packBlock,
  packedRowBytes,
  packedRowSize,
  unpackRows,
} from "../families/packedRows.ts";
import { normal, sample, scalarInput, values } from "../families/samples.ts";
import type { Arity, AttentionCachedAttrs } from "./attention_cached.ts";
import { ATTENTION_CACHED_ATTRS, CACHED_JAX, attention_cached, cpuAttentionParams } from "./attention_cached.ts";
import type { PackedAttrs } from "./kv_append_packed.ts";
import { PACKING_CODE } from "./kv_append_packed.ts";

export interface AttentionPackedAttrs extends AttentionCachedAttrs, PackedAttrs {}

function infer([q, k, v, past, sinks]: InputsOf<Arity, TensorType>, attrs: AttentionPackedAttrs): TensorType {
  const { packing, ...plain } = attrs;
  if (q.dtype !== "f32")
    throw new WorkbenchError("IR_TYPE", `[attention_packed] query: got ${formatType(q)}, expected f32`);
  const wide = (cache: TensorType): TensorType => {
    if (cache.dtype !== "u8" || cache.shape.length !== 3)
      throw new WorkbenchError(
        "IR_SHAPE",
        `[attention_packed] cache: got ${formatType(cache)}, expected u8[key heads, capacity, bytes]`,
      );
    return tensor("f32", [...cache.shape.slice(0, 2), packedRowSize("attention_packed", cache.shape[2], packing)]);
  };
  const operands = [q, wide(k), wide(v), past] as const;
  return attention_cached.infer(sinks === undefined ? operands : [...operands, sinks], plain, []);
}

/** A packed cache of numbers that a normal distribution could have drawn. */
function packedCache(seed: number, [heads, capacity, size]: readonly [number, number, number], packing: CachePacking) {
  const bytes = packedRowBytes("sample", size, packing);
  const out = new Float64Array(heads * capacity * bytes);
  const blocks = heads * capacity * (size / 32);
  const each = (bytes / size) * 32;
  const numbers = Float64Array.from({ length: 32 * blocks }, (_, i) => 1.7 * Math.sin((i + 1) * (12.9898 + seed)));
  for (let b = 0; b < blocks; b++) packBlock(numbers, 32 * b, packing, out, b * each);
  return values([...out], [heads, capacity, bytes], "u8");
}

const packed = (
  title: string,
  seed: number,
  [tokens, heads, kvHeads, capacity, size, past]: readonly [number | string, number, number, number, number, number],
  attrs: AttentionPackedAttrs,
  more: Partial<Sample<AttentionPackedAttrs>> = {},
): Sample<AttentionPackedAttrs> => {
  const cache = [kvHeads, capacity, size] as const;
  const caches = [packedCache(seed + 1, cache, attrs.packing), packedCache(seed + 2, cache, attrs.packing)];
  return sample(title, [normal(seed, [tokens, heads, size]), ...caches, scalarInput(past)], attrs, more);
};

export const attention_packed: Op<"attention_packed", AttentionPackedAttrs, Arity> = defineOp({
  name: "attention_packed",
  summary:
    "attention_cached over caches whose rows kv_append_packed has packed: u8[Hkv, capacity, bytes]. Queries and results are f32.",
  arity: { least: 4, most: 5 },
  operands: ["query", "key cache", "value cache", "past", "sinks"],
  outputs: "one",
  attributes: { ...ATTENTION_CACHED_ATTRS, packing: attr.oneOf(CACHE_PACKINGS) },
  infer,
  reference: ([q, k, v, past, sinks], { packing, ...plain }) => {
    const operands = [q, unpackRows(k, packing), unpackRows(v, packing), past] as const;
    return attention_cached.reference(sinks === undefined ? operands : [...operands, sinks], plain, []);
  },
  oracle: { jax: lines(UNPACK_NUMPY, "x1, x2 = unpack(np.asarray(x1)), unpack(np.asarray(x2))", CACHED_JAX) },
  gradient: nondifferentiable("packed rows are whole numbers: training keeps keys and values as floats"),
  batching: eachItem("attention_packed"),
  traits: ["pure", "sensitive"],
  backends: {
    cpu: cpuKernel("attention", {
      takes: [["f32"], ["u8"], ["u8"], ["i32"], ["f32"]],
      params: (attrs) => ({ ...cpuAttentionParams(attrs), packing: PACKING_CODE[attrs.packing] }),
    }),
    ...PACKED_ON_CPU,
  },
  samples: [
    packed("q8_0, one token", 1, [1, 2, 2, 5, 32, 3], { scale: 0.18, packing: "q8_0" }),
    packed("q4_0, one token, softcap", 4, [1, 4, 2, 5, 64, 4], { scale: 0.1, softcap: 2, packing: "q4_0" }),
    packed(
      "q8_0, grouped heads, symbolic",
      7,
      ["T", 6, 2, 90, 64, 60],
      { scale: 0.125, packing: "q8_0" },
      { bindings: { T: 9 } },
    ),
    packed("q4_0, many tokens, window, slopes", 10, [70, 2, 1, 80, 32, 8], {
      scale: 0.18,
      window: 20,
      slopes: alibiSlopes(2, 8),
      packing: "q4_0",
    }),
    packed("q8_0, more keys than the CPU engine takes at once", 13, [2, 2, 1, 1100, 32, 1090], {
      scale: 0.18,
      packing: "q8_0",
    }),
    packed("q8_0, ring, one token", 20, [1, 2, 1, 9, 32, 60], { scale: 0.18, window: 6, ring: true, packing: "q8_0" }),
    packed(
      "q4_0, ring, many tokens, symbolic",
      23,
      ["T", 2, 1, 100, 32, 170],
      { scale: 0.18, window: 20, slopes: alibiSlopes(2, 8), ring: true, packing: "q4_0" },
      { bindings: { T: 70 } },
    ),
    sample(
      "q8_0, sinks, chunks, values of another size",
      [
        normal(16, [3, 2, 64]),
        packedCache(17, [1, 9, 64], "q8_0"),
        packedCache(18, [1, 9, 32], "q8_0"),
        scalarInput(4),
        normal(19, [2]),
      ],
      { scale: 0.125, chunk: 4, packing: "q8_0" },
    ),
  ],
});
