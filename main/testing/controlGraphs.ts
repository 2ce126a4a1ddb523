/** Graphs with nested branches and loops, over states, and without an end. */
import { GraphBuilder } from "../ir/builder.ts";
import type { Graph } from "../ir/graph.ts";
import { hostScalar } from "../ir/hostTensor.ts";
import { scalar, tensor } from "../ir/type.ts";
import { opTable, typedBuilder } from "../ops/index.ts";

export const count = (value: number) => hostScalar("i32", value);
/** An outer loop, an inner one and a branch, over rows large enough for all threads. */
export function nest(rows: number, width: number): Graph {
  const b = new GraphBuilder(opTable, "nest");
  const g = typedBuilder(b);
  const [x, w] = [b.input("x", tensor("f32", [rows, width])), b.input("w", tensor("f32", [width, width]))];
  // Made before the loop and last read in it: its memory must not be reused in between.
  const scale = g.sigmoid([x]);
  const types = [scalar("i32"), g.typeOf(x), g.typeOf(scale), g.typeOf(w)];
  const [, y] = g.while([g.constant(count(0)), x, scale, w], { carried: 2 }, "outer", [
    g.region("condition", types, (h, i) => [h.compare([i, h.constant(count(5))], { op: "lt" })]),
    g.region("body", types, (h, i, a, s, m) => {
      const [, inner] = h.while([h.sub([i, i]), a, s, m], { carried: 2, maxIterations: 3 }, "inner", [
        h.region("condition", types, (k, j) => [k.compare([j, k.constant(count(9))], { op: "lt" })]),
        h.region("body", types, (k, j, c, t, n) => {
          const product = k.tanh([k.linear([c, n])]);
          return [k.add([j, k.constant(count(1))]), k.add([k.mul([product, t]), c])];
        }),
      ]);
      const even = h.compare(
        [h.sub([i, h.mul([h.div([i, h.constant(count(2))]), h.constant(count(2))])]), h.constant(count(0))],
        { op: "eq" },
      );
      const branch = [g.typeOf(x), g.typeOf(scale)];
      const [chosen] = h.if([even, inner!, s], {}, "choice", [
        h.region("then", branch, (k, c, t) => [k.softmax([k.add([c, t])], { axis: 1 })]),
        h.region("else", branch, (k, c, t) => [k.sub([k.mul([c, c]), t])]),
      ]);
      return [h.add([i, h.constant(count(1))]), chosen!];
    }),
  ]);
  b.output("y", y!);
  b.output("scale", scale);
  return b.finish();
}

/** A cache that grows in one branch only, and another that a loop fills row by row. */
export function caches(): Graph {
  const b = new GraphBuilder(opTable, "caches");
  const g = typedBuilder(b);
  const cache = tensor("f32", [1, 6, 4]);
  const [flag, fresh, past] = [
    b.input("flag", scalar("bool")),
    b.input("fresh", tensor("f32", [1, 1, 4])),
    b.input("past", scalar("i32")),
  ];
  const [one, two] = [b.state("one", cache), b.state("two", cache)];
  const handed = [cache, g.typeOf(fresh), g.typeOf(past)];
  const [grown] = g.if([flag, one, fresh, past], {}, "grow", [
    g.region("then", handed, (h, c, f, p) => [h.kv_append([c, f, p])]),
    g.region("else", handed, (_h, c) => [c]),
  ]);
  const [, filled] = g.while([past, two, fresh], { carried: 2, maxIterations: 2 }, "fill", [
    g.region("condition", [scalar("i32"), cache, g.typeOf(fresh)], (h, i) => [
      h.compare([i, h.constant(count(6))], { op: "lt" }),
    ]),
    g.region("body", [scalar("i32"), cache, g.typeOf(fresh)], (h, i, c, f) => [
      h.add([i, h.constant(count(1))]),
      h.kv_append([c, h.add([f, h.sin([f])]), i]),
    ]),
  ]);
  b.setState("one", grown!);
  b.setState("two", filled!);
  // The old value of a state is an output as well.
  b.output("before", one);
  b.output("sum", g.add([grown!, filled!]));
  return b.finish();
}

/** x ← -x for ever. */
export const endless = (): Graph => {
  const b = new GraphBuilder(opTable, "endless");
  const g = typedBuilder(b);
  const x = b.input("x", tensor("f32", [4]));
  const [y] = g.while([x], { carried: 1 }, "endless", [
    g.region("condition", [g.typeOf(x)], (h) => [h.constant(hostScalar("bool", 1))]),
    g.region("body", [g.typeOf(x)], (h, a) => [h.neg([a])]),
  ]);
  b.output("y", y!);
  return b.finish();
};
