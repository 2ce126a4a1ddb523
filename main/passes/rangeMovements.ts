/** Ranges of an axis, borders around them, and joins of them. */
import type { Dim } from "../ir/dim.ts";
import { addDims, mulDims, subDims } from "../ir/dim.ts";
import type { Node, Value } from "../ir/graph.ts";
import { sameValue } from "../ir/graph.ts";
import type { Look, Movement, Range } from "./movement.ts";
import { axisOf, isAtMost, numbers, ranged, rangeOf } from "./movement.ts";

const sizeAlong = ({ pattern }: Look, x: Value, axis: number): Dim => pattern.typeOf(x).shape[axis] ?? 0;

/** It has positions, all of them from 0 and before `size`; an empty range is nowhere. */
function liesIn({ start, length, step }: Pick<Range, "start" | "length" | "step">, size: Dim): boolean {
  if (step === 1) return length !== 0 && isAtMost(0, start) && isAtMost(addDims(start, length), size);
  if (typeof start !== "number" || typeof length !== "number" || typeof size !== "number") return false;
  const last = start + (length - 1) * step;
  return length > 0 && start >= 0 && start < size && last >= 0 && last < size;
}

/** Given: the whole axis, forwards. Result: the operand. */
const wholeRange: Movement = {
  name: "the whole axis",
  ops: ["narrow", "slice", "split"],
  apply(look, node, x) {
    const range = rangeOf(look, { node: node.id, output: 0 });
    if (range === undefined || node.outputs.length > 1) return undefined;
    const isWhole = range.start === 0 && range.length === sizeAlong(look, x, range.axis);
    return isWhole && (range.step === 1 || range.length === 1) ? look.map(x) : undefined;
  },
};

/** Given: a range of a range along the same axis. Result: one, with the product of the steps. */
const rangeOfRange: Movement = {
  name: "a range of a range",
  ops: ["narrow", "slice"],
  apply(look, node, x) {
    const [outer, inner] = [rangeOf(look, { node: node.id, output: 0 }), rangeOf(look, x)];
    if (outer === undefined || inner?.axis !== outer.axis || !liesIn(outer, inner.length)) return undefined;
    const start = addDims(inner.start, mulDims(outer.start, inner.step));
    const joined = { axis: outer.axis, start, length: outer.length, step: outer.step * inner.step };
    return ranged(look, [inner.node], look.map(inner.of), joined);
  },
};

/** Given: a range of a value with borders, none of which it reads along its axis. Result: the borders of the range. */
const rangeInsidePad: Movement = {
  name: "a range inside its borders",
  ops: ["narrow", "slice"],
  apply(look, node) {
    const range = rangeOf(look, { node: node.id, output: 0 });
    const pad = look.pattern.operand(node, 0, "pad");
    const [source] = pad?.inputs ?? [];
    if (range === undefined || pad === undefined || source === undefined) return undefined;
    const [before, after] = [numbers(pad.attrs["before"]), numbers(pad.attrs["after"])];
    const inside = { ...range, start: subDims(range.start, before[range.axis] ?? 0) };
    if (!liesIn(inside, sizeAlong(look, source, range.axis))) return undefined;
    const part = ranged(look, [pad], look.map(source), inside);
    const others = { before: before.with(range.axis, 0), after: after.with(range.axis, 0) };
    return look.replace([pad]).apply("pad", [part], { ...pad.attrs, ...others })[0];
  },
};

/** Given: a range of a join that lies in one of its parts. Result: that range of the part. */
const rangeOfConcat: Movement = {
  name: "a range of one part of a join",
  ops: ["narrow", "slice"],
  apply(look, node) {
    const range = rangeOf(look, { node: node.id, output: 0 });
    const concat = look.pattern.operand(node, 0, "concat");
    const [first] = concat?.inputs ?? [];
    if (range === undefined || concat === undefined || first === undefined) return undefined;
    if (axisOf(look, concat, first) !== range.axis) return undefined;
    let begin: Dim = 0;
    for (const part of concat.inputs) {
      const [inside, size] = [{ ...range, start: subDims(range.start, begin) }, sizeAlong(look, part, range.axis)];
      if (liesIn(inside, size)) return ranged(look, [concat], look.map(part), inside);
      begin = addDims(begin, size);
    }
    return undefined;
  },
};

/** Given: borders of no width. Result: the operand. */
const padOfNothing: Movement = {
  name: "borders of no width",
  ops: ["pad"],
  apply(look, { attrs }, x) {
    const sizes = [...numbers(attrs["before"]), ...numbers(attrs["after"])];
    return sizes.every((size) => size === 0) ? look.map(x) : undefined;
  },
};

/** Given: borders of one number around borders of the same, or the edge again around the edge again. Result: one border. */
const padOfPad: Movement = {
  name: "borders around borders",
  ops: ["pad"],
  apply(look, node) {
    const inner = look.pattern.operand(node, 0, "pad");
    const [source] = inner?.inputs ?? [];
    if (inner === undefined || source === undefined) return undefined;
    const [mode, other] = [node.attrs["mode"], inner.attrs["mode"]];
    const isSame = Object.is(node.attrs["value"] ?? 0, inner.attrs["value"] ?? 0);
    if (mode !== other || (mode !== "replicate" && !(mode === "constant" && isSame))) return undefined;
    const both = (name: string): readonly number[] => {
      const more = numbers(inner.attrs[name]);
      return numbers(node.attrs[name]).map((size, i) => size + (more[i] ?? 0));
    };
    const attrs = { ...node.attrs, before: both("before"), after: both("after") };
    return look.replace([inner]).apply("pad", [look.map(source)], attrs)[0];
  },
};

/** Given: a join of one value, or with empty ones. Result: the value, or the join of the others. */
const concatWithEmpty: Movement = {
  name: "a join with nothing",
  ops: ["concat"],
  apply(look, node, x) {
    const axis = axisOf(look, node, x);
    const filled = node.inputs.filter((part) => sizeAlong(look, part, axis) !== 0);
    if (filled.length <= 1) return look.map(filled[0] ?? x);
    if (filled.length === node.inputs.length) return undefined;
    return look.replace().apply("concat", filled.map(look.map), node.attrs)[0];
  },
};

/** Given: a join of a join along the same axis that nothing else reads. Result: one. */
const concatOfConcat: Movement = {
  name: "a join of a join",
  ops: ["concat"],
  apply(look, node, x) {
    const axis = axisOf(look, node, x);
    const inner = node.inputs.map((part) => {
      const made = look.pattern.graph.nodes[part.node];
      return made?.op === "concat" && look.pattern.readOnce(made) && axisOf(look, made, part) === axis
        ? made
        : undefined;
    });
    const absorbed = inner.filter((made) => made !== undefined);
    if (absorbed.length === 0) return undefined;
    const parts = node.inputs.flatMap((part, i) => inner[i]?.inputs ?? [part]);
    return look.replace(absorbed).apply("concat", parts.map(look.map), { axis })[0];
  },
};

/** Given: a join of ranges of one value, each of which begins where the one before ends. Result: one range of it. */
const concatOfRanges: Movement = {
  name: "a join of neighbours",
  ops: ["concat"],
  apply(look, node, x) {
    const axis = axisOf(look, node, x);
    const runs: Run[] = [];
    for (const value of node.inputs) {
      const range = rangeOf(look, value);
      const joined = range && joinedRun(runs.at(-1), range, axis);
      if (joined !== undefined) runs.pop();
      runs.push(joined ?? { value, range, nodes: range === undefined ? [] : [range.node] });
    }
    if (runs.length === node.inputs.length) return undefined;
    const values = runs.map(({ value, range, nodes }) =>
      range === undefined || nodes.length === 1 ? look.map(value) : ranged(look, nodes, look.map(range.of), range),
    );
    return values.length === 1 ? values[0] : look.replace().apply("concat", values, { axis })[0];
  },
};

/** An operand of a join, or neighbours among them as one range. */
interface Run {
  readonly value: Value;
  readonly range: Range | undefined;
  readonly nodes: readonly Node[];
}

function joinedRun(run: Run | undefined, next: Range, axis: number): Run | undefined {
  if (run?.range === undefined || !follows(run.range, next, axis)) return undefined;
  const range = { ...run.range, length: addDims(run.range.length, next.length) };
  return { value: run.value, range, nodes: [...run.nodes, next.node] };
}

const follows = (a: Range, b: Range, axis: number): boolean =>
  sameValue(a.of, b.of) &&
  [a, b].every((range) => range.axis === axis && range.step === 1) &&
  addDims(a.start, a.length) === b.start;

export const RANGE_MOVEMENTS: readonly Movement[] = [
  ...[wholeRange, rangeOfRange, rangeInsidePad, rangeOfConcat],
  ...[padOfNothing, padOfPad, concatWithEmpty, concatOfConcat, concatOfRanges],
];
