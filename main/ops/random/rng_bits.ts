import { mlxCall } from "../../backends/mlx/rules.ts";
import { cpuKernel } from "../../backends/cpu/rules.ts";
import { hostTensor, sizeOf } from "../../ir/hostTensor.ts";
import { tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { eachItem } from "../families/batching.ts";
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
  wordsOf,
} from "../families/random.ts";
import { sample } from "../families/samples.ts";

export const rng_bits: Op<"rng_bits", ShapeAttrs, 1> = defineOp({
  name: "rng_bits",
  summary:
    "Random words of 32 bits by Philox4x32-10, the same on every device: number i is word i mod 4 of counter (⌊i / 4⌋, 0, seed[2], seed[3]) under the key (seed[0], seed[1]).",
  arity: 1,
  operands: ["seed"],
  outputs: "one",
  attributes: shapeSchema,
  infer: ([seed], { shape }) => {
    checkSeed("rng_bits", seed);
    return tensor("u32", shape);
  },
  reference: ([seed], _attrs, [type]) => {
    const shape = boundShape(type, "rng_bits");
    return hostTensor("u32", shape, wordsOf(seed.data, sizeOf(shape)));
  },
  // XLA's own Philox says the same of the seed 0; it scrambles other keys first.
  oracle: {
    jax: lines(
      PHILOX_ORACLE,
      `
def theirs(size):
    make = lambda key: jax.lax.rng_bit_generator(key, (size,), algorithm=jax.lax.RandomAlgorithm.RNG_PHILOX)[1]
    return np.asarray(jax.jit(make)(jnp.zeros(4, jnp.uint32)))

def ours(seed, shape):
    made = words(seed, shape)
    if not np.any(seed):
        assert np.array_equal(theirs(4 * (-(-made.size // 4)))[: made.size].reshape(shape), made)
    return made
`.trim(),
      "ours(x0, s)",
    ),
  },
  gradient: noDerivativeOfChance,
  batching: eachItem("rng_bits"),
  traits: ["pure"],
  backends: {
    cpu: cpuKernel("philox", { takes: ["i32"] }),
    coreml: RANDOM_ON_HOST,
    mlx: mlxCall("philox", { takes: "whole" }),
  },
  samples: [
    sample("no seed", [seedInput(0, 0, 0, 0)], { shape: [11] }),
    sample("odd sizes, a key", [seedInput(7, -1, 0, 0)], { shape: [3, 5] }),
    sample("symbolic rows, layer and step", [seedInput(-5, 12, 3, 1000)], { shape: ["T", 7] }, { bindings: { T: 3 } }),
    sample("a scalar", [seedInput(-2147483648, 2147483647, -1, 1)], { shape: [] }),
    sample("none", [seedInput(1, 2, 3, 4)], { shape: [0, 3] }),
  ],
});
