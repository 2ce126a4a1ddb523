import { milNative } from "../../backends/coreml/rules.ts";
import { WorkbenchError, invariant } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import type { Dim } from "../../ir/dim.ts";
import { isFloat } from "../../ir/dtype.ts";
import type { Graph, Value } from "../../ir/graph.ts";
import { hostScalar } from "../../ir/hostTensor.ts";
import { inlineGraph } from "../../ir/nested.ts";
import { expectPlain, expectTypes, regionInputs, regionOutputs } from "../../ir/regions.ts";
import type { TensorType } from "../../ir/type.ts";
import { scalar } from "../../ir/type.ts";
import type { AnyNumber, NodeInfo, Op, VjpContext, VmapContext } from "../defineOp.ts";
import { ANY_NUMBER, defineOp, unsupported } from "../defineOp.ts";
import { alignRank, asBatched, shapeOf } from "../families/batching.ts";
import { scalarLike } from "../families/constants.ts";
import { regionAt } from "../families/control.ts";
import { normal, normals, sample, scalarInput, uniform, weight, withDoubles } from "../families/samples.ts";
import type { OpBuilder, RegionMaker } from "../opBuilder.ts";
import { lines } from "../families/oracle.ts";

export interface WhileAttrs {
  /** How many of the operands change from turn to turn; those after them are read only. */
  readonly carried: number;
  /** The loop ends after so many turns at the latest. */
  readonly maxIterations?: Dim;
}

/** A gradient unrolls the loop. More turns would make a graph larger than any model. */
const MOST_UNROLLED = 256;

/** All turns in one graph; a branch skips `body` once `condition` is false. */
function unrolled(g: OpBuilder, turns: number, { inputs, regions }: NodeInfo<WhileAttrs>, carried: number): Graph {
  const [condition, body] = [regionAt(regions, 0), regionAt(regions, 1)];
  const kept = inputs.slice(0, carried);
  const stay = g.region("stopped", inputs, (_h, ...all) => all.slice(0, carried));
  const stopped = g.region("stopped", inputs, (h) => [h.constant(hostScalar("bool", 0))]);
  return g.region("unrolled", inputs, (h, ...operands) => {
    const rest = operands.slice(carried);
    let now = operands.slice(0, carried);
    let going: Value | undefined;
    for (let turn = 0; turn < turns; turn++) {
      const all = [...now, ...rest];
      going =
        going === undefined
          ? inlineGraph(h.graph, condition, all)[0]
          : h.if([going, ...all], {}, "condition", [condition, stopped])[0];
      invariant(going, "a condition has a result");
      now = [...h.if([going, ...all], {}, `turn ${turn}`, [body, stay])];
    }
    invariant(now.length === kept.length, "a body gives what is carried");
    return now;
  });
}

function turnsOf({ maxIterations }: WhileAttrs): number {
  if (typeof maxIterations === "number" && maxIterations <= MOST_UNROLLED) return maxIterations;
  const got = maxIterations === undefined ? "no limit" : `at most ${maxIterations} turns`;
  throw new WorkbenchError(
    "UNSUPPORTED_OP",
    `[while] a reverse-mode gradient needs every turn in one graph: got ${got}, expected maxIterations up to ${MOST_UNROLLED}`,
    { hint: "Give maxIterations, bind its symbols, use a scan, or forward mode (tangentGraph)." },
  );
}

function gradientRule(context: VjpContext<WhileAttrs, AnyNumber>): readonly (Value | undefined)[] {
  const { g, inputs, cotangents, wanted, node, attrs, gradientOf } = context;
  const wrt = node.inputs.flatMap(({ dtype }, i) => (isFloat(dtype) && wanted[i] === true ? [i] : []));
  const of = cotangents.flatMap((ct, i) => (ct === undefined ? [] : [i]));
  const given = cotangents.filter((ct) => ct !== undefined);
  if (wrt.length === 0 || of.length === 0) return inputs.map(() => undefined);
  const whole = unrolled(g, turnsOf(attrs), node, attrs.carried);
  const gradients = inlineGraph(g.graph, gradientOf(whole, of, wrt), [...inputs, ...given]);
  return inputs.map((_, i) => gradients[wrt.indexOf(i)]);
}

/** The loop runs while any item runs; an item that has stopped keeps its values. */
function batchRule(context: VmapContext<WhileAttrs, AnyNumber>): readonly Value[] {
  const { g, inputs, batched, size, attrs, node, batchOf } = context;
  const operands = inputs.map((x, i) => (i < attrs.carried ? asBatched(g, x, batched[i] === true, size) : x));
  const flags = batched.map((flag, i) => i < attrs.carried || flag);
  const [condition, body] = node.regions.map((region) => batchOf(region, flags));
  const types = operands.map((x) => g.typeOf(x));
  const goingOf = (h: OpBuilder, all: readonly Value[]): Value => {
    const [going] = condition === undefined ? [] : inlineGraph(h.graph, condition, all);
    invariant(going, "a condition has a result");
    return going;
  };
  const regions = [
    g.region("any goes on", types, (h, ...all) => {
      const count = h.reduce([h.cast([goingOf(h, all)], { to: "i32" })], { kind: "max", axes: [0] });
      return [h.compare([count, scalarLike(h, count, 0)], { op: "gt" })];
    }),
    g.region("all items", types, (h, ...all) => {
      const going = goingOf(h, all);
      return inlineGraph(h.graph, regionAt(body ? [body] : [], 0), all).map((next, i) => {
        const before = all[i];
        invariant(before, "a carried value was there before");
        return h.where([alignRank(h, going, true, shapeOf(h, next).length - 1), next, before]);
      });
    }),
  ];
  return g.while(operands, attrs, "batch", regions);
}

/** For samples: the first operand, a whole number, counts the turns. */
const below = (region: RegionMaker, types: readonly TensorType[], limit: number): Graph =>
  region("condition", types, (g, count) => [g.compare([count, g.constant(hostScalar("i32", limit))], { op: "lt" })]);
const next = (g: OpBuilder, count: Value): Value => g.add([count, g.constant(hostScalar("i32", 1))]);
const always = (region: RegionMaker, types: readonly TensorType[], flag: boolean): Graph =>
  region("condition", types, (g) => [g.constant(hostScalar("bool", flag ? 1 : 0))]);

/** JAX's own control flow over functions written by hand, by the title of the sample. */
const ORACLE = lines(
  `
def inner(x):
    return jax.lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, jnp.sin(2 * c[1])), (0, x))[1]
`.trim(),
  `
loops = {
    "counted, an operand that stays": (lambda n, x, y: n < 4, lambda n, x, y: (n + 1, jnp.tanh(x * y + y), y)),
    "until the values say so, without a limit": (lambda x: x.min() < 50, lambda x: (1.5 * x + 0.25,)),
    "no turn at all": (lambda x, y: False, lambda x, y: (x * y, jnp.sin(y))),
    "stopped by its limit, values change places": (lambda x, y: True, lambda x, y: (y, 0.5 * x + y)),
    "symbolic, over the rows of a table": (lambda i, x, t: True, lambda i, x, t: (i + 1, jnp.tanh(x + t[i]), t)),
    "a packed weight that stays": (lambda n, x, w: n < 3, lambda n, x, w: (n + 1, jnp.tanh(x @ w.T), w)),
    "a loop and a choice inside": (lambda n, x: n < 3, lambda n, x: (n + 1, jnp.where(n < 1, inner(x) ** 2, -inner(x)))),
}
`.trim(),
  "go, body = loops[a['title'].removesuffix(', float64')]",
  "most = a.get('maxIterations', 10**6)",
  "end = jax.lax.while_loop(lambda c: jnp.logical_and(c[0] < most, go(*c[1])), lambda c: (c[0] + 1, body(*c[1])), (0, tuple(xs)))",
  "end[1][: a['carried']]",
);

export const whileOp: Op<"while", WhileAttrs, AnyNumber, "many"> = defineOp({
  name: "while",
  summary:
    "Replaces the carried operands by the results of `body` for as long as `condition`, a single truth value, holds, and no more often than it may; both see all operands.",
  arity: ANY_NUMBER,
  operands: [],
  outputs: "many",
  attributes: { carried: attr.int(1), maxIterations: attr.optional(attr.dim()) },
  regionNames: ["condition", "body"],
  infer: (inputs, { carried }, regions) => {
    if (carried > inputs.length)
      throw new WorkbenchError("IR_ATTRIBUTE", `[while] carried: got ${carried}, expected at most ${inputs.length}`);
    const kept = inputs.slice(0, carried);
    expectPlain("while", "a carried operand", kept);
    const [condition, body] = [regionAt(regions, 0), regionAt(regions, 1)];
    expectTypes("while", "inputs of condition", regionInputs(condition), inputs);
    expectTypes("while", "outputs of condition", regionOutputs(condition), [scalar("bool")]);
    expectTypes("while", "inputs of body", regionInputs(body), inputs);
    expectTypes("while", "outputs of body", regionOutputs(body), kept);
    return kept;
  },
  reference: (inputs, { carried, maxIterations = Infinity }, _types, regions = []) => {
    invariant(typeof maxIterations === "number", "[while] the limit holds a symbol");
    const [condition, body] = [regionAt(regions, 0), regionAt(regions, 1)];
    const rest = inputs.slice(carried);
    let now = inputs.slice(0, carried);
    for (let turn = 0; turn < maxIterations && condition([...now, ...rest])[0]?.data[0] !== 0; turn++)
      now = [...body([...now, ...rest])];
    return now;
  },
  oracle: { jax: ORACLE },
  gradient: { kind: "vjp", rule: gradientRule },
  batching: { kind: "rule", rule: batchRule },
  traits: ["pure"],
  backends: {
    cpu: { kind: "native", emit: (e, inputs, attrs, node) => e.loop(inputs, node.regions, attrs) },
    coreml: milNative((e, inputs, attrs, node) => e.loop(inputs, node.regions, attrs)),
    mlx: { kind: "native", emit: (e, inputs, attrs, node) => e.loop(inputs, node.regions, attrs) },
    webgpu: unsupported("how often a loop turns is known on the device only: each turn would wait for the host"),
  },
  samples: withDoubles<WhileAttrs>([
    sample(
      "counted, an operand that stays",
      [scalarInput(0), normal(1, [3]), normal(2, [3])],
      { carried: 2, maxIterations: 6 },
      {
        regions: (region, types) => [
          below(region, types, 4),
          region("body", types, (g, count, x, y) => [next(g, count), g.tanh([g.add([g.mul([x, y]), y])])]),
        ],
      },
    ),
    sample(
      "until the values say so, without a limit",
      [uniform(3, [2, 3], 0.5, 2)],
      { carried: 1 },
      {
        differentiable: false,
        regions: (region, types) => [
          region("condition", types, (g, x) => {
            const least = g.reduce([x], { kind: "min", axes: [0, 1] });
            return [g.compare([least, scalarLike(g, least, 50)], { op: "lt" })];
          }),
          region("body", types, (g, x) => [g.add([g.mul([x, scalarLike(g, x, 1.5)]), scalarLike(g, x, 0.25)])]),
        ],
      },
    ),
    sample(
      "no turn at all",
      normals(4, [5], []),
      { carried: 2, maxIterations: 3 },
      {
        regions: (region, types) => [
          always(region, types, false),
          region("body", types, (g, x, y) => [g.mul([x, y]), g.sin([y])]),
        ],
      },
    ),
    sample(
      "stopped by its limit, values change places",
      normals(6, [4], [4]),
      { carried: 2, maxIterations: 5 },
      {
        regions: (region, types) => [
          always(region, types, true),
          region("body", types, (g, x, y) => [y, g.add([g.mul([x, scalarLike(g, x, 0.5)]), y])]),
        ],
      },
    ),
    sample(
      "symbolic, over the rows of a table",
      [scalarInput(0), normal(8, [4]), normal(9, ["T", 4])],
      { carried: 2, maxIterations: "T" },
      {
        bindings: { T: 3 },
        differentiable: false,
        regions: (region, types) => [
          always(region, types, true),
          region("body", types, (g, row, sum, table) => [
            next(g, row),
            g.tanh([g.add([sum, g.gather([table, row], { axis: 0 })])]),
          ]),
        ],
      },
    ),
    sample(
      "a packed weight that stays",
      [scalarInput(0), normal(11, [2, 64]), weight(12, [64, 64], "q8_0")],
      { carried: 2, maxIterations: 5 },
      {
        regions: (region, types) => [
          below(region, types, 3),
          region("body", types, (g, count, x, w) => [next(g, count), g.tanh([g.linear([x, w])])]),
        ],
      },
    ),
    sample(
      "a loop and a choice inside",
      [scalarInput(0), normal(10, [3])],
      { carried: 2, maxIterations: 3 },
      {
        regions: (region, types) => [
          below(region, types, 3),
          region("body", types, (g, count, x) => {
            const inner = g.while([g.sub([count, count]), x], { carried: 2, maxIterations: 2 }, "inner", [
              below(region, types, 2),
              region("body", types, (h, i, y) => [next(h, i), h.sin([h.add([y, y])])]),
            ]);
            const first = g.compare([count, g.constant(hostScalar("i32", 1))], { op: "lt" });
            const chosen = g.if([first, ...inner], {}, "choice", [
              region("then", types, (h, _i, y) => [h.mul([y, y])]),
              region("else", types, (h, _i, y) => [h.neg([y])]),
            ]);
            return [next(g, count), ...chosen];
          }),
        ],
      },
    ),
  ]),
});
