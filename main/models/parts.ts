/** A value cut into parts along its last axis, as many as there are sizes. */
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { Value } from "../ir/graph.ts";
import type { OpBuilder } from "../ops/opBuilder.ts";

type Two<T> = readonly [T, T];
type Three<T> = readonly [T, T, T];

const parts = (g: OpBuilder, x: Value, sizes: readonly number[], label: string): readonly Value[] =>
  g.split([x], { axis: g.typeOf(x).shape.length - 1, sizes }, label);

const missing = (): WorkbenchError => new WorkbenchError("BUG_INVARIANT", "[split] expected as many parts as sizes");

export function two(g: OpBuilder, x: Value, sizes: Two<number>, label: string): Two<Value> {
  const [a, b] = parts(g, x, sizes, label);
  if (a === undefined || b === undefined) throw missing();
  return [a, b];
}

export function three(g: OpBuilder, x: Value, sizes: Three<number>, label: string): Three<Value> {
  const [a, b, c] = parts(g, x, sizes, label);
  if (a === undefined || b === undefined || c === undefined) throw missing();
  return [a, b, c];
}
