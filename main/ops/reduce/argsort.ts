import { hostTensor } from "../../ir/hostTensor.ts";
import { normalizeAxis, tensor } from "../../ir/type.ts";
import { dtypeAmong } from "../../ir/dtype.ts";
import type { Op } from "../defineOp.ts";
import { defineOp, nondifferentiable } from "../defineOp.ts";
import { axisBatching } from "../families/axes.ts";
import type { OrderAttrs } from "../families/order.ts";
import { forEachInOrder, orderBackends, orderSamples, orderSchema } from "../families/order.ts";

export const argsort: Op<"argsort", OrderAttrs, 1> = defineOp({
  name: "argsort",
  summary: "The positions along one axis in the order of their elements; the first of equals first.",
  arity: 1,
  operands: ["x"],
  outputs: "one",
  attributes: orderSchema,
  infer: ([x], { axis }) => {
    normalizeAxis(axis, x.shape.length, "argsort");
    dtypeAmong("numbers", x.dtype, "argsort");
    return tensor("i32", x.shape);
  },
  reference: ([x], attrs) => {
    const out = new Float64Array(x.data.length);
    forEachInOrder(x, attrs, (position, _from, to) => (out[to] = position));
    return hostTensor("i32", x.shape, out);
  },
  oracle: {
    numpy:
      'n = a["axis"]\nf = lambda x: np.argsort(x, n, kind="stable")\n(x0.shape[n] - 1 - np.flip(f(np.flip(x0, n)), n)) if a["descending"] else f(x0)',
  },
  gradient: nondifferentiable("the result is positions: their derivative is zero wherever it exists"),
  batching: axisBatching("argsort"),
  traits: ["pure"],
  backends: orderBackends("argsort"),
  samples: orderSamples,
});
