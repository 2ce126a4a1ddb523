/**
 * What selective_scan computes, in terms of other ops. A decay per head reaches all pairs of tokens
 * at once, as a product of matrices, in chunks where there are many; a decay per element of the
 * state doubles the distance that its partial sums reach, turn by turn. Of many tokens, or of a
 * number that only the run knows, that would be too much memory, or no graph: they are a scan.
 */
import { invariant } from "../../diagnostics/errors.ts";
import { staticDim } from "../../ir/dim.ts";
import type { Dim } from "../../ir/dim.ts";
import type { Value } from "../../ir/graph.ts";
import type { OpBuilder } from "../opBuilder.ts";
import { bordered, scalarLike } from "./constants.ts";
import { overTokens } from "./turns.ts";

export type ScanOperands<T> = readonly [x: T, step: T, rate: T, b: T, c: T, state: T];
export type ScanReads = "after" | "before";

/** Sizes of a scan: tokens, heads, columns of x, groups of b and c, rows of the state. */
interface Sizes {
  readonly tokens: Dim;
  readonly heads: Dim;
  readonly columns: Dim;
  readonly rows: Dim;
}

export function scanParts(g: OpBuilder, operands: ScanOperands<Value>, reads: ScanReads): readonly Value[] {
  const [x, step, rate, b, c, state] = operands;
  const [tokens = 0, heads = 0, columns = 0] = g.typeOf(x).shape;
  // An empty y is any of its type.
  if (tokens === 0) return [x, state];
  const sizes: Sizes = { tokens, heads, columns, rows: g.typeOf(state).shape[2] ?? 0 };
  // [T, H, 1 or N]
  const decay = g.mul([step, rate]);
  const [byHeadB, byHeadC] = [eachHead(g, b, sizes), eachHead(g, c, sizes)];
  const parts = { x, decay, b: byHeadB, c: byHeadC, state };
  const isMany = typeof tokens === "number" && tokens > CHUNK;
  if (g.typeOf(decay).shape[2] === 1)
    return isMany ? inChunks(g, parts, sizes, reads) : byPairs(g, parts, sizes, reads);
  return isMany || typeof tokens !== "number" ? byTurns(g, parts, sizes, reads) : byDoubling(g, parts, sizes, reads);
}

/** Tokens whose pairs are looked at together. */
const CHUNK = 64;

interface Parts {
  readonly x: Value;
  readonly decay: Value;
  /** Of every head: [T, H, N]. */
  readonly b: Value;
  readonly c: Value;
  readonly state: Value;
}

/** [T, G, N] → [T, H, N]: neighbouring heads share a group. */
function eachHead(g: OpBuilder, x: Value, { tokens, heads, rows }: Sizes): Value {
  const groups = staticDim(g.typeOf(x).shape[1] ?? 0, "selective_scan");
  const all = staticDim(heads, "selective_scan");
  if (groups === all) return x;
  const apart = g.reshape([x], { shape: [tokens, groups, 1, rows] });
  const wide = g.expand([apart], { shape: [tokens, groups, all / groups, rows] });
  return g.reshape([wide], { shape: [tokens, heads, rows] });
}

const headFirst = (g: OpBuilder, x: Value): Value => g.transpose([x], { perm: [1, 0, 2] });
const flipped = (g: OpBuilder, x: Value): Value => g.transpose([x], { perm: [0, 2, 1] });

/** y = (c·b, decayed from token to token, of all pairs) x + decayed c·state. */
function byPairs(g: OpBuilder, parts: Parts, { tokens }: Sizes, reads: ScanReads): readonly Value[] {
  const [x, b, c] = [headFirst(g, parts.x), headFirst(g, parts.b), headFirst(g, parts.c)];
  // [H, T, 1]
  const decay = headFirst(g, parts.decay);
  const exclusive = reads === "before";
  const place = g.iota([], { shape: [tokens, 1], axis: 0 });
  const source = g.iota([], { shape: [tokens], axis: 0 });
  // What is behind the source only, so that near tokens are no difference of large sums.
  const behind = g.where([g.compare([place, source], { op: "gt" }), decay, scalarLike(g, decay, 0)]);
  const between = g.cumsum([behind], { axis: 1, exclusive, reverse: false });
  const scores = g.mul([g.matmul([c, flipped(g, b)]), g.exp([between])]);
  const reached = g.compare([place, source], { op: exclusive ? "gt" : "ge" });
  const seen = g.where([reached, scores, scalarLike(g, scores, 0)]);
  const since = g.exp([g.cumsum([decay], { axis: 1, exclusive, reverse: false })]);
  const old = g.mul([g.matmul([c, flipped(g, parts.state)]), since]);
  const y = headFirst(g, g.add([g.matmul([seen, x]), old]));
  const left = g.exp([g.cumsum([decay], { axis: 1, exclusive: true, reverse: true })]);
  const whole = g.exp([g.reduce([decay], { kind: "sum", axes: [1], keepDims: true })]);
  const fresh = g.matmul([flipped(g, x), g.mul([b, left])]);
  return [y, g.add([g.mul([parts.state, whole]), fresh])];
}

/** State t = (product of decays up to t) · state before + sum up to t. Both reach 1, 2, 4 … tokens back. */
function byDoubling(g: OpBuilder, parts: Parts, sizes: Sizes, reads: ScanReads): readonly Value[] {
  const { heads, columns, rows } = sizes;
  const tokens = staticDim(sizes.tokens, "selective_scan");
  let kept = g.reshape([g.exp([parts.decay])], { shape: [tokens, heads, 1, rows] });
  let sum = g.mul([
    g.reshape([parts.x], { shape: [tokens, heads, columns, 1] }),
    g.reshape([parts.b], { shape: [tokens, heads, 1, rows] }),
  ]);
  const back = (value: Value, by: number, edge: number): Value =>
    bordered(g, g.narrow([value], { axis: 0, start: 0, length: tokens - by }), 0, [by, 0], edge);
  for (let reach = 1; reach < tokens; reach *= 2) {
    sum = g.add([sum, g.mul([kept, back(sum, reach, 0)])]);
    kept = g.mul([kept, back(kept, reach, 1)]);
  }
  const first = g.reshape([parts.state], { shape: [1, heads, columns, rows] });
  const states = g.add([g.mul([kept, first]), sum]);
  const after = g.narrow([states], { axis: 0, start: tokens - 1, length: 1 });
  const before = (): Value =>
    tokens === 1
      ? first
      : g.concat([first, g.narrow([states], { axis: 0, start: 0, length: tokens - 1 })], { axis: 0 });
  const read = g.mul([
    reads === "after" ? states : before(),
    g.reshape([parts.c], { shape: [tokens, heads, 1, rows] }),
  ]);
  return [g.reduce([read], { kind: "sum", axes: [3] }), g.reshape([after], { shape: [heads, columns, rows] })];
}

/** Chunk after chunk, with the state between them; what does not fill a chunk comes last. */
function inChunks(g: OpBuilder, parts: Parts, sizes: Sizes, reads: ScanReads): readonly Value[] {
  const tokens = staticDim(sizes.tokens, "selective_scan");
  const count = Math.floor(tokens / CHUNK);
  const rest = tokens - count * CHUNK;
  const all = [parts.x, parts.decay, parts.b, parts.c];
  const cut = (x: Value, start: number, length: number): Value => g.narrow([x], { axis: 0, start, length });
  const rows = all.map((x) =>
    g.reshape([cut(x, 0, count * CHUNK)], { shape: [count, CHUNK, ...g.typeOf(x).shape.slice(1)] }),
  );
  const made = overTokens(g, rows, parts.state, (h, [x, decay, b, c], state) => {
    invariant(x && decay && b && c, "[selective_scan] a chunk has four parts");
    const [y, after] = byPairs(h, { x, decay, b, c, state }, { ...sizes, tokens: CHUNK }, reads);
    invariant(y && after, "[selective_scan] a chunk gives y and a state");
    return [y, after];
  });
  const first = g.reshape([made[0]], { shape: [count * CHUNK, sizes.heads, sizes.columns] });
  if (rest === 0) return [first, made[1]];
  const [x, decay, b, c] = all.map((each) => cut(each, count * CHUNK, rest));
  invariant(x && decay && b && c, "[selective_scan] a rest has four parts");
  const [y, after] = byPairs(g, { x, decay, b, c, state: made[1] }, { ...sizes, tokens: rest }, reads);
  return y && after ? [g.concat([first, y], { axis: 0 }), after] : [];
}

/** Token by token. */
function byTurns(g: OpBuilder, parts: Parts, { heads, columns, rows }: Sizes, reads: ScanReads): readonly Value[] {
  return overTokens(g, [parts.x, parts.decay, parts.b, parts.c], parts.state, (h, [x, decay, b, c], before) => {
    invariant(x && decay && b && c, "[selective_scan] a token has four parts");
    const line = (each: Value): Value => h.reshape([each], { shape: [heads, 1, rows] });
    const fresh = h.mul([h.reshape([x], { shape: [heads, columns, 1] }), line(b)]);
    const after = h.add([h.mul([before, line(h.exp([decay]))]), fresh]);
    const read = h.mul([reads === "after" ? after : before, line(c)]);
    return [h.reduce([read], { kind: "sum", axes: [2] }), after];
  });
}
