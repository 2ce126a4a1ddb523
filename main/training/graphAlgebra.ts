/** The algebra over the nodes of a graph: what an optimiser does with it runs on every device that runs the graph. */
import { invariant } from "../diagnostics/errors.ts";
import type { DType } from "../ir/dtype.ts";
import { plainDType } from "../ir/dtype.ts";
import type { Value } from "../ir/graph.ts";
import { hostScalar, hostTensor } from "../ir/hostTensor.ts";
import { staticShape } from "../ir/type.ts";
import type { OpBuilder } from "../ops/opBuilder.ts";
import type { Algebra, LoopBody, Part } from "./algebra.ts";
import { item } from "./algebra.ts";

const I32 = { dtype: "i32", shape: [] } as const;

/** All numbers are of this type, which the parameters have, too. */
export function graphAlgebra(g: OpBuilder, dtype: DType): Algebra<Value> {
  const shapeOf = (x: Value): readonly number[] => staticShape(g.typeOf(x), "training");
  const typesOf = (values: readonly Value[]): { readonly dtype: DType; readonly shape: readonly number[] }[] =>
    values.map((value) => ({ dtype: plainDType(g.typeOf(value).dtype, "training"), shape: shapeOf(value) }));
  const scalar = (value: number): Value => g.constant(hostScalar(dtype, value));
  const truth = (mask: Value): Value => g.cast([mask], { to: dtype });
  const numbers = (values: readonly number[]): Value => g.constant(hostTensor("i32", [values.length], values));

  const partIn = (name: string, part: Part, operands: readonly Value[]): ReturnType<OpBuilder["region"]> =>
    g.region(name, typesOf(operands), (h, ...inner) => part(graphAlgebra(h, dtype), inner));

  function loop(turns: number, carried: readonly Value[], fixed: readonly Value[], body: LoopBody): readonly Value[] {
    const start = g.constant(hostScalar("i32", 0));
    const types = [I32, ...typesOf([...carried, ...fixed])];
    const condition = g.region("turns left", types, (h, turn) => {
      invariant(turn !== undefined, "a loop counts its turns");
      return [h.compare([turn, h.constant(hostScalar("i32", turns))], { op: "lt" })];
    });
    const turn = g.region("turn", types, (h, count, ...all) => {
      invariant(count !== undefined, "a loop counts its turns");
      const inner = graphAlgebra(h, dtype);
      const number = h.cast([count], { to: dtype });
      const next = body(inner, number, all.slice(0, carried.length), all.slice(carried.length));
      return [h.add([count, h.constant(hostScalar("i32", 1))]), ...next];
    });
    const attrs = { carried: carried.length + 1, maxIterations: turns };
    return g.while([start, ...carried, ...fixed], attrs, "turns", [condition, turn]).slice(1);
  }

  return {
    scalar,
    identity: (size) => {
      const places = { shape: [size, size] };
      const [rows, columns] = [g.iota([], { ...places, axis: 0 }), g.iota([], { ...places, axis: 1 })];
      return truth(g.compare([rows, columns], { op: "eq" }));
    },
    shapeOf,
    add: (a, b) => g.add([a, b]),
    sub: (a, b) => g.sub([a, b]),
    mul: (a, b) => g.mul([a, b]),
    div: (a, b) => g.div([a, b]),
    max: (a, b) => g.maximum([a, b]),
    min: (a, b) => g.minimum([a, b]),
    greater: (a, b) => truth(g.compare([a, b], { op: "gt" })),
    equal: (a, b) => truth(g.compare([a, b], { op: "eq" })),
    abs: (x) => g.abs([x]),
    sqrt: (x) => g.sqrt([x]),
    sign: (x) => g.sign([x]),
    sum: (x, axes) => {
      const rank = shapeOf(x).length;
      if (rank === 0) return x;
      const all = Array.from({ length: rank }, (_, axis) => axis);
      return g.reduce([x], { kind: "sum", axes: axes ?? all, keepDims: axes !== undefined });
    },
    largest: (x) => g.reduce([x], { kind: "max", axes: shapeOf(x).map((_, axis) => axis) }),
    reshape: (x, shape) => g.reshape([x], { shape }),
    matmul: (a, b) => g.matmul([a, b]),
    transpose: (x) => g.transpose([x], { perm: [1, 0] }),
    narrow: (x, axis, start, length) => g.narrow([x], { axis, start, length }),
    concat: (parts, axis) => (parts.length === 1 ? item(parts, 0) : g.concat(parts, { axis })),
    take: (x, axis, indices) => g.gather([x, numbers(indices)], { axis }),
    count: (size) => g.cast([g.iota([], { shape: [size], axis: 0 })], { to: dtype }),
    choose: (flag, operands, then, otherwise) =>
      g.if([g.compare([flag, scalar(0)], { op: "ne" }), ...operands], {}, "choose", [
        partIn("then", then, operands),
        partIn("otherwise", otherwise, operands),
      ]),
    loop,
  };
}
