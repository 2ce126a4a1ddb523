import type { NoAttrs } from "../../ir/attributes.ts";
import type { Graph, Value } from "../../ir/graph.ts";
import { inlineGraph } from "../../ir/nested.ts";
import { isPacked } from "../../ir/dtype.ts";
import type { TensorType } from "../../ir/type.ts";
import type { AnyNumber, JvpContext, NodeInfo, Op, VjpContext, VmapContext } from "../defineOp.ts";
import { ANY_NUMBER, defineOp } from "../defineOp.ts";
import { asBatched } from "../families/batching.ts";
import { regionAt } from "../families/control.ts";
import {
  CUSTOM_PARTS,
  boundToItems,
  customTypes,
  moves,
  orZeros,
  partOf,
  ruleOf,
  spread,
  transposed,
} from "../families/customFn.ts";
import { lines } from "../families/oracle.ts";
import { byParts } from "../families/parts.ts";
import { integers, normal, normals, sample, uniform, weight, withDoubles } from "../families/samples.ts";
import type { OpBuilder, RegionMaker } from "../opBuilder.ts";

const forwardParts = (
  g: OpBuilder,
  inputs: readonly Value[],
  _attrs: NoAttrs,
  { regions }: NodeInfo<NoAttrs>,
): readonly Value[] => inlineGraph(g.graph, partOf(regions, "forward"), inputs);

const placesOf = (types: readonly TensorType[]): readonly number[] =>
  types.flatMap((type, i) => (moves(type) ? [i] : []));

/** The rule; else the transpose of the forward rule; else the derivative of what is inside. */
function gradientRule(context: VjpContext<NoAttrs, AnyNumber>): readonly (Value | undefined)[] {
  const { g, inputs, outputs, cotangents, node, wanted, gradientOf } = context;
  const [vjp, jvp] = [ruleOf(node.regions, "vjp"), ruleOf(node.regions, "jvp")];
  const seeds = orZeros(g, outputs, cotangents);
  if (vjp !== undefined) return spread(node.inputs, inlineGraph(g.graph, vjp, [...inputs, ...outputs, ...seeds]));
  if (jvp !== undefined) return transposed(context, jvp);
  const asked = placesOf(node.inputs).filter((i) => wanted[i] === true);
  const inside = gradientOf(partOf(node.regions, "forward"), placesOf(node.outputs), asked);
  const made = inlineGraph(g.graph, inside, [...inputs, ...seeds]);
  return inputs.map((_, i) => made[asked.indexOf(i)]);
}

function tangentRule(context: JvpContext<NoAttrs, AnyNumber>): readonly (Value | undefined)[] | undefined {
  const { g, inputs, outputs, tangents, node, tangentOf } = context;
  const jvp = ruleOf(node.regions, "jvp");
  const given = orZeros(g, inputs, tangents);
  if (jvp !== undefined) return spread(node.outputs, inlineGraph(g.graph, jvp, [...inputs, ...outputs, ...given]));
  if (ruleOf(node.regions, "vjp") !== undefined) return undefined;
  const inside = tangentOf(partOf(node.regions, "forward"), placesOf(node.inputs));
  return spread(node.outputs, inlineGraph(g.graph, inside, [...inputs, ...given]).slice(outputs.length));
}

/**
 * The same function of all items: its forward part is the batching rule or the batch of what it was, its other rules are the
 * batches of what they were. An operand that all items share gets the sum of their cotangents.
 */
function batchRule(context: VmapContext<NoAttrs, AnyNumber>): readonly Value[] {
  const { g, inputs, batched, size, node, batchOf, boundOf } = context;
  const rule = ruleOf(node.regions, "vmap");
  // A rule gets every operand with the axis in front; so do complex ones, of which no sum is taken.
  const flags = node.inputs.map(
    ({ dtype }, i) => batched[i] === true || (!isPacked(dtype) && (rule !== undefined || dtype === "c64")),
  );
  const operands = inputs.map((x, i) => (flags[i] === true ? asBatched(g, x, batched[i] === true, size) : x));
  const forward =
    rule === undefined ? batchOf(partOf(node.regions, "forward"), flags) : boundOf(rule, boundToItems(rule, size));
  const types = operands.map((x) => g.typeOf(x));
  const results = node.outputs.map(({ dtype, shape }): TensorType => ({ dtype, shape: [size, ...shape] }));
  const places = placesOf(node.inputs);
  const all = node.outputs.map(() => true);
  const [vjp, jvp] = [ruleOf(node.regions, "vjp"), ruleOf(node.regions, "jvp")];
  const backward = (own: Graph): Graph =>
    g.region("vjp", [...types, ...results, ...results.filter(moves)], (h, ...values) => {
      const wide = batchOf(own, [...flags, ...all, ...all.slice(0, placesOf(results).length)]);
      const made = inlineGraph(h.graph, wide, values);
      return made.map((x, i) => (flags[places[i] ?? 0] === true ? x : h.reduce([x], { kind: "sum", axes: [0] })));
    });
  const forwards = (own: Graph): Graph => batchOf(own, [...flags, ...all, ...places.map((i) => flags[i] === true)]);
  const none = (name: string): Graph => g.region(name, [], () => []);
  const regions = [
    forward,
    vjp === undefined ? none("vjp") : backward(vjp),
    jvp === undefined ? none("jvp") : forwards(jvp),
    none("vmap"),
  ];
  return g.custom_fn(operands, {}, "batch", regions);
}

/** JAX's own custom functions, with rules written by hand, by the title of the sample. */
const ORACLE = lines(
  `
def with_vjp(f, back):
    made = jax.custom_vjp(f)
    made.defvjp(lambda *xs: (f(*xs), xs), lambda xs, ct: tuple(back(xs, f(*xs), ct)))
    return made
`.trim(),
  `
def with_jvp(f, push):
    made = jax.custom_jvp(f)
    made.defjvp(lambda xs, ts: (f(*xs), push(xs, f(*xs), ts)))
    return made
`.trim(),
  `
functions = {
    "backwards by a rule": lambda x, y: (with_vjp(lambda x, y: jnp.exp(x) * y, lambda xs, out, ct: (ct * out, ct * jnp.exp(xs[0])))(x, y),),
    "both ways by rules, whole numbers beside floats": lambda x, n: with_jvp(lambda x, n: (jnp.sin(x), n + n), lambda xs, out, ts: (jnp.cos(xs[0]) * ts[0], np.zeros(n.shape, jax.dtypes.float0)))(x, n),
    "symbolic, forwards by a rule": lambda x: (with_jvp(jnp.tanh, lambda xs, out, ts: (1 - out * out) * ts[0])(x),),
    "no rule": lambda x, y: (jnp.tanh(x) * y, x - y),
    "a rule that is no derivative": lambda x: (with_vjp(jnp.round, lambda xs, out, ct: (ct,))(x),),
    "batches by a rule": lambda x: (jnp.sum(x * x),),
    "a packed weight": lambda x, w: (x @ w.T,),
}
`.trim(),
  "functions[a['title'].removesuffix(', float64')](*xs)",
);

interface Rules {
  readonly vjp?: Graph;
  readonly jvp?: Graph;
  readonly vmap?: Graph;
}
/** The sub-graphs of a sample, in their order. */
const parts = (region: RegionMaker, forward: Graph, rules: Rules = {}): readonly Graph[] =>
  CUSTOM_PARTS.map((name) => (name === "forward" ? forward : (rules[name] ?? region(name, [], () => []))));

export const custom_fn: Op<"custom_fn", NoAttrs, AnyNumber, "many"> = defineOp({
  name: "custom_fn",
  summary:
    "A function with rules of its own: gives what its sub-graph `forward` gives, is differentiated by `vjp` and `jvp` and batched by `vmap`. A sub-graph without inputs and outputs stands for a rule that was not given.",
  arity: ANY_NUMBER,
  operands: [],
  outputs: "many",
  attributes: {},
  regionNames: CUSTOM_PARTS,
  infer: (inputs, _attrs, regions) => customTypes(inputs, regions),
  reference: (inputs, _attrs, _types, regions = []) => regionAt(regions, 0)(inputs),
  oracle: { jax: ORACLE },
  ...byParts<NoAttrs, AnyNumber>(forwardParts),
  gradient: { kind: "vjp", rule: gradientRule },
  tangent: tangentRule,
  batching: { kind: "rule", rule: batchRule },
  traits: ["pure"],
  samples: withDoubles<NoAttrs>([
    sample(
      "backwards by a rule",
      normals(1, [3, 5], [5]),
      {},
      {
        regions: (region, types) => {
          const [x, y] = types;
          const forward = region("forward", types, (g, a, b) => [g.mul([g.exp([a]), b])]);
          if (x === undefined || y === undefined) return [forward];
          const vjp = region("vjp", [...types, x, x], (g, a, _b, out, ct) => [
            g.mul([ct, out]),
            g.reduce([g.mul([ct, g.exp([a])])], { kind: "sum", axes: [0] }),
          ]);
          return parts(region, forward, { vjp });
        },
      },
    ),
    sample(
      "both ways by rules, whole numbers beside floats",
      [normal(3, [4]), integers(4, [4], -9, 9)],
      {},
      {
        regions: (region, types) => {
          const [x] = types;
          const forward = region("forward", types, (g, a, n) => [g.sin([a]), g.add([n, n])]);
          const rule = [...types, ...types, ...types.slice(0, x === undefined ? 0 : 1)];
          const turned = region("rule", rule, (g, a, _n, _y, _m, moved) => [g.mul([g.cos([a]), moved])]);
          return parts(region, forward, { vjp: turned, jvp: turned });
        },
      },
    ),
    sample(
      "symbolic, forwards by a rule",
      [normal(5, ["T", 3])],
      {},
      {
        bindings: { T: 3 },
        regions: (region, types) => {
          const forward = region("forward", types, (g, x) => [g.tanh([x])]);
          const jvp = region("jvp", [...types, ...types, ...types], (g, _x, y, moved) => [
            g.sub([moved, g.mul([g.mul([y, y]), moved])]),
          ]);
          return parts(region, forward, { jvp });
        },
      },
    ),
    sample(
      "no rule",
      normals(6, [3], [3]),
      {},
      {
        regions: (region, types) =>
          parts(
            region,
            region("forward", types, (g, x, y) => [g.mul([g.tanh([x]), y]), g.sub([x, y])]),
          ),
      },
    ),
    sample(
      "a rule that is no derivative",
      [uniform(8, [5], -3, 3)],
      {},
      {
        differentiable: false,
        regions: (region, types) =>
          parts(
            region,
            region("forward", types, (g, x) => [g.round([x])]),
            { vjp: region("vjp", [...types, ...types, ...types], (_g, _x, _y, ct) => [ct]) },
          ),
      },
    ),
    sample(
      "batches by a rule",
      [normal(9, [3])],
      {},
      {
        regions: (region, types) =>
          parts(
            region,
            region("forward", types, (g, x) => [g.reduce([g.mul([x, x])], { kind: "sum", axes: [0] })]),
            {
              vmap: region(
                "vmap",
                types.map(({ dtype, shape }) => ({ dtype, shape: ["items", ...shape] })),
                (g, x) => [g.reduce([g.square([x])], { kind: "sum", axes: [1] })],
              ),
            },
          ),
      },
    ),
    sample(
      "a packed weight",
      [normal(10, [3, 64]), weight(11, [5, 64], "q8_0")],
      {},
      {
        regions: (region, types) =>
          parts(
            region,
            region("forward", types, (g, x, w) => [g.linear([x, w])]),
          ),
      },
    ),
  ]),
});
