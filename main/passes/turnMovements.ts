/** Copies, turns and picks that move nothing, or two of them that are one. */
import type { Dim, Shape } from "../ir/dim.ts";
import type { Node } from "../ir/graph.ts";
import { normalizeAxis, sameShape } from "../ir/type.ts";
import type { Look, Movement } from "./movement.ts";
import { axisOf, numbers, ranged } from "./movement.ts";

/** Given: one copy along each axis. Result: the operand. */
const tileOnce: Movement = {
  name: "one copy",
  ops: ["tile"],
  apply: (look, { attrs }, x) => (numbers(attrs["reps"]).every((rep) => rep === 1) ? look.map(x) : undefined),
};

/** Given: copies of copies. Result: as many copies at once. */
const tileOfTile: Movement = {
  name: "copies of copies",
  ops: ["tile"],
  apply(look, node) {
    const inner = look.pattern.operand(node, 0, "tile");
    const [source] = inner?.inputs ?? [];
    if (inner === undefined || source === undefined) return undefined;
    const more = numbers(inner.attrs["reps"]);
    const reps = numbers(node.attrs["reps"]).map((rep, i) => rep * (more[i] ?? 1));
    return look.replace([inner]).apply("tile", [look.map(source)], { reps })[0];
  },
};

/** Given: a roll by nothing, or all the way round. Result: the operand. */
const rollOfNothing: Movement = {
  name: "a roll all the way round",
  ops: ["roll"],
  apply(look, node, x) {
    const size = look.pattern.typeOf(x).shape[axisOf(look, node, x)];
    const shift = Number(node.attrs["shift"]);
    const isRound = typeof size === "number" && size > 0 && shift % size === 0;
    return shift === 0 || isRound || size === 0 ? look.map(x) : undefined;
  },
};

/** Given: a roll of a roll along the same axis. Result: one roll by both. */
const rollOfRoll: Movement = {
  name: "a roll of a roll",
  ops: ["roll"],
  apply(look, node, x) {
    const inner = look.pattern.operand(node, 0, "roll");
    const [source] = inner?.inputs ?? [];
    if (inner === undefined || source === undefined) return undefined;
    const axis = axisOf(look, node, x);
    if (axisOf(look, inner, source) !== axis) return undefined;
    const shift = Number(node.attrs["shift"]) + Number(inner.attrs["shift"]);
    return look.replace([inner]).apply("roll", [look.map(source)], { axis, shift })[0];
  },
};

/** Axes that a `reverse` turns, from 0, without those of one position. */
function turned({ pattern }: Look, { attrs, inputs: [x] }: Node): ReadonlySet<number> {
  const shape = x === undefined ? [] : pattern.typeOf(x).shape;
  const axes = numbers(attrs["axes"]).map((axis) => normalizeAxis(axis, shape.length, "reverse"));
  return new Set(axes.filter((axis) => shape[axis] !== 1));
}

/** Given: a turn of no axis, or of axes of one position. Result: the operand, or the turn of the others. */
const reverseOfOne: Movement = {
  name: "a turn of one position",
  ops: ["reverse"],
  apply(look, node, x) {
    const axes = turned(look, node);
    if (axes.size === 0) return look.map(x);
    if (axes.size === numbers(node.attrs["axes"]).length) return undefined;
    return look.replace().apply("reverse", [look.map(x)], { axes: [...axes] })[0];
  },
};

/** Given: a turn of a turn. Result: one, of the axes that only one of them turns; the operand where there are none. */
const reverseOfReverse: Movement = {
  name: "a turn of a turn",
  ops: ["reverse"],
  apply(look, node) {
    const inner = look.pattern.operand(node, 0, "reverse");
    const [source] = inner?.inputs ?? [];
    if (inner === undefined || source === undefined) return undefined;
    const [now, before] = [turned(look, node), turned(look, inner)];
    const axes = [...now, ...before].filter((axis) => !(now.has(axis) && before.has(axis))).sort((a, b) => a - b);
    if (axes.length === 0) return look.map(source);
    return look.replace([inner]).apply("reverse", [look.map(source)], { axes })[0];
  },
};

/** Given: positions picked one after the other, from an `iota` or a constant. Result: a range. */
const gatherOfRun: Movement = {
  name: "picks one after the other",
  ops: ["gather"],
  apply(look, node, x) {
    const [, indices] = node.inputs;
    const run = indices && runOf(look, look.pattern.graph.nodes[indices.node]);
    // A packed table gives floats, and a range of it would be packed.
    if (run === undefined || look.pattern.typeOf(x).dtype !== node.outputs[0]?.dtype) return undefined;
    const axis = axisOf(look, node, x);
    const size = look.pattern.typeOf(x).shape[axis];
    const fits = run.start === 0 && run.length === size;
    const isInside =
      typeof size === "number" && typeof run.length === "number" && run.start >= 0 && run.start + run.length <= size;
    if (fits) return look.map(x);
    return isInside ? ranged(look, [], look.map(x), { ...run, axis, step: 1 }) : undefined;
  },
};

/** start, start + 1, start + 2 … */
function runOf(
  { pattern }: Look,
  node: Node | undefined,
): { readonly start: number; readonly length: Dim } | undefined {
  const shape = node?.outputs[0]?.shape ?? [];
  const [length] = shape;
  if (node === undefined || length === undefined || shape.length !== 1) return undefined;
  if (node.op === "iota") return { start: 0, length };
  const data = node.op === "constant" ? pattern.graph.constants.get(String(node.attrs["data"]))?.data : undefined;
  const [start] = data ?? [];
  if (data === undefined || start === undefined) return undefined;
  return data.every((index, i) => index === start + i) ? { start, length } : undefined;
}

/** Given: axes of one position in front taken away or put there, and the rest stretched. Result: stretched at once. */
const expandOfUnits: Movement = {
  name: "stretched behind axes of one position",
  ops: ["expand"],
  apply(look, node) {
    const inner = look.pattern.operand(node, 0, "reshape");
    const [source] = inner?.inputs ?? [];
    if (inner === undefined || source === undefined) return undefined;
    const [from, to] = [look.pattern.typeOf(source).shape, inner.outputs[0]?.shape ?? []];
    const rank = node.outputs[0]?.shape.length ?? 0;
    if (from.length > rank || !sameShape(withoutUnits(from), withoutUnits(to))) return undefined;
    return look.replace([inner]).apply("expand", [look.map(source)], node.attrs)[0];
  },
};

/** Without axes of one position in front. */
function withoutUnits(shape: Shape): Shape {
  const first = shape.findIndex((size) => size !== 1);
  return first < 0 ? [] : shape.slice(first);
}

export const TURN_MOVEMENTS: readonly Movement[] = [
  ...[tileOnce, tileOfTile, rollOfNothing, rollOfRoll, reverseOfOne, reverseOfReverse, gatherOfRun, expandOfUnits],
];
