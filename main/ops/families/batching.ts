/** Batching helpers: the batch axis is in front of batched operands; rules return it in front. */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { AttrRecord } from "../../ir/attributes.ts";
import type { Dim, Shape } from "../../ir/dim.ts";
import type { Value } from "../../ir/graph.ts";
import type { Arity, Batching, VmapContext } from "../defineOp.ts";
import type { OpBuilder } from "../opBuilder.ts";

export const shapeOf = (g: OpBuilder, x: Value): Shape => g.typeOf(x).shape;

/** The operand with the batch axis in front, stretched if it had none. */
export function asBatched(g: OpBuilder, x: Value, batched: boolean, size: Dim): Value {
  if (batched) return x;
  return g.expand([x], { shape: [size, ...shapeOf(g, x)] });
}

/** Unit axes between the batch axis and the rest, until the unbatched part has `rank` axes. */
export function alignRank(g: OpBuilder, x: Value, batched: boolean, rank: number): Value {
  const shape = shapeOf(g, x);
  const missing = rank - (shape.length - (batched ? 1 : 0));
  if (!batched || missing <= 0) return x;
  const [size = 1, ...rest] = shape;
  return g.reshape([x], { shape: [size, ...new Array<number>(missing).fill(1), ...rest] });
}

/** Only a first operand that carries leading axes is batched; otherwise every item runs by itself. */
export const leadingBatch = <Attrs, A extends Arity>(
  op: string,
  withBatch: (context: VmapContext<Attrs, A>) => Value | readonly Value[],
): Batching<Attrs, A> => ({
  kind: "rule",
  rule: (context) => {
    const [first, ...others] = context.batched;
    return first === true && others.every((flag) => !flag) ? withBatch(context) : runEach(op, context);
  },
});

/** Applies the op to every item and stacks the results: right for any op, for a known batch size. */
export function runEach<Attrs, A extends Arity>(op: string, context: VmapContext<Attrs, A>): readonly Value[] {
  const { g, batched, size, attrs } = context;
  if (typeof size !== "number")
    throw new WorkbenchError(
      "UNSUPPORTED_OP",
      `[${op}] batching runs item by item: got size ${size}, expected a number`,
      {
        hint: "Specialise the graph first.",
      },
    );
  const inputs = (context.inputs as readonly (Value | undefined)[]).filter((x) => x !== undefined);
  const rows = Array.from({ length: size }, (_, item) =>
    g.graph.apply(
      op,
      inputs.map((x, i) => (batched[i] === true ? itemOf(g, x, item) : x)),
      attrs as AttrRecord,
    ),
  );
  return (rows[0] ?? []).map((_, output) =>
    stack(
      g,
      rows.map((row) => row[output]).filter((x) => x !== undefined),
    ),
  );
}

function itemOf(g: OpBuilder, x: Value, item: number): Value {
  const [, ...shape] = shapeOf(g, x);
  return g.reshape([g.narrow([x], { axis: 0, start: item, length: 1 })], { shape });
}

function stack(g: OpBuilder, items: readonly Value[]): Value {
  const rows = items.map((x) => g.reshape([x], { shape: [1, ...shapeOf(g, x)] }));
  return g.concat(rows, { axis: 0 });
}

export const eachItem = <Attrs, A extends Arity>(op: string): Batching<Attrs, A> => ({
  kind: "rule",
  rule: (context) => runEach(op, context),
});
