/**
 * Attention as matrix products. Grouped queries are folded into the row axis ([kv, group·T, size]), so keys and values are
 * never repeated. Masks are additive with −40000 instead of −∞ (which the Neural Engine cannot hold), made from `past`
 * once per function. A cache in two pieces is attended in two pieces: only the scores are joined, never the keys.
 */
import type { AttentionArgs, CoremlEmitter } from "../emitter.ts";
import type { MilValue } from "../mil/types.ts";

const MASKED = -40000;

/** Some keys with their values, and the mask of their scores ([rows or 1, keys]). */
interface Piece {
  readonly key: MilValue;
  readonly value: MilValue;
  readonly keys: number;
  readonly mask: MilValue | undefined;
}

export function attend(e: CoremlEmitter, args: AttentionArgs): MilValue {
  const [heads = 0, rows = 0, size = 0] = e.sizes(args.query, "attention");
  const pieces = piecesOf(e, args, rows);
  const [groups = 1] = e.sizes(args.key, "attention");
  const width = e.sizes(args.value, "attention")[2] ?? 0;
  const share = heads / groups;
  // Scaling the queries first keeps fp16 scores small.
  const scaled = e.op("mul", { x: args.query, y: args.scale });
  const folded = e.op("reshape", { x: scaled, shape: [groups, share * rows, size] });
  const scores = pieces.map((piece) => scoresOf(e, args, folded, piece, [groups, share, rows]));
  const joined =
    scores.length === 1 && scores[0] !== undefined
      ? scores[0]
      : e.op("concat", { values: scores, axis: -1, interleave: false });
  const weights = e.op("softmax", { x: joined, axis: -1 });
  const mixed = mix(e, weights, pieces, [groups, share * rows]);
  return e.op("reshape", { x: mixed, shape: [heads, rows, width] });
}

function piecesOf(e: CoremlEmitter, args: AttentionArgs, rows: number): readonly Piece[] {
  const [keys, values] = [args.key.cache, args.value.cache];
  if (keys !== undefined && values !== undefined && args.past !== undefined) {
    const [stored, fresh] = [e.sizes(keys.stored, "attention")[1] ?? 0, e.sizes(keys.fresh, "attention")[1] ?? 0];
    const causal =
      fresh === 1 && args.window === undefined ? undefined : fixedMask(e, { ...args, causal: true }, rows, fresh);
    return [
      { key: keys.stored, value: values.stored, keys: stored, mask: storedMask(e, args, args.past, rows, stored) },
      { key: keys.fresh, value: values.fresh, keys: fresh, mask: causal },
    ];
  }
  const count = e.sizes(args.key, "attention")[1] ?? 0;
  return [{ key: args.key, value: args.value, keys: count, mask: maskFor(e, args, rows, count) }];
}

/** softcap(q·kᵀ) + mask, [groups, share·rows, keys]. */
function scoresOf(
  e: CoremlEmitter,
  args: AttentionArgs,
  query: MilValue,
  piece: Piece,
  [groups, share, rows]: readonly [number, number, number],
): MilValue {
  let scores = e.op("matmul", { x: query, y: piece.key, transpose_x: false, transpose_y: true });
  if (args.softcap !== undefined && args.softcap > 0) {
    const bent = e.op("tanh", { x: e.op("mul", { x: scores, y: 1 / args.softcap }) });
    scores = e.op("mul", { x: bent, y: args.softcap });
  }
  if (piece.mask === undefined) return scores;
  // One row of mask serves all rows of scores as it is.
  if (e.sizes(piece.mask, "attention")[0] === 1) return e.op("add", { x: scores, y: piece.mask });
  const split = e.op("reshape", { x: scores, shape: [groups, share, rows, piece.keys] });
  return e.op("reshape", { x: e.op("add", { x: split, y: piece.mask }), shape: [groups, share * rows, piece.keys] });
}

/** Σ over the pieces of weights·values. */
function mix(
  e: CoremlEmitter,
  weights: MilValue,
  pieces: readonly Piece[],
  [groups, rows]: readonly [number, number],
): MilValue {
  let begin = 0;
  let total: MilValue | undefined;
  for (const { keys, value } of pieces) {
    const own =
      pieces.length === 1
        ? weights
        : e.op("slice_by_size", { x: weights, begin: [0, 0, begin], size: [groups, rows, keys] });
    const part = e.op("matmul", { x: own, y: value, transpose_x: false, transpose_y: false });
    total = total === undefined ? part : e.op("add", { x: total, y: part });
    begin += keys;
  }
  return total ?? weights;
}

/** [rows, keys] of 0 and −40000; undefined when every row sees every key. */
function maskFor(e: CoremlEmitter, args: AttentionArgs, rows: number, keys: number): MilValue | undefined {
  const { past, window } = args;
  if (past === undefined) return args.causal || window !== undefined ? fixedMask(e, args, rows, keys) : undefined;
  return e.once(`mask ${past.name} ${rows} ${keys} ${window ?? ""}`, () => {
    const limit = e.op("add", { x: column(e, rows), y: past });
    const seen = e.op("less_equal", { x: line(e, 0, keys), y: limit });
    const kept =
      window === undefined
        ? seen
        : e.op("logical_and", { x: seen, y: e.op("greater", { x: line(e, window, keys), y: limit }) });
    return additive(e, kept);
  });
}

/** Stored keys are valid below `past`, the same for every row; a window also drops old ones, row by row. */
function storedMask(e: CoremlEmitter, args: AttentionArgs, past: MilValue, rows: number, keys: number): MilValue {
  const { window } = args;
  return e.once(`stored ${past.name} ${rows} ${keys} ${window ?? ""}`, () => {
    const valid = e.op("less", { x: line(e, 0, keys), y: past });
    if (window === undefined) return additive(e, valid);
    const limit = e.op("add", { x: column(e, rows), y: past });
    return additive(e, e.op("logical_and", { x: valid, y: e.op("greater", { x: line(e, window, keys), y: limit }) }));
  });
}

/** Row i sees key j when j ≤ i + keys − rows, and (with a window) j > i + keys − rows − window. */
function fixedMask(e: CoremlEmitter, args: AttentionArgs, rows: number, keys: number): MilValue {
  return e.once(`fixed ${rows} ${keys} ${args.causal} ${args.window ?? ""}`, () =>
    e.constant(e.float, [rows, keys], fixedValues(args, rows, keys)),
  );
}

function fixedValues(args: AttentionArgs, rows: number, keys: number): Float32Array {
  const values = new Float32Array(rows * keys);
  for (let i = 0; i < rows; i++)
    for (let j = 0; j < keys; j++) {
      const position = i + keys - rows;
      const hidden = (args.causal && j > position) || (args.window !== undefined && j <= position - args.window);
      values[i * keys + j] = hidden ? MASKED : 0;
    }
  return values;
}

/** [1, count]: j + add. */
const line = (e: CoremlEmitter, add: number, count: number): MilValue =>
  e.constant(
    "int32",
    [1, count],
    Int32Array.from({ length: count }, (_, j) => j + add),
  );

/** [rows, 1]: 0, 1, 2 … */
const column = (e: CoremlEmitter, rows: number): MilValue =>
  e.constant(
    "int32",
    [rows, 1],
    Int32Array.from({ length: rows }, (_, i) => i),
  );

/** true → 0, false → −40000 (exact in fp16). Arithmetic, because `select` does not broadcast in every opset. */
const additive = (e: CoremlEmitter, kept: MilValue): MilValue =>
  e.op("add", { x: e.op("mul", { x: e.cast(kept, e.float), y: -MASKED }), y: MASKED });
