/**
 * Given:  %g = linear(%x, %wGate)
 *         %u = linear(%x, %wUp)      (both read once, no biases)
 *         %y = swiglu(%g, %u)
 * Result: %y = gated_linear(%x, %wGate, %wUp)
 */
import { sameValue } from "../../ir/graph.ts";
import { fusion } from "./fusion.ts";

export const fuseGatedLinear = fusion(
  "fuse gated linear",
  "After swiglu: the operand is prepared once for both weights, and their products never leave the registers.",
  (pattern) =>
    (node, { map, replace }) => {
      if (node.op !== "swiglu") return undefined;
      const [gate, up] = [pattern.operand(node, 0, "linear"), pattern.operand(node, 1, "linear")];
      if (!gate || !up) return pattern.miss(node, "the halves do not come straight from two products");
      const [x, wGate, gateBias] = gate.inputs;
      const [x2, wUp, upBias] = up.inputs;
      if (!x || !x2 || !wGate || !wUp) return undefined;
      if (!sameValue(x, x2)) return pattern.miss(node, "the two products have different operands");
      if (gateBias || upBias) return pattern.miss(node, "a product adds a bias");
      if (!pattern.readOnce(gate) || !pattern.readOnce(up))
        return pattern.miss(node, "a product is read elsewhere too");
      return replace([gate, up]).apply("gated_linear", [map(x), map(wGate), map(wUp)]);
    },
);
