/** The two halves of a rotation: NeoX turns (i, i + n/2), "pairs" turns (2i, 2i + 1); axes behind the first n stay. */
import type { Value } from "../../ir/graph.ts";
import type { OpBuilder } from "../opBuilder.ts";

export type RopeStyle = "neox" | "pairs";

export interface Halves {
  readonly first: Value;
  readonly second: Value;
  readonly rest: Value | undefined;
}

const LAST = 2;

/** x [T, H, D] → two [T, H, dims/2] and what is not rotated. */
export function splitHalves(g: OpBuilder, x: Value, dims: number, style: RopeStyle): Halves {
  const [tokens = 0, heads = 0, size = 0] = g.typeOf(x).shape;
  const width = Number(size);
  const rest = width > dims ? g.narrow([x], { axis: LAST, start: dims, length: width - dims }) : undefined;
  const half = dims / 2;
  if (style === "neox")
    return {
      first: g.narrow([x], { axis: LAST, start: 0, length: half }),
      second: g.narrow([x], { axis: LAST, start: half, length: half }),
      rest,
    };
  const turned = rest === undefined ? x : g.narrow([x], { axis: LAST, start: 0, length: dims });
  const pairs = g.reshape([turned], { shape: [tokens, heads, half, 2] });
  const side = (start: number): Value =>
    g.reshape([g.narrow([pairs], { axis: 3, start, length: 1 })], { shape: [tokens, heads, half] });
  return { first: side(0), second: side(1), rest };
}

export function joinHalves(g: OpBuilder, { first, second, rest }: Halves, style: RopeStyle): Value {
  const tail = rest === undefined ? [] : [rest];
  if (style === "neox") return g.concat([first, second, ...tail], { axis: LAST });
  const [tokens = 0, heads = 0, half = 0] = g.typeOf(first).shape;
  const column = (x: Value): Value => g.reshape([x], { shape: [tokens, heads, half, 1] });
  const pairs = g.concat([column(first), column(second)], { axis: 3 });
  const turned = g.reshape([pairs], { shape: [tokens, heads, 2 * Number(half)] });
  return tail.length === 0 ? turned : g.concat([turned, ...tail], { axis: LAST });
}
