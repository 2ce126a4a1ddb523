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
  /** What a key is before the row's position, [rows, keys]; with slopes. */
  readonly distance?: MilValue | undefined;
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
  if (args.sinks !== undefined) scores.push(sinkColumn(e, args.sinks, [groups, share, rows]));
  const joined =
    scores.length === 1 && scores[0] !== undefined
      ? scores[0]
      : e.op("concat", { values: scores, axis: -1, interleave: false });
  const weights = e.op("softmax", { x: joined, axis: -1 });
  const mixed = mix(e, weights, pieces, scores.length, [groups, share * rows]);
  return e.op("reshape", { x: mixed, shape: [heads, rows, width] });
}

function piecesOf(e: CoremlEmitter, args: AttentionArgs, rows: number): readonly Piece[] {
  const [keys, values] = [args.key.cache, args.value.cache];
  if (keys !== undefined && values !== undefined && args.past !== undefined) {
    const [stored, fresh] = [e.sizes(keys.stored, "attention")[1] ?? 0, e.sizes(keys.fresh, "attention")[1] ?? 0];
    const [causal, older] = [freshMask(e, args, args.past, rows, fresh), storedMask(e, args, args.past, rows, stored)];
    const [near, far] = args.slopes
      ? [distances(e, undefined, rows, fresh), distances(e, args.past, rows, stored)]
      : [];
    return [
      { key: keys.stored, value: values.stored, keys: stored, mask: older, distance: far },
      { key: keys.fresh, value: values.fresh, keys: fresh, mask: causal, distance: near },
    ];
  }
  const count = e.sizes(args.key, "attention")[1] ?? 0;
  const distance = args.slopes ? distances(e, args.past, rows, count) : undefined;
  return [{ key: args.key, value: args.value, keys: count, mask: maskFor(e, args, rows, count), distance }];
}

/** ALiBi's distances, key - (past + row), of the element type of the scores; a step's own keys begin at `past`. */
const distances = (e: CoremlEmitter, past: MilValue | undefined, rows: number, keys: number): MilValue =>
  e.once(`distance ${past?.name ?? ""} ${rows} ${keys}`, () => {
    const limit = past === undefined ? column(e, rows) : e.op("add", { x: column(e, rows), y: past });
    return e.cast(e.op("sub", { x: line(e, 0, keys), y: limit }), e.float);
  });

/** Scores [groups, share, rows, keys] with what they lose by the distance: slope · (key - position), which is 0 or less. */
function fallen(e: CoremlEmitter, split: MilValue, slopes: readonly number[], distance: MilValue): MilValue {
  const [groups = 1, share = 1] = e.sizes(split, "attention");
  const each = e.constant(e.float, [groups, share, 1, 1], Float32Array.from(slopes));
  return e.op("add", { x: split, y: e.op("mul", { x: distance, y: each }) });
}

function freshMask(
  e: CoremlEmitter,
  args: AttentionArgs,
  past: MilValue,
  rows: number,
  fresh: number,
): MilValue | undefined {
  if (args.chunk !== undefined && fresh > 1) return freshChunkMask(e, past, args.chunk, rows, fresh);
  return fresh === 1 && args.window === undefined ? undefined : fixedMask(e, { ...args, causal: true }, rows, fresh);
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
  if (args.slopes !== undefined && piece.distance !== undefined) {
    const split = e.op("reshape", { x: scores, shape: [groups, share, rows, piece.keys] });
    const lower = fallen(e, split, args.slopes, piece.distance);
    scores = e.op("reshape", { x: lower, shape: [groups, share * rows, piece.keys] });
  }
  if (piece.mask === undefined) return scores;
  // One row of mask serves all rows of scores as it is.
  if (e.sizes(piece.mask, "attention")[0] === 1) return e.op("add", { x: scores, y: piece.mask });
  const split = e.op("reshape", { x: scores, shape: [groups, share, rows, piece.keys] });
  return e.op("reshape", { x: e.op("add", { x: split, y: piece.mask }), shape: [groups, share * rows, piece.keys] });
}

/** The sinks as one more score of each row: [groups, share·rows, 1]. */
function sinkColumn(
  e: CoremlEmitter,
  sinks: MilValue,
  [groups, share, rows]: readonly [number, number, number],
): MilValue {
  const each = e.op("reshape", { x: e.cast(sinks, e.float), shape: [groups, share, 1, 1] });
  const zeros = e.constant(e.float, [1, 1, rows, 1], new Float32Array(rows));
  return e.op("reshape", { x: e.op("add", { x: each, y: zeros }), shape: [groups, share * rows, 1] });
}

/** Σ over the pieces of weights·values. */
function mix(
  e: CoremlEmitter,
  weights: MilValue,
  pieces: readonly Piece[],
  parts: number,
  [groups, rows]: readonly [number, number],
): MilValue {
  let begin = 0;
  let total: MilValue | undefined;
  for (const { keys, value } of pieces) {
    const own =
      parts === 1 ? weights : e.op("slice_by_size", { x: weights, begin: [0, 0, begin], size: [groups, rows, keys] });
    const part = e.op("matmul", { x: own, y: value, transpose_x: false, transpose_y: false });
    total = total === undefined ? part : e.op("add", { x: total, y: part });
    begin += keys;
  }
  return total ?? weights;
}

/** [rows, keys] of 0 and −40000; undefined when every row sees every key. */
function maskFor(e: CoremlEmitter, args: AttentionArgs, rows: number, keys: number): MilValue | undefined {
  const { past, window, chunk } = args;
  if (past === undefined) return args.causal || window !== undefined ? fixedMask(e, args, rows, keys) : undefined;
  return e.once(`mask ${past.name} ${rows} ${keys} ${window ?? ""} ${chunk ?? ""}`, () => {
    const limit = e.op("add", { x: column(e, rows), y: past });
    const upTo = e.op("less_equal", { x: line(e, 0, keys), y: limit });
    const seen = chunk === undefined ? upTo : fromChunk(e, upTo, line(e, 0, keys), limit, chunk);
    const kept =
      window === undefined
        ? seen
        : e.op("logical_and", { x: seen, y: e.op("greater", { x: line(e, window, keys), y: limit }) });
    return additive(e, kept);
  });
}

/** Stored keys are valid below `past`, the same for every row; a window also drops old ones, row by row. */
function storedMask(e: CoremlEmitter, args: AttentionArgs, past: MilValue, rows: number, keys: number): MilValue {
  const { window, chunk } = args;
  return e.once(`stored ${past.name} ${rows} ${keys} ${window ?? ""} ${chunk ?? ""}`, () => {
    const below = e.op("less", { x: line(e, 0, keys), y: past });
    if (window === undefined && chunk === undefined) return additive(e, below);
    const limit = e.op("add", { x: column(e, rows), y: past });
    const valid = chunk === undefined ? below : fromChunk(e, below, line(e, 0, keys), limit, chunk);
    if (window === undefined) return additive(e, valid);
    return additive(e, e.op("logical_and", { x: valid, y: e.op("greater", { x: line(e, window, keys), y: limit }) }));
  });
}

/** What is seen, from the first position of the row's chunk on. */
function fromChunk(e: CoremlEmitter, seen: MilValue, places: MilValue, rows: MilValue, chunk: number): MilValue {
  const first = e.op("mul", { x: e.op("floor_div", { x: rows, y: chunk }), y: chunk });
  return e.op("logical_and", { x: seen, y: e.op("greater_equal", { x: places, y: first }) });
}

/** The step's own keys, at positions from `past` on. */
function freshChunkMask(e: CoremlEmitter, past: MilValue, chunk: number, rows: number, keys: number): MilValue {
  return e.once(`fresh ${past.name} ${rows} ${keys} ${chunk}`, () => {
    const places = e.op("add", { x: line(e, 0, keys), y: past });
    const limit = e.op("add", { x: column(e, rows), y: past });
    return additive(e, fromChunk(e, e.op("less_equal", { x: places, y: limit }), places, limit, chunk));
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
