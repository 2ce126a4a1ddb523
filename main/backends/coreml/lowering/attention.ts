/**
 * Attention as matrix products. Grouped queries are folded into the row axis ([kv, group·T, size]), so keys and values are
 * never repeated. Masks are additive with −40000 instead of −∞ (which the Neural Engine cannot hold), made from `past`
 * once per function.
 */
import type { AttentionArgs, CoremlEmitter } from "../emitter.ts";
import type { MilValue } from "../mil/types.ts";

const MASKED = -40000;

/** The values of a cache, without the mark that says in which pieces they lie. */
function bare(value: MilValue): MilValue {
  const { cache: _pieces, ...rest } = value;
  return rest;
}

export function attend(e: CoremlEmitter, args: AttentionArgs): MilValue {
  const [heads = 0, rows = 0, size = 0] = e.sizes(args.query, "attention");
  const [groups = 1, keys = 0] = e.sizes(args.key, "attention");
  const width = e.sizes(args.value, "attention")[2] ?? 0;
  const share = heads / groups;
  // Scaling the queries first keeps fp16 scores small.
  const scaled = e.op("mul", { x: args.query, y: args.scale });
  const folded = e.op("reshape", { x: scaled, shape: [groups, share * rows, size] });
  let scores = e.op("matmul", { x: folded, y: bare(args.key), transpose_x: false, transpose_y: true });
  if (args.softcap !== undefined && args.softcap > 0) {
    const bent = e.op("tanh", { x: e.op("mul", { x: scores, y: 1 / args.softcap }) });
    scores = e.op("mul", { x: bent, y: args.softcap });
  }
  const mask = maskFor(e, args, rows, keys);
  if (mask !== undefined) {
    const split = e.op("reshape", { x: scores, shape: [groups, share, rows, keys] });
    scores = e.op("reshape", { x: e.op("add", { x: split, y: mask }), shape: [groups, share * rows, keys] });
  }
  const weights = e.op("softmax", { x: scores, axis: -1 });
  const mixed = e.op("matmul", { x: weights, y: bare(args.value), transpose_x: false, transpose_y: false });
  return e.op("reshape", { x: mixed, shape: [heads, rows, width] });
}

/** [rows, keys] of 0 and −40000; undefined when every row sees every key. */
function maskFor(e: CoremlEmitter, args: AttentionArgs, rows: number, keys: number): MilValue | undefined {
  const cache = args.key.cache;
  if (args.past === undefined) return args.causal || args.window !== undefined ? fixedMask(e, args, rows, keys) : undefined;
  if (cache !== undefined) return functionalMask(e, args, args.past, rows, cache);
  const limit = e.op("add", { x: column(e, rows), y: args.past });
  const seen = e.op("less_equal", { x: line(e, 0, keys), y: limit });
  const kept = args.window === undefined ? seen : e.op("logical_and", { x: seen, y: e.op("greater", { x: line(e, args.window, keys), y: limit }) });
  return additive(e, kept);
}

/** Stored keys are valid below `past`; fresh ones follow each other. A window also drops old keys. */
function functionalMask(e: CoremlEmitter, args: AttentionArgs, past: MilValue, rows: number, cache: { readonly stored: number; readonly fresh: number }): MilValue {
  const valid = e.op("less", { x: line(e, 0, cache.stored), y: past });
  const limit = e.op("add", { x: column(e, rows), y: past });
  const kept = args.window === undefined ? valid : e.op("logical_and", { x: valid, y: e.op("greater", { x: line(e, args.window, cache.stored), y: limit }) });
  const old = additive(e, kept);
  const spread = rows === 1 || args.window !== undefined ? old : e.op("tile", { x: old, reps: [rows, 1] });
  const fresh = fixedMask(e, { ...args, causal: true }, rows, cache.fresh);
  return e.op("concat", { values: [spread, fresh], axis: 1, interleave: false });
}

/** Row i sees key j when j ≤ i + keys − rows, and (with a window) j > i + keys − rows − window. */
function fixedMask(e: CoremlEmitter, args: AttentionArgs, rows: number, keys: number): MilValue {
  const values = new Float32Array(rows * keys);
  for (let i = 0; i < rows; i++)
    for (let j = 0; j < keys; j++) {
      const position = i + keys - rows;
      const hidden = (args.causal && j > position) || (args.window !== undefined && j <= position - args.window);
      values[i * keys + j] = hidden ? MASKED : 0;
    }
  return e.constant(e.float, [rows, keys], values);
}

/** [1, count]: j + add. */
const line = (e: CoremlEmitter, add: number, count: number): MilValue =>
  e.constant("int32", [1, count], Int32Array.from({ length: count }, (_, j) => j + add));

/** [rows, 1]: 0, 1, 2 … */
const column = (e: CoremlEmitter, rows: number): MilValue => e.constant("int32", [rows, 1], Int32Array.from({ length: rows }, (_, i) => i));

/** true → 0, false → −40000 (exact in fp16). Arithmetic, because `select` does not broadcast in every opset. */
const additive = (e: CoremlEmitter, kept: MilValue): MilValue =>
  e.op("add", { x: e.op("mul", { x: e.cast(kept, e.float), y: -MASKED }), y: MASKED });
