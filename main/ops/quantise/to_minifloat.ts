import { dtypeAmong } from "../../ir/dtype.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp, nondifferentiable } from "../defineOp.ts";
import type { MinifloatAttrs } from "../families/minifloat.ts";
import { encodeParts, encoded, minifloatSchema } from "../families/minifloat.ts";
import { lines } from "../families/oracle.ts";
import { byParts } from "../families/parts.ts";
import { normal, sample, values, weight, withDoubles } from "../families/samples.ts";

export const to_minifloat: Op<"to_minifloat", MinifloatAttrs, 1> = defineOp({
  name: "to_minifloat",
  summary:
    "Codes of floats of eight bits (e4m3, e5m2) or four (e2m1, one in a byte): the nearest, ties to even; what is too large becomes the largest, NaN its code, or 0 in e2m1.",
  arity: 1,
  operands: ["x"],
  outputs: "one",
  attributes: minifloatSchema,
  infer: ([x]) => {
    dtypeAmong("floats", x.dtype, "to_minifloat");
    return tensor("u8", x.shape);
  },
  reference: ([x], { format }) =>
    hostTensor(
      "u8",
      x.shape,
      x.data.map((value) => encoded(value, format)),
    ),
  oracle: {
    jax: lines(
      "kind, most = {'e4m3': (jnp.float8_e4m3fn, 448), 'e5m2': (jnp.float8_e5m2, 57344), 'e2m1': (jnp.float4_e2m1fn, 6)}[a['format']]",
      "np.clip(np.asarray(x0), -most, most).astype(np.dtype(kind)).view(np.uint8)",
    ),
  },
  ...byParts((g, [x], { format }) => encodeParts(g, x, format)),
  gradient: nondifferentiable(
    "the result is codes: training takes fake_quantize, whose gradient goes straight through",
  ),
  traits: ["pure"],
  samples: withDoubles([
    sample("odd sizes", [normal(1, [3, 5], 9)], { format: "e4m3" }),
    sample("small numbers, symbolic", [normal(2, [3, "T"], 1e-4)], { format: "e5m2" }, { bindings: { T: 5 } }),
    sample("four bits, all ties", [values([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5, 7, -5, -0.25])], { format: "e2m1" }),
    sample(
      "powers of two and their neighbours",
      [values([1, 0.9999, 1.0001, 2, 1.9999, 0.015625, 0.0156, 0.001953125, 0.0009765625, 0.000977])],
      { format: "e4m3" },
    ),
    sample("edges, NaN and infinities", [values([448, 449, 463, 464, 1e9, -1e9, Infinity, -Infinity, NaN, -0])], {
      format: "e4m3",
    }),
    sample("edges of the wide one", [values([57344, 61439, 61440, 1e9, -Infinity, NaN, 7.6e-6, 7.7e-6])], {
      format: "e5m2",
    }),
    sample("halves", [weight(3, [5, 3], "f16")], { format: "e4m3" }),
    sample("nothing", [values([], [0, 3])], { format: "e4m3" }),
  ]),
});
