import { milNative } from "../../backends/coreml/rules.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import { isFloat } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import { inlineGraph } from "../../ir/nested.ts";
import { expectPlain, expectTypes, regionInputs, regionOutputs } from "../../ir/regions.ts";
import { formatType, scalar } from "../../ir/type.ts";
import type { AnyNumber, NodeInfo, Op } from "../defineOp.ts";
import { ANY_NUMBER, decomposed, defineOp } from "../defineOp.ts";
import { alignRank, shapeOf } from "../families/batching.ts";
import { regionAt } from "../families/control.ts";
import { integers, normal, sample, scalarInput, uniform, weight, withDoubles } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";
import { lines } from "../families/oracle.ts";

/** Computes both branches and picks the results of one: for devices without branches. */
function bothBranches(
  g: OpBuilder,
  [predicate, ...captures]: readonly Value[],
  _attrs: NoAttrs,
  { regions }: NodeInfo<NoAttrs>,
): readonly Value[] {
  const [yes = [], no = []] = regions.map((region) => inlineGraph(g.graph, region, captures));
  return yes.map((a, i) => {
    const b = no[i];
    return predicate === undefined || b === undefined ? a : g.where([predicate, a, b]);
  });
}

/** JAX's own control flow over functions written by hand, by the title of the sample. */
const ORACLE = lines(
  `
branches = {
    "either branch": (lambda x, y: (jnp.tanh(x) * y,), lambda x, y: (x - y,)),
    "two results, the other branch divides by zero": (lambda x, y: (y / (x - x), x), lambda x, y: (x * y, jnp.log(x))),
    "symbolic, an operand handed through": (lambda x, y: (y, x + y), lambda x, y: (x, y)),
    "one inside the other": (lambda p, x: (jax.lax.cond(p, jnp.exp, lambda y: y * jax.nn.sigmoid(y), x),), lambda p, x: (x,)),
    "whole numbers": (lambda x: (-x,), lambda x: (x + x,)),
    "a packed weight": (lambda x, w: (x @ w.T,), lambda x, w: (-(x @ w.T),)),
}
`.trim(),
  "yes, no = branches[a['title'].removesuffix(', float64')]",
  "jax.lax.cond(x0, yes, no, *xs[1:])",
);

export const ifOp: Op<"if", NoAttrs, AnyNumber, "many"> = defineOp({
  name: "if",
  summary:
    "Runs one of two sub-graphs on the operands after the first: `then` where the first, a single truth value, is true, `else` where it is not. Both give the same types.",
  arity: ANY_NUMBER,
  operands: [],
  outputs: "many",
  attributes: {},
  regionNames: ["then", "else"],
  infer: ([predicate, ...captures], _attrs, regions) => {
    if (predicate?.dtype !== "bool" || predicate.shape.length > 0)
      throw new WorkbenchError(
        "IR_TYPE",
        `[if] predicate: got ${predicate ? formatType(predicate) : "nothing"}, expected ${formatType(scalar("bool"))}`,
      );
    const [yes, no] = [regionAt(regions, 0), regionAt(regions, 1)];
    expectTypes("if", "inputs of then", regionInputs(yes), captures);
    expectTypes("if", "inputs of else", regionInputs(no), captures);
    const results = regionOutputs(yes);
    if (results.length === 0)
      throw new WorkbenchError("IR_TYPE", "[if] outputs of then: got nothing, expected at least one");
    expectTypes("if", "outputs of else", regionOutputs(no), results);
    expectPlain("if", "an output of then", results);
    return results;
  },
  reference: ([predicate, ...captures], _attrs, _types, regions = []) =>
    regionAt(regions, predicate?.data[0] === 0 ? 1 : 0)(captures),
  oracle: { jax: ORACLE },
  gradient: {
    kind: "vjp",
    rule: ({ g, inputs, cotangents, wanted, node, gradientOf }) => {
      const [, ...captured] = node.inputs;
      const wrt = captured.flatMap(({ dtype }, i) => (isFloat(dtype) && wanted[i + 1] === true ? [i] : []));
      const of = cotangents.flatMap((ct, i) => (ct === undefined ? [] : [i]));
      const given = cotangents.filter((ct) => ct !== undefined);
      if (wrt.length === 0 || of.length === 0) return inputs.map(() => undefined);
      const regions = node.regions.map((region) => gradientOf(region, of, wrt));
      const gradients = g.if([...inputs, ...given], {}, "gradient", regions);
      return inputs.map((_, i) => gradients[wrt.indexOf(i - 1)]);
    },
  },
  batching: {
    kind: "rule",
    rule: ({ g, inputs, batched: [each, ...flags], node, batchOf }) => {
      const regions = node.regions.map((region) => batchOf(region, flags));
      if (each !== true) return g.if(inputs, {}, "batch", regions);
      const [predicate, ...captures] = inputs;
      const [yes = [], no = []] = regions.map((region) => inlineGraph(g.graph, region, captures));
      return yes.map((a, i) => {
        const b = no[i];
        if (predicate === undefined || b === undefined) return a;
        return g.where([alignRank(g, predicate, true, shapeOf(g, a).length - 1), a, b]);
      });
    },
  },
  traits: ["pure"],
  backends: {
    cpu: { kind: "native", emit: (e, inputs, _attrs, node) => e.branch(inputs, node.regions, node.outputs) },
    coreml: milNative((e, inputs, _attrs, node) => e.branch(inputs, node.regions)),
    mlx: { kind: "native", emit: (e, inputs, _attrs, node) => e.branch(inputs, node.regions, node.outputs) },
    webgpu: decomposed(bothBranches),
  },
  samples: withDoubles<NoAttrs>([
    sample(
      "either branch",
      [integers(1, [], 0, 1, "bool"), normal(2, [3, 5]), normal(3, [5])],
      {},
      {
        regions: (region, [, ...types]) => [
          region("then", types, (g, x, y) => [g.mul([g.tanh([x]), y])]),
          region("else", types, (g, x, y) => [g.sub([x, y])]),
        ],
      },
    ),
    sample(
      "two results, the other branch divides by zero",
      [scalarInput(0, "bool"), uniform(4, [7], 0.5, 2), normal(5, [7])],
      {},
      {
        regions: (region, [, ...types]) => [
          region("then", types, (g, x, y) => [g.div([y, g.sub([x, x])]), x]),
          region("else", types, (g, x, y) => [g.mul([x, y]), g.log([x])]),
        ],
      },
    ),
    sample(
      "symbolic, an operand handed through",
      [scalarInput(1, "bool"), normal(6, ["T", 3]), normal(7, ["T", 3])],
      {},
      {
        bindings: { T: 4 },
        regions: (region, [, ...types]) => [
          region("then", types, (g, x, y) => [y, g.add([x, y])]),
          region("else", types, (_g, x, y) => [x, y]),
        ],
      },
    ),
    sample(
      "one inside the other",
      [scalarInput(1, "bool"), scalarInput(0, "bool"), normal(8, [2, 3])],
      {},
      {
        regions: (region, [, ...types]) => [
          region("then", types, (g, inner, x) =>
            g.if([inner, x], {}, "inner", [
              region("then", types.slice(1), (h, y) => [h.exp([y])]),
              region("else", types.slice(1), (h, y) => [h.mul([y, h.sigmoid([y])])]),
            ]),
          ),
          region("else", types, (_g, _inner, x) => [x]),
        ],
      },
    ),
    sample(
      "a packed weight",
      [scalarInput(0, "bool"), normal(10, [3, 64]), weight(11, [5, 64], "q8_0")],
      {},
      {
        regions: (region, [, ...types]) => [
          region("then", types, (g, x, w) => [g.linear([x, w])]),
          region("else", types, (g, x, w) => [g.neg([g.linear([x, w])])]),
        ],
      },
    ),
    sample(
      "whole numbers",
      [scalarInput(0, "bool"), integers(9, [4], -9, 9)],
      {},
      {
        regions: (region, [, ...types]) => [
          region("then", types, (g, x) => [g.neg([x])]),
          region("else", types, (g, x) => [g.add([x, x])]),
        ],
      },
    ),
  ]),
});
