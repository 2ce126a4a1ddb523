/**
 * What rules about movements are: each has a name, the operations that it looks at, and makes one value of what it is given.
 * `movements.test.ts` holds what each is given and what it makes, as graphs. Sizes with symbols are joined where that is right for
 * every size, and left alone otherwise.
 */
import type { Dim } from "../ir/dim.ts";
import { addDims, dimTerms, subDims } from "../ir/dim.ts";
import type { Node, Value } from "../ir/graph.ts";
import type { Pattern } from "../ir/pass.ts";
import type { RewriteRule } from "../ir/rewrite.ts";
import { normalizeAxis } from "../ir/type.ts";

/** What a rule sees of the old graph, and what it makes the new one with. */
export interface Look {
  readonly pattern: Pattern;
  readonly map: (old: Value) => Value;
  readonly replace: Parameters<RewriteRule>[2];
}

export interface Movement {
  readonly name: string;
  readonly ops: readonly string[];
  /** What stands for the node's value; `x` is its first operand. */
  readonly apply: (look: Look, node: Node, x: Value) => Value | undefined;
}

/** Positions along one axis of a value. */
export interface Range {
  readonly of: Value;
  readonly axis: number;
  readonly start: Dim;
  readonly length: Dim;
  readonly step: number;
  /** The node that says so. */
  readonly node: Node;
}

/** As numbers, or none where the attribute is something else. */
export const numbers = (value: unknown): readonly number[] =>
  Array.isArray(value) ? value.filter((item): item is number => typeof item === "number") : [];

export const dims = (value: unknown): readonly Dim[] => (Array.isArray(value) ? (value as readonly Dim[]) : []);

export function axisOf({ pattern }: Pick<Look, "pattern">, node: Node, x: Value): number {
  return normalizeAxis(Number(node.attrs["axis"]), pattern.typeOf(x).shape.length, node.op);
}

/** What a value is as a range of another one: of `narrow`, `slice`, or a result of `split`. */
export function rangeOf(look: Pick<Look, "pattern">, value: Value): Range | undefined {
  const node = look.pattern.graph.nodes[value.node];
  const [of] = node?.inputs ?? [];
  if (node === undefined || of === undefined || !RANGES.has(node.op)) return undefined;
  const axis = axisOf(look, node, of);
  const { attrs } = node;
  if (node.op !== "split") {
    const [start, length] = [attrs["start"] as Dim, attrs["length"] as Dim];
    return { of, axis, start, length, step: Number(attrs["step"] ?? 1), node };
  }
  const sizes = dims(attrs["sizes"]);
  const start = sizes.slice(0, value.output).reduce<Dim>(addDims, 0);
  return { of, axis, start, length: sizes[value.output] ?? 0, step: 1, node };
}

const RANGES: ReadonlySet<string> = new Set(["narrow", "slice", "split"]);

/** A range of a value of the new graph. */
export function ranged(
  { replace }: Look,
  absorbed: readonly Node[],
  x: Value,
  range: Omit<Range, "of" | "node">,
): Value {
  const { axis, start, length, step } = range;
  const made = replace(absorbed);
  const [value = x] =
    step === 1
      ? made.apply("narrow", [x], { axis, start, length })
      : made.apply("slice", [x], { axis, start, length, step });
  return value;
}

/** True where `a` is no more than `b` whatever sizes their symbols have. */
export const isAtMost = (a: Dim, b: Dim): boolean =>
  dimTerms(subDims(b, a)).every(({ coefficient }) => coefficient >= 0);
