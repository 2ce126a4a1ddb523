import type { NoAttrs } from "../../ir/attributes.ts";
import { dtypeAmong } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { decomposed, defineOp, nondifferentiable } from "../defineOp.ts";
import { at } from "../families/host.ts";
import { lines } from "../families/oracle.ts";
import { PHILOX_ORACLE } from "../families/philox.ts";
import { RANDOM_ON_HOST, checkSeed, seedInput, unitParts, unitsOf } from "../families/random.ts";
import { sample, uniform, values, withDoubles } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";

/** Compared in the wider of both types. */
function parts(g: OpBuilder, [chance, seed]: readonly [Value, Value]): Value {
  const { dtype, shape } = g.typeOf(chance);
  const unit = unitParts(g, g.rng_bits([seed], { shape }));
  if (dtype === "f64") return g.compare([g.cast([unit], { to: "f64" }), chance], { op: "lt" });
  return g.compare([unit, dtype === "f32" ? chance : g.cast([chance], { to: "f32" })], { op: "lt" });
}

export const bernoulli: Op<"bernoulli", NoAttrs, 2> = defineOp({
  name: "bernoulli",
  summary:
    "True with the given chance: u < chance, where u are the upper 24 bits of the words of rng_bits; dropout is where(bernoulli(keep, seed), x / keep, 0).",
  arity: 2,
  operands: ["chance", "seed"],
  outputs: "one",
  attributes: {},
  infer: ([chance, seed]) => {
    dtypeAmong("floats", chance.dtype, "bernoulli");
    checkSeed("bernoulli", seed);
    return tensor("bool", chance.shape);
  },
  reference: ([chance, seed]) => {
    const units = unitsOf(seed.data, chance.data.length);
    return hostTensor(
      "bool",
      chance.shape,
      units.map((unit, i) => Number(unit < at(chance.data, i))),
    );
  },
  oracle: { numpy: lines(PHILOX_ORACLE, "unit(x1, x0.shape) < x0") },
  gradient: nondifferentiable("the result is true or false: its derivative is zero wherever it exists"),
  batching: decomposed(parts),
  traits: ["pure"],
  backends: { cpu: decomposed(parts), coreml: RANDOM_ON_HOST, mlx: decomposed(parts) },
  samples: withDoubles([
    sample("odd sizes", [uniform(1, [3, 5], 0, 1), seedInput(1, 2, 0, 0)], {}),
    sample("symbolic rows", [uniform(2, ["T", 7], 0.3, 0.6), seedInput(3, -4, 5, 6)], {}, { bindings: { T: 3 } }),
    sample(
      "never and always, NaN and infinities",
      [values([0, -0, -1, 1, 2, NaN, Infinity, -Infinity]), seedInput(5, 6, 7, 8)],
      {},
    ),
    sample("none", [values([], [0, 3]), seedInput(1, 2, 3, 4)], {}),
  ]),
});
