import { hostTensor } from "../../ir/hostTensor.ts";
import { normalizeAxis } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { axisBatching } from "../families/axes.ts";
import { at } from "../families/host.ts";
import type { OrderAttrs } from "../families/order.ts";
import { forEachInOrder, orderBackends, orderSamples, orderSchema } from "../families/order.ts";
import { inferUnary } from "../families/unary.ts";

export const sort: Op<"sort", OrderAttrs, 1> = defineOp({
  name: "sort",
  summary: "The elements along one axis in order, smallest or largest first; NaN is larger than every number.",
  arity: 1,
  operands: ["x"],
  outputs: "one",
  attributes: orderSchema,
  infer: ([x], { axis }) => {
    normalizeAxis(axis, x.shape.length, "sort");
    return inferUnary("sort", "numbers")([x]);
  },
  reference: ([x], attrs) => {
    const out = new Float64Array(x.data.length);
    forEachInOrder(x, attrs, (_position, from, to) => (out[to] = at(x.data, from)));
    return hostTensor(x.dtype, x.shape, out);
  },
  oracle: {
    numpy: 'y = np.sort(x0, a["axis"], stable=True)\nnp.flip(y, a["axis"]) if a["descending"] else y',
  },
  // Each cotangent goes back to where its element came from: the order of the order.
  gradient: {
    kind: "vjp",
    rule: ({ g, ct, inputs: [x], attrs }) => {
      const { axis } = attrs;
      const back = g.argsort([g.argsort([x], attrs)], { axis, descending: false });
      return [g.gather_elements([ct, back], { axis })];
    },
  },
  batching: axisBatching("sort"),
  traits: ["pure"],
  backends: orderBackends("sort"),
  samples: orderSamples,
});
