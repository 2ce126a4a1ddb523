/** Random small graphs with planted duplicates, constants, movements and near patterns. */
import { GraphBuilder } from "../ir/builder.ts";
import type { Graph, Value } from "../ir/graph.ts";
import { hostScalar, hostTensor, sizeOf } from "../ir/hostTensor.ts";
import { tensor } from "../ir/type.ts";
import type { EvaluationInput } from "../ops/evaluate.ts";
import { opTable, typedBuilder } from "../ops/index.ts";
import type { OpBuilder } from "../ops/opBuilder.ts";
import type { Random } from "./random.ts";
import { seededRandom } from "./random.ts";

export interface RandomCase {
  readonly graph: Graph;
  readonly inputs: EvaluationInput;
}

/** All values are [3, 4] or [4, 3] floats, so that any two of a shape can meet. */
const TALL = [3, 4] as const;
const WIDE = [4, 3] as const;

type Step = (g: OpBuilder, pick: () => Value, random: Random, b: GraphBuilder) => Value | readonly Value[];

const weight = (b: GraphBuilder, rows: number, columns: number, name: string): Value =>
  b.param(name, tensor("f32", [rows, columns]), { file: "random", tensor: name });

const columnsOf = (g: OpBuilder, x: Value): number => Number(g.typeOf(x).shape[1]);
const same = (g: OpBuilder, x: Value, pick: () => Value): Value => {
  for (let i = 0; i < 20; i++) {
    const y = pick();
    if (g.typeOf(y).shape[0] === g.typeOf(x).shape[0]) return y;
  }
  return x;
};

const STEPS: readonly Step[] = [
  (g, pick) => g.tanh([pick()]),
  (g, pick) => g.sin([pick()]),
  (g, pick) => {
    const x = pick();
    return g.add([x, same(g, x, pick)]);
  },
  (g, pick) => {
    const x = pick();
    return g.mul([same(g, x, pick), g.tanh([x])]);
  },
  // The same expression twice.
  (g, pick) => {
    const x = pick();
    return [g.sigmoid([x]), g.sigmoid([x])];
  },
  // Nearly the same expression twice: only an attribute differs.
  (g, pick) => {
    const x = pick();
    const shape = g.typeOf(x).shape;
    const spread = (kind: "max" | "min"): Value =>
      g.expand([g.reduce([x], { kind, axes: [1], keepDims: true })], { shape });
    return g.sub([spread("max"), spread("min")]);
  },
  (g, pick) => g.transpose([pick()], { perm: [1, 0] }),
  (g, pick) => {
    const x = pick();
    const [a = 3, c = 4] = g.typeOf(x).shape;
    return g.reshape([g.reshape([x], { shape: [12] })], { shape: [a, c] });
  },
  (g, pick) => g.reshape([pick()], { shape: [...WIDE] }),
  (g, pick, random) => {
    const x = pick();
    const c = g.constant(hostTensor("f32", [1], [Math.fround(random.normal())]));
    return g.add([x, g.mul([c, g.exp([c])])]);
  },
  (g, pick, random, b) => {
    const x = pick();
    const n = columnsOf(g, x);
    return g.linear([x, weight(b, n, n, `w${random.integer(3)}.${n}`)]);
  },
  // Residual add, sometimes read twice.
  (g, pick, random, b) => {
    const x = pick();
    const n = columnsOf(g, x);
    const product = g.linear([x, weight(b, n, n, `w${random.integer(3)}.${n}`)]);
    const sum = g.add(random.integer(2) === 0 ? [product, x] : [x, product]);
    return random.integer(3) === 0 ? [sum, product] : sum;
  },
  // Gated block, sometimes with an activation that is read elsewhere.
  (g, pick, random, b) => {
    const x = pick();
    const n = columnsOf(g, x);
    const gate = g.silu([g.linear([x, weight(b, n, n, `gate.${n}`)])]);
    const y = g.mul([gate, g.linear([random.integer(4) === 0 ? same(g, x, pick) : x, weight(b, n, n, `up.${n}`)])]);
    return random.integer(4) === 0 ? [y, gate] : y;
  },
  // Sum and norm.
  (g, pick, _random, b) => {
    const x = pick();
    const name = `gamma.${columnsOf(g, x)}`;
    const gamma = b.param(name, tensor("f32", [columnsOf(g, x)]), { file: "random", tensor: name });
    return g.rms_norm([g.add([x, same(g, x, pick)]), gamma], { eps: 1e-3 });
  },
  (g, pick) => g.cast([g.cast([pick()], { to: "f64" })], { to: "f32" }),
  (g, pick) => {
    const x = pick();
    const [a = 3, c = 4] = g.typeOf(x).shape;
    return g.expand([g.reduce([x], { kind: "mean", axes: [1], keepDims: true })], { shape: [a, c] });
  },
  (g, pick) => {
    const x = pick();
    return choice(g, x, same(g, x, pick));
  },
  (g, pick, random) => g.reverse([pick()], { axes: random.integer(2) === 0 ? [1] : [0, 1] }),
  // Windows of three by three, with a rim, keep the size.
  (g, pick, random) => {
    const x = pick();
    const kind = random.pick(["max", "mean", "min"] as const);
    return asImage(g, x, [1, 1], (image) =>
      g.pool([image], { kind, kernel: [3, 3], strides: [1, 1], padding: [1, 1] }),
    );
  },
  (g, pick, random, b) => {
    const x = pick();
    const kernel = kernelOf(b, [1, 1, 3, 3], `kernel${random.integer(2)}`);
    const windows = { strides: [1, 1], padding: [1, 1], dilations: [1, 1], groups: 1 };
    // Bounds products: the sine of a large number changes with every rounding.
    return g.tanh([asImage(g, x, [1, 1], (each) => g.conv([each, kernel], windows))]);
  },
  (g, pick, random, b) => {
    const x = pick();
    const rows = Number(g.typeOf(x).shape[0]);
    const kernel = kernelOf(b, [rows, rows, 3], `taps${random.integer(2)}.${rows}`);
    const windows = { strides: [1], padding: [1], dilations: [1], groups: 1, outputPadding: [0] };
    return g.tanh([asImage(g, x, [1], (each) => g.conv_transpose([each, kernel], windows))]);
  },
  // A product per row, and one of all rows with all.
  (g, pick) => {
    const x = pick();
    const y = same(g, x, pick);
    const { shape } = g.typeOf(x);
    const [rows = 3] = shape;
    const each = g.dot_general([x, y], { lhsContracting: [1], rhsContracting: [1], lhsBatch: [0], rhsBatch: [0] });
    const all = g.dot_general([g.tanh([x]), y], {
      lhsContracting: [1],
      rhsContracting: [1],
      lhsBatch: [],
      rhsBatch: [],
    });
    const spread = g.expand([g.reshape([each], { shape: [rows, 1] })], { shape });
    return g.tanh([g.add([spread, g.matmul([all, x])])]);
  },
  (g, pick, random) => {
    const x = pick();
    const turns = random.integer(4);
    const y = same(g, x, pick);
    return turns < 3 ? loop(g, x, y, turns) : rows(g, x, y, x.node % 2 === 0);
  },
];

const kernelOf = (b: GraphBuilder, shape: readonly number[], name: string): Value =>
  b.param(name, tensor("f32", shape), { file: "random", tensor: name });

/** The value with further axes in front while `make` works on it. */
function asImage(g: OpBuilder, x: Value, front: readonly number[], make: (image: Value) => Value): Value {
  const { shape } = g.typeOf(x);
  return g.reshape([make(g.reshape([x], { shape: [...front, ...shape] }))], { shape });
}

/** One of two sub-graphs. One holds a loop and passes an operand through. */
function choice(g: OpBuilder, x: Value, y: Value): readonly Value[] {
  const types = [g.typeOf(x), g.typeOf(y)];
  const least = g.reduce([x], { kind: "min", axes: [0, 1] });
  const predicate = g.compare([least, g.constant(hostScalar("f32", -0.9))], { op: "lt" });
  return g.if([predicate, x, y], {}, "choice", [
    g.region("then", types, (h, a, b) => [h.add([h.tanh([a]), b]), b]),
    g.region("else", types, (h, a, b) => [...loop(h, b, a, 2), h.mul([a, h.sigmoid([b])])]),
  ]);
}

/** So many turns; another value is only read, and keeps its place from turn to turn. */
function loop(g: OpBuilder, x: Value, y: Value, turns: number): readonly Value[] {
  const types = [tensor("i32", []), g.typeOf(x), g.typeOf(y)];
  const count = (h: OpBuilder, value: number): Value => h.constant(hostScalar("i32", value));
  const [, result] = g.while([count(g, 0), x, y], { carried: 2, maxIterations: 5 }, "loop", [
    g.region("condition", types, (h, i) => [h.compare([i, count(h, turns)], { op: "lt" })]),
    g.region("body", types, (h, i, a, b) => [h.add([i, count(h, 1)]), h.tanh([h.sub([h.mul([a, b]), h.sin([b])])])]),
  ]);
  return result === undefined ? [] : [result];
}

/** A turn for each row of both values, which carries a row and a count. */
function rows(g: OpBuilder, x: Value, y: Value, reverse: boolean): readonly Value[] {
  const { dtype, shape } = g.typeOf(x);
  const start = g.expand([g.constant(hostScalar("f32", 0.25))], { shape: shape.slice(1) });
  const scale = g.constant(hostScalar("f32", 0.5));
  const body = g.region(
    "row",
    [
      tensor("f32", shape.slice(1)),
      tensor("f32", []),
      ...[x, y].map((each) => ({ dtype, shape: g.typeOf(each).shape.slice(1) })),
    ],
    (h, c, s, a, b) => {
      if (c === undefined || s === undefined || a === undefined || b === undefined) return [];
      const next = h.tanh([h.add([h.mul([c, s]), h.sub([a, h.sin([b])])])]);
      return [next, h.mul([next, a])];
    },
  );
  return g
    .scan([start, scale, x, y], { carried: 1, scanned: 2, length: shape[0] ?? 1, reverse }, "rows", [body])
    .slice(1);
}

export function randomCase(seed: number): RandomCase {
  const random = seededRandom(seed);
  const b = new GraphBuilder(opTable, `random ${seed}`);
  const g = typedBuilder(b);
  const values: Value[] = [b.input("x", tensor("f32", [...TALL])), b.input("z", tensor("f32", [...WIDE]))];
  const pick = (): Value => random.pick(values.slice(-6));
  const count = 3 + random.integer(14);
  for (let i = 0; i < count; i++) {
    const made = random.pick(STEPS)(g, pick, random, b);
    values.push(...("node" in made ? [made] : made));
  }
  const outputs = [values.at(-1), random.pick(values)].filter((value) => value !== undefined);
  outputs.forEach((value, i) => b.output(`y${i}`, value));
  const filled = (shape: readonly number[], salt: number): EvaluationInput["inputs"][string] => {
    const own = seededRandom(seed + salt);
    return hostTensor(
      "f32",
      shape,
      Float64Array.from({ length: sizeOf(shape) }, () => Math.fround(own.normal())),
    );
  };
  return {
    graph: b.finish(),
    inputs: {
      inputs: { x: filled(TALL, 1), z: filled(WIDE, 2) },
      param: (name, type) => filled(type.shape.map(Number), name.length * 7 + name.charCodeAt(name.length - 1)),
    },
  };
}
