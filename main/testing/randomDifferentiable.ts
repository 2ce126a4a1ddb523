/** Random small graphs that are smooth everywhere, in f64: derivatives of any order can be held to differences. */
import { GraphBuilder } from "../ir/builder.ts";
import type { Graph, Value } from "../ir/graph.ts";
import type { HostTensor } from "../ir/hostTensor.ts";
import { hostScalar, hostTensor } from "../ir/hostTensor.ts";
import { tensor } from "../ir/type.ts";
import { opTable, typedBuilder } from "../ops/index.ts";
import type { OpBuilder } from "../ops/opBuilder.ts";
import type { Random } from "./random.ts";
import { seededRandom } from "./random.ts";

/** Every value is a matrix of this shape. */
export const SHAPE = [2, 3] as const;
const WHOLE = { shape: [...SHAPE] };
const number = (g: OpBuilder, value: number): Value => g.constant(hostScalar("f64", value));
const above = (g: OpBuilder, x: Value): Value => g.add([number(g, 1), g.mul([x, x])]);
const turned = (g: OpBuilder, x: Value): Value => g.transpose([x], { perm: [1, 0] });
const whole = (g: OpBuilder, x: Value): Value => g.expand([x], WHOLE);

type Step = (g: OpBuilder, pick: () => Value, random: Random) => Value;

export const STEPS: Readonly<Record<string, Step>> = {
  tanh: (g, pick) => g.tanh([pick()]),
  sin: (g, pick) => g.sin([pick()]),
  cos: (g, pick) => g.cos([pick()]),
  exp: (g, pick) => g.exp([g.tanh([pick()])]),
  log: (g, pick) => g.log([above(g, pick())]),
  sqrt: (g, pick) => g.sqrt([above(g, pick())]),
  rsqrt: (g, pick) => g.rsqrt([above(g, pick())]),
  sigmoid: (g, pick) => g.sigmoid([pick()]),
  softplus: (g, pick) => g.softplus([pick()]),
  silu: (g, pick) => g.silu([pick()]),
  gelu: (g, pick, random) => g.gelu([pick()], { approx: random.integer(2) === 0 }),
  erf: (g, pick) => g.erf([pick()]),
  add: (g, pick) => g.add([pick(), pick()]),
  sub: (g, pick) => g.sub([pick(), g.neg([pick()])]),
  mul: (g, pick) => g.tanh([g.mul([pick(), pick()])]),
  div: (g, pick) => g.div([pick(), above(g, pick())]),
  pow: (g, pick) => g.pow([above(g, g.tanh([pick()])), g.tanh([pick()])]),
  softmax: (g, pick, random) => g.softmax([pick()], { axis: random.integer(2) }),
  cumsum: (g, pick, random) =>
    g.tanh([
      g.cumsum([pick()], {
        axis: random.integer(2),
        exclusive: random.integer(2) === 0,
        reverse: random.integer(2) === 0,
      }),
    ]),
  reverse: (g, pick, random) => g.reverse([pick()], { axes: [random.integer(2)] }),
  reshape: (g, pick) => g.reshape([turned(g, pick())], WHOLE),
  reduce: (g, pick, random) => {
    const kind = random.pick(["sum", "mean", "prod"] as const);
    return g.tanh([whole(g, g.reduce([pick()], { kind, axes: [random.integer(2)], keepDims: true }))]);
  },
  product: (g, pick) => g.tanh([g.matmul([g.matmul([pick(), turned(g, pick())]), pick()])]),
  dot: (g, pick) => {
    const sides = { lhsContracting: [1], rhsContracting: [1], lhsBatch: [0], rhsBatch: [0] };
    return g.tanh([whole(g, g.reshape([g.dot_general([pick(), pick()], sides)], { shape: [2, 1] }))]);
  },
  linear: (g, pick) => g.tanh([g.linear([pick(), g.matmul([turned(g, pick()), pick()])])]),
  norms: (g, pick, random) => {
    const x = pick();
    const gamma = g.reshape([g.narrow([pick()], { axis: 0, start: 0, length: 1 })], { shape: [3] });
    return random.integer(2) === 0
      ? g.rms_norm([x, gamma], { eps: 0.1 })
      : g.layer_norm([x, gamma, g.sin([gamma])], { eps: 0.1 });
  },
  parts: (g, pick) => {
    const [x, y] = [pick(), pick()];
    const side = { axis: 1, start: 1, length: 2 };
    return g.concat([g.narrow([x], side), g.narrow([y], { ...side, start: 0, length: 1 })], { axis: 1 });
  },
  gather: (g, pick, random) => {
    const rows = hostTensor("i32", [2], [random.integer(2), random.integer(2)]);
    return g.gather([pick(), g.constant(rows)], { axis: 0 });
  },
  where: (g, pick, random) => {
    const mask = hostTensor(
      "bool",
      SHAPE,
      Array.from({ length: 6 }, () => random.integer(2)),
    );
    return g.where([g.constant(mask), pick(), pick()]);
  },
  window: (g, pick) => {
    const image = g.reshape([pick()], { shape: [1, 1, ...SHAPE] });
    const kernel = g.reshape([pick()], { shape: [1, 1, 2, 3] });
    const wide = g.conv([image, kernel], { strides: [1, 1], padding: [1, 1], dilations: [1, 1], groups: 1 });
    return g.tanh([g.reshape([g.narrow([wide], { axis: 2, start: 0, length: 2 })], WHOLE)]);
  },
  branch: (g, pick, random) => {
    const [x, y] = [pick(), pick()];
    const types = [g.typeOf(x), g.typeOf(y)];
    const flag = g.constant(hostScalar("bool", random.integer(2)));
    const [made] = g.if([flag, x, y], {}, "choice", [
      g.region("then", types, (h, a, b) => [h.sin([h.add([a, b])])]),
      g.region("else", types, (h, a, b) => [h.mul([a, h.sigmoid([b])])]),
    ]);
    return made ?? x;
  },
  loop: (g, pick, random) => {
    const [x, y] = [pick(), pick()];
    const types = [tensor("i32", []), g.typeOf(x), g.typeOf(y)];
    const count = (h: OpBuilder, value: number): Value => h.constant(hostScalar("i32", value));
    const turns = random.integer(3);
    const [, made] = g.while([count(g, 0), x, y], { carried: 2, maxIterations: 2 }, "loop", [
      g.region("condition", types, (h, i) => [h.compare([i, count(h, turns)], { op: "lt" })]),
      g.region("body", types, (h, i, a, b) => [h.add([i, count(h, 1)]), h.tanh([h.add([h.mul([a, b]), a])])]),
    ]);
    return made ?? x;
  },
  scan: (g, pick, random) => {
    const [x, y] = [pick(), pick()];
    const [length = 1, ...row] = g.typeOf(x).shape;
    const start = g.expand([number(g, 0.5)], { shape: row });
    const types = [tensor("f64", row), tensor("f64", row), tensor("f64", row)];
    const body = g.region("row", types, (h, c, a, b) => {
      if (c === undefined || a === undefined || b === undefined) return [];
      const next = h.tanh([h.add([h.mul([c, a]), b])]);
      return [next, h.mul([next, a])];
    });
    const attrs = { carried: 1, scanned: 2, length, reverse: random.integer(2) === 0 };
    return (
      g.scan([start, x, y], random.integer(2) === 0 ? attrs : { ...attrs, checkpoints: 1 }, "rows", [body])[1] ?? x
    );
  },
};

export interface DifferentiableCase {
  /** One output, the number `y`, of `x` and `z`. */
  readonly graph: Graph;
  readonly inputs: Readonly<Record<"x" | "z", HostTensor>>;
  readonly steps: readonly string[];
}

export function differentiableCase(seed: number): DifferentiableCase {
  const random = seededRandom(seed);
  const builder = new GraphBuilder(opTable, `differentiable ${seed}`);
  const g = typedBuilder(builder);
  const values = (["x", "z"] as const).map((name) => builder.input(name, tensor("f64", [...SHAPE])));
  const names = Object.keys(STEPS);
  // In turn, so that all are among a few dozen seeds, and each in other company.
  const steps = Array.from({ length: 2 + random.integer(4) }, (_, i) =>
    i === 0 ? (names[seed % names.length] ?? "tanh") : random.pick(names),
  );
  for (const step of steps) {
    const made = STEPS[step]?.(g, () => random.pick(values.slice(-4)), random);
    if (made !== undefined) values.push(made);
  }
  const weights = g.constant(numbersOf(random));
  const last = values.slice(-2).map((value) => g.mul([value, weights]));
  const sum = last.reduce((a, b) => g.sin([g.add([a, b])]));
  builder.output("y", g.reduce([sum], { kind: "sum", axes: [0, 1] }));
  return { graph: builder.finish(), inputs: { x: numbersOf(random), z: numbersOf(random) }, steps };
}

export const numbersOf = (random: Random): HostTensor =>
  hostTensor(
    "f64",
    SHAPE,
    Array.from({ length: 6 }, () => random.normal()),
  );
