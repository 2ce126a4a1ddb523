/**
 * What a `scan` is made of: which operand is what, the same turns written as a loop or one after the other, and the
 * face for rules and people who write one, `scanOver`.
 */
import { invariant } from "../../diagnostics/errors.ts";
import type { Dim } from "../../ir/dim.ts";
import { productOf } from "../../ir/dim.ts";
import type { DType } from "../../ir/dtype.ts";
import { isFloat, plainDType } from "../../ir/dtype.ts";
import type { Graph, Value } from "../../ir/graph.ts";
import { hostScalar } from "../../ir/hostTensor.ts";
import { inlineGraph } from "../../ir/nested.ts";
import type { NodeInfo } from "../../ir/nodeInfo.ts";
import type { TensorType } from "../../ir/type.ts";
import type { OpBuilder } from "../opBuilder.ts";
import { sizeValue } from "./constants.ts";
import { regionAt } from "./control.ts";

export interface ScanAttrs {
  /** So many operands, the first ones, change from turn to turn. */
  readonly carried: number;
  /** So many operands, the last ones, are read row by row: a row a turn. Those between stay. */
  readonly scanned: number;
  /** The number of turns, which is that of rows. */
  readonly length: Dim;
  /** From the last row to the first. */
  readonly reverse: boolean;
  /** A gradient keeps the carried values of so many turns and works out the others again; of all where it is absent. */
  readonly checkpoints?: number;
}

export interface ScanLists<T> {
  readonly carry: readonly T[];
  readonly fixed: readonly T[];
  readonly rows: readonly T[];
}

/** Operands of a scan, or inputs of its body, by what they are. */
export function scanLists<T>(
  all: readonly T[],
  { carried, scanned }: Pick<ScanAttrs, "carried" | "scanned">,
): ScanLists<T> {
  const rowsAt = all.length - scanned;
  return { carry: all.slice(0, carried), fixed: all.slice(carried, rowsAt), rows: all.slice(rowsAt) };
}

/** The type of one row. */
export const rowType = (type: TensorType): TensorType => ({ dtype: type.dtype, shape: type.shape.slice(1) });

/** What a builder needs to know of a scan; what a turn gets and gives has the same names. */
export interface ScanOptions extends Partial<ScanLists<Value>> {
  /** Where no operand is read row by row. */
  readonly length?: Dim;
  readonly reverse?: boolean;
  readonly checkpoints?: number;
  readonly label?: string;
}

export interface ScanMade {
  /** After the last turn; of a turn: after it. */
  readonly carry: readonly Value[];
  /** What the turns give, one above the other. */
  readonly rows: readonly Value[];
}

/**
 * A scan by lists instead of positions. `turn` gets the carried values, the fixed ones and a row of each scanned one,
 * and gives the carried values after it and any number of rows.
 */
export function scanOver(
  g: OpBuilder,
  { carry = [], fixed = [], rows = [], length, reverse = false, checkpoints, label }: ScanOptions,
  turn: (h: OpBuilder, lists: ScanLists<Value>) => ScanMade,
): ScanMade {
  const operands = [...carry, ...fixed, ...rows];
  const sizes = { carried: carry.length, scanned: rows.length };
  const [first] = rows;
  const turns = length ?? (first === undefined ? 0 : (g.typeOf(first).shape[0] ?? 0));
  const types = [...[...carry, ...fixed].map((x) => g.typeOf(x)), ...rows.map((x) => rowType(g.typeOf(x)))];
  const body = g.region(label ?? "turn", types, (h, ...all) => {
    const made = turn(h, scanLists(all, sizes));
    return [...made.carry, ...made.rows];
  });
  const attrs = { ...sizes, length: turns, reverse, ...(checkpoints !== undefined && { checkpoints }) };
  const made = g.scan(operands, attrs, label, [body]);
  return { carry: made.slice(0, carry.length), rows: made.slice(carry.length) };
}

/** One state, a row of each operand a turn, and a row that the turn gives: y and the state behind the last row. */
export function overTokens(
  g: OpBuilder,
  rows: readonly Value[],
  state: Value,
  turn: (h: OpBuilder, rows: readonly Value[], before: Value) => readonly [row: Value, after: Value],
): readonly [y: Value, after: Value] {
  const made = scanOver(g, { carry: [state], rows, label: "tokens" }, (h, lists) => {
    const [before] = lists.carry;
    invariant(before, "a state is carried");
    const [row, after] = turn(h, lists.rows, before);
    return { carry: [after], rows: [row] };
  });
  const [[after], [y]] = [made.carry, made.rows];
  invariant(y && after, "a scan gives its rows and what it carries");
  return [y, after];
}

const zero = (g: OpBuilder, dtype: DType): Value => g.constant(hostScalar(dtype, 0));

const emptyRows = (g: OpBuilder, type: TensorType): Value =>
  g.expand([zero(g, plainDType(type.dtype, "scan"))], { shape: type.shape });

/** Turn after turn in one graph. */
export function unrolledScan(
  g: OpBuilder,
  operands: readonly Value[],
  { attrs, outputs, regions }: NodeInfo<ScanAttrs>,
  turns: number,
): readonly Value[] {
  const body = regionAt(regions, 0);
  const { carry, fixed, rows } = scanLists(operands, attrs);
  let now = carry;
  const made: (readonly Value[])[] = [];
  for (let turn = 0; turn < turns; turn++) {
    const place = attrs.reverse ? turns - 1 - turn : turn;
    const own = rows.map((x) => {
      const row = g.narrow([x], { axis: 0, start: place, length: 1 });
      return g.reshape([row], { shape: g.typeOf(x).shape.slice(1) });
    });
    const results = inlineGraph(g.graph, body, [...now, ...fixed, ...own]);
    now = results.slice(0, attrs.carried);
    made[place] = results.slice(attrs.carried).map((x) => g.reshape([x], { shape: [1, ...g.typeOf(x).shape] }));
  }
  const stacked = outputs.slice(attrs.carried).map((type, i) => {
    const items = made.map((results) => results[i]).filter((x) => x !== undefined);
    const [only] = items;
    if (only === undefined) return emptyRows(g, type);
    return items.length === 1 ? only : g.concat(items, { axis: 0 });
  });
  return [...now, ...stacked];
}

/** A loop that counts its turns, and carries what they have given so far. */
export function loopedScan(
  g: OpBuilder,
  operands: readonly Value[],
  { attrs, outputs, regions }: NodeInfo<ScanAttrs>,
): readonly Value[] {
  const body = regionAt(regions, 0);
  const { carried, length, reverse } = attrs;
  const { carry, fixed, rows } = scanLists(operands, attrs);
  const made = outputs.slice(carried);
  const one = (h: OpBuilder): Value => h.constant(hostScalar("i32", 1));
  const start = reverse ? g.sub([sizeValue(g, [length], "i32"), one(g)]) : g.constant(hostScalar("i32", 0));
  const room = made.map((type) => emptyRows(g, { dtype: type.dtype, shape: roomShape(type) }));
  const all = [start, ...carry, ...room, ...fixed, ...rows];
  const types = all.map((x) => g.typeOf(x));
  const always = g.region("more turns", types, (h) => [h.constant(hostScalar("bool", 1))]);
  const counted = g.region("turn", types, (h, ...values) => {
    const [place] = values;
    invariant(place, "a loop counts its turns");
    const before = values.slice(1, 1 + carried);
    const filled = values.slice(1 + carried, 1 + carried + made.length);
    const rest = values.slice(1 + carried + made.length);
    const own = rest.slice(fixed.length).map((x) => h.gather([x, place], { axis: 0 }));
    const results = inlineGraph(h.graph, body, [...before, ...rest.slice(0, fixed.length), ...own]);
    const written = filled.map((all, i) => write(h, all, results[carried + i], place));
    const next = reverse ? h.sub([place, one(h)]) : h.add([place, one(h)]);
    return [next, ...results.slice(0, carried), ...written];
  });
  const attrsOfLoop = { carried: 1 + carried + made.length, maxIterations: length };
  const results = g.while(all, attrsOfLoop, "turns", [always, counted]);
  const stacked = made.map(({ shape }, i) => {
    const value = results[1 + carried + i];
    invariant(value, "a loop gives what it carries");
    return g.reshape([value], { shape });
  });
  return [...results.slice(1, 1 + carried), ...stacked];
}

/** Floats are written into a cache of one head; other numbers are chosen by their place. */
const roomShape = ({ dtype, shape: [length = 0, ...row] }: TensorType): readonly Dim[] =>
  isFloat(dtype) ? [1, length, productOf(row)] : [length, productOf(row)];

function write(h: OpBuilder, all: Value, row: Value | undefined, place: Value): Value {
  invariant(row, "a body gives what it says");
  const { dtype, shape } = h.typeOf(all);
  const size = shape.at(-1) ?? 1;
  if (isFloat(dtype)) return h.kv_append([all, h.reshape([row], { shape: [1, 1, size] }), place]);
  const places = h.iota([], { shape: [shape[0] ?? 0, 1], axis: 0 });
  return h.where([h.compare([places, place], { op: "eq" }), h.reshape([row], { shape: [1, size] }), all]);
}

/** Up to so many turns stand one after the other on Core ML, where a loop runs on no Neural Engine. */
export const MOST_UNROLLED_TURNS = 8;

/** Why a recurrence over tokens is its parts on Core ML, and what they are. */
export const SCAN_ON_CORE_ML = `Core ML has no operator with a memory: up to ${MOST_UNROLLED_TURNS} tokens are steps of products one after the other, more tokens are a loop with a turn for each`;

/** Few turns one after the other, more as a loop. */
export function scanParts(
  g: OpBuilder,
  operands: readonly Value[],
  _attrs: ScanAttrs,
  node: NodeInfo<ScanAttrs>,
): readonly Value[] {
  const { length } = node.attrs;
  return typeof length === "number" && length <= MOST_UNROLLED_TURNS
    ? unrolledScan(g, operands, node, length)
    : loopedScan(g, operands, node);
}

/** The body with its carried values, as they are before a turn, among the rows it gives. */
export const keepingCarries = (g: OpBuilder, body: Graph, types: readonly TensorType[], carried: number): Graph =>
  g.region(body.name, types, (h, ...all) => [...inlineGraph(h.graph, body, all), ...all.slice(0, carried)]);
