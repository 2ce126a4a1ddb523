import type { Value } from "../../ir/graph.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { scalarLike } from "../families/constants.ts";
import { at } from "../families/host.ts";
import type { LinesAttrs } from "../families/lines.ts";
import { inferLinePairs, linesSchema, mapLines } from "../families/lines.ts";
import { byParts } from "../families/parts.ts";
import { normal, sample, uniform, values, withDoubles } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";

/**
 * Where there is no share, numbers stand whose logarithms and differences are finite: a gradient of 0 times one of infinity is
 * none. The term there is a constant, so that its gradient is 0, as JAX has it.
 */
function parts(g: OpBuilder, [shares, logs]: readonly [Value, Value], attrs: LinesAttrs): Value {
  const zero = scalarLike(g, shares, 0);
  const one = scalarLike(g, shares, 1);
  const isNone = g.compare([shares, zero], { op: "le" });
  const some = g.where([isNone, one, shares]);
  const ratio = g.sub([g.log([some]), g.where([isNone, zero, logs])]);
  const isNegative = g.compare([shares, zero], { op: "lt" });
  const none = g.where([isNegative, scalarLike(g, shares, Infinity), zero]);
  const terms = g.where([isNone, none, g.mul([some, ratio])]);
  return g.reduce([terms], { ...attrs, kind: "sum" });
}

/** As SciPy's rel_entr of t and exp q. */
const termOf = (t: number, q: number): number => (t === 0 ? 0 : t < 0 ? Infinity : t * (Math.log(t) - q));

export const kl: Op<"kl", LinesAttrs, 2> = defineOp({
  name: "kl",
  summary:
    "The Kullback–Leibler divergence Σ t · (log t − q) along some axes: t are shares, q logarithms of shares (log_softmax gives them); where t is 0 the term and its gradient are 0, below 0 the term is infinite.",
  arity: 2,
  operands: ["shares", "logarithms"],
  outputs: "one",
  attributes: linesSchema,
  infer: (pair, attrs) => inferLinePairs("kl", pair, attrs),
  reference: ([shares, logs], { axes }, [type]) => {
    const terms = shares.data.map((t, i) => termOf(t, at(logs.data, i)));
    return mapLines(hostTensor(shares.dtype, shares.shape, terms), axes, type, (line) =>
      line.reduce((sum, value) => sum + value, 0),
    );
  },
  oracle: {
    numpy: 'np.sum(scipy.special.rel_entr(x0, np.exp(x1)), axis=tuple(a["axes"]), keepdims=a.get("keepDims", False))',
  },
  ...byParts(parts),
  traits: ["pure", "reduction", "sensitive"],
  samples: withDoubles([
    sample("last axis, odd sizes", [uniform(1, [3, 5], 0.05, 0.4), normal(2, [3, 5], 1, -2)], { axes: [-1] }),
    sample(
      "all axes, kept, symbolic rows",
      [uniform(3, ["T", 7], 0.05, 0.3), normal(4, ["T", 7], 1, -2)],
      { axes: [0, 1], keepDims: true },
      { bindings: { T: 3 } },
    ),
    sample(
      "no share, and no chance of a share",
      [values([0, 1, 0.5, 0.5, 0, 1], [3, 2]), values([-Infinity, 0, -Infinity, -1, -2, -1], [3, 2])],
      { axes: [1] },
      // Differences across 0 are infinite: kl.test.ts has the gradient, and devices.native.test.ts.
      { differentiable: false },
    ),
    sample(
      "a share below 0",
      [values([-0.25, 0.5, 0.5, 1], [2, 2]), values([-1, -2, -0.5, -Infinity], [2, 2])],
      { axes: [1] },
      { differentiable: false },
    ),
    sample("no lines", [values([], [0, 3]), values([], [0, 3])], { axes: [1] }),
  ]),
});
