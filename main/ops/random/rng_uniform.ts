import { attr } from "../../ir/attributes.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Value } from "../../ir/graph.ts";
import { hostTensor, sizeOf } from "../../ir/hostTensor.ts";
import { tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { decomposed, defineOp } from "../defineOp.ts";
import { scalarLike } from "../families/constants.ts";
import { boundShape } from "../families/host.ts";
import { lines } from "../families/oracle.ts";
import { PHILOX_ORACLE } from "../families/philox.ts";
import type { ShapeAttrs } from "../families/random.ts";
import {
  RANDOM_ON_HOST,
  checkSeed,
  noDerivativeOfChance,
  seedInput,
  shapeSchema,
  unitParts,
  unitsOf,
} from "../families/random.ts";
import { sample } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";

export interface RngUniformAttrs extends ShapeAttrs {
  readonly low: number;
  readonly high: number;
}

function parts(g: OpBuilder, [seed]: readonly [Value], { shape, low, high }: RngUniformAttrs): Value {
  const unit = unitParts(g, g.rng_bits([seed], { shape }));
  return g.add([g.mul([unit, scalarLike(g, unit, high - low)]), scalarLike(g, unit, low)]);
}

export const rng_uniform: Op<"rng_uniform", RngUniformAttrs, 1> = defineOp({
  name: "rng_uniform",
  summary:
    "Numbers between low and high, each as likely, in f32: low + (high − low) · u, where u are the upper 24 bits of the words of rng_bits.",
  arity: 1,
  operands: ["seed"],
  outputs: "one",
  attributes: { ...shapeSchema, low: attr.float(), high: attr.float() },
  infer: ([seed], { shape, low, high }) => {
    checkSeed("rng_uniform", seed);
    if (!(low <= high && Number.isFinite(high - low)))
      throw new WorkbenchError(
        "IR_ATTRIBUTE",
        `[rng_uniform] low and high: got ${low} and ${high}, expected numbers in order`,
      );
    return tensor("f32", shape);
  },
  reference: ([seed], { low, high }, [type]) => {
    const shape = boundShape(type, "rng_uniform");
    const made = unitsOf(seed.data, sizeOf(shape)).map((unit) => low + (high - low) * unit);
    return hostTensor("f32", shape, made);
  },
  oracle: { numpy: lines(PHILOX_ORACLE, 'a["low"] + (a["high"] - a["low"]) * unit(x0, s)') },
  gradient: noDerivativeOfChance,
  batching: decomposed(parts),
  traits: ["pure"],
  backends: { cpu: decomposed(parts), coreml: RANDOM_ON_HOST, mlx: decomposed(parts) },
  samples: [
    sample("odd sizes, 0 to 1", [seedInput(1, 2, 0, 0)], { shape: [3, 5], low: 0, high: 1 }),
    sample(
      "about 0, symbolic rows",
      [seedInput(3, -4, 5, 6)],
      { shape: ["T", 7], low: -2, high: 2 },
      { bindings: { T: 3 } },
    ),
    sample("one number alone", [seedInput(9, 9, 9, 9)], { shape: [2], low: 1.5, high: 1.5 }),
    sample("none", [seedInput(1, 2, 3, 4)], { shape: [0, 3], low: 0, high: 1 }),
  ],
});
