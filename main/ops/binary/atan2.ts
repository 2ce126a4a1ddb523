import { REALS, cpuKernel } from "../../backends/cpu/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import type { Value } from "../../ir/graph.ts";
import { decomposed } from "../defineOp.ts";
import type { Binary } from "../families/binary.ts";
import { binaryOp, edgePairs, floatPairs } from "../families/binary.ts";
import { scalarLike } from "../families/constants.ts";
import type { OpBuilder } from "../opBuilder.ts";

/** The angle of the first octant, by the smaller over the larger, turned to where the two signs say. */
function parts(g: OpBuilder, [y, x]: readonly [Value, Value]): Value {
  const c = (value: number): Value => scalarLike(g, x, value);
  const zero = c(0);
  // One over a zero tells its sign.
  const negative = (v: Value): Value =>
    g.compare([g.where([g.compare([v, zero], { op: "eq" }), g.reciprocal([v]), v]), zero], { op: "lt" });
  const [height, width] = [g.abs([y]), g.abs([x])];
  const [large, small] = [g.maximum([height, width]), g.minimum([height, width])];
  // Two zeros, two infinities: no quotient.
  const alike = g.where([g.compare([large, zero], { op: "eq" }), zero, c(1)]);
  const slope = g.where([g.compare([height, width], { op: "eq" }), alike, g.div([small, large])]);
  const octant = g.atan([slope]);
  const steep = g.compare([height, width], { op: "gt" });
  const quarter = g.where([steep, g.sub([c(Math.PI / 2), octant]), octant]);
  const half = g.where([negative(x), g.sub([c(Math.PI), quarter]), quarter]);
  return g.where([negative(y), g.neg([half]), half]);
}

export const atan2: Binary<"atan2"> = binaryOp("atan2", {
  summary: "Angle of the point (x, y) from the x axis, from -π to π; zeros count with their sign.",
  operands: ["y", "x"],
  takes: "floats",
  reference: (y, x) => Math.atan2(y, x),
  oracle: { numpy: "np.arctan2(x0, x1)" },
  // d atan2(y, x) = (x dy - y dx) / (x² + y²)
  gradient: ({ g, ct, inputs: [y, x] }) => {
    const share = g.div([ct, g.add([g.square([x]), g.square([y])])]);
    return [g.mul([share, x]), g.neg([g.mul([share, y])])];
  },
  traits: ["sensitive"],
  backends: {
    cpu: cpuKernel("atan2", { takes: REALS }),
    coreml: decomposed(parts),
    mlx: mlxCall("arctan2"),
  },
  samples: [...floatPairs, ...edgePairs],
});
