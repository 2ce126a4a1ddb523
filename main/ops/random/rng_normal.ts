import { attr } from "../../ir/attributes.ts";
import type { Value } from "../../ir/graph.ts";
import { hostTensor, sizeOf } from "../../ir/hostTensor.ts";
import { tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { decomposed, defineOp } from "../defineOp.ts";
import { scalarLike } from "../families/constants.ts";
import { at, boundShape } from "../families/host.ts";
import { lines } from "../families/oracle.ts";
import { PHILOX_ORACLE } from "../families/philox.ts";
import type { ShapeAttrs } from "../families/random.ts";
import {
  RANDOM_ON_HOST,
  checkSeed,
  noDerivativeOfChance,
  positiveUnitOf,
  positiveUnitParts,
  seedInput,
  shapeSchema,
  unitOf,
  unitParts,
  wordsOf,
} from "../families/random.ts";
import { sample } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";

export interface RngNormalAttrs extends ShapeAttrs {
  readonly mean: number;
  readonly scale: number;
}

/** Box and Muller (1958): a length and a direction for each number, of which one coordinate is taken. */
function parts(g: OpBuilder, [seed]: readonly [Value], { shape, mean, scale }: RngNormalAttrs): Value {
  const words = g.rng_bits([seed], { shape: [2, ...shape] });
  const row = (start: number): Value => g.reshape([g.narrow([words], { axis: 0, start, length: 1 })], { shape });
  const share = positiveUnitParts(g, row(0));
  const turn = unitParts(g, row(1));
  const length = g.sqrt([g.mul([g.log([share]), scalarLike(g, share, -2)])]);
  const made = g.mul([length, g.cos([g.mul([turn, scalarLike(g, turn, 2 * Math.PI)])])]);
  return g.add([g.mul([made, scalarLike(g, made, scale)]), scalarLike(g, made, mean)]);
}

export const rng_normal: Op<"rng_normal", RngNormalAttrs, 1> = defineOp({
  name: "rng_normal",
  summary:
    "Normal numbers mean + scale · √(−2 log u) · cos(2π v) in f32; u and v are the upper 24 bits of the words of rng_bits, all u before all v, u without 0.",
  arity: 1,
  operands: ["seed"],
  outputs: "one",
  attributes: { ...shapeSchema, mean: attr.float(), scale: attr.float() },
  infer: ([seed], { shape }) => {
    checkSeed("rng_normal", seed);
    return tensor("f32", shape);
  },
  reference: ([seed], { mean, scale }, [type]) => {
    const shape = boundShape(type, "rng_normal");
    const count = sizeOf(shape);
    const words = wordsOf(seed.data, 2 * count);
    const made = new Float64Array(count).map((_, i) => {
      const turn = 2 * Math.PI * unitOf(at(words, count + i));
      return mean + scale * Math.sqrt(-2 * Math.log(positiveUnitOf(words, i))) * Math.cos(turn);
    });
    return hostTensor("f32", shape, made);
  },
  oracle: {
    numpy: lines(
      PHILOX_ORACLE,
      "u, v = unit(x0, (2, *s))",
      'a["mean"] + a["scale"] * np.sqrt(-2 * np.log(u + 2.0**-24)) * np.cos(2 * np.pi * v)',
    ),
  },
  gradient: noDerivativeOfChance,
  batching: decomposed(parts),
  traits: ["pure"],
  backends: { cpu: decomposed(parts), coreml: RANDOM_ON_HOST, mlx: decomposed(parts) },
  samples: [
    sample("odd sizes", [seedInput(1, 2, 0, 0)], { shape: [3, 5], mean: 0, scale: 1 }),
    sample(
      "wide, symbolic rows",
      [seedInput(3, -4, 5, 6)],
      { shape: ["T", 7], mean: 5, scale: 3 },
      { bindings: { T: 3 } },
    ),
    sample("a scalar", [seedInput(9, 9, 9, 9)], { shape: [], mean: 0, scale: 1 }),
    sample("none", [seedInput(1, 2, 3, 4)], { shape: [0, 3], mean: 0, scale: 1 }),
  ],
});
