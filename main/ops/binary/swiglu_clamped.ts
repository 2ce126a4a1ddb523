import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import type { Value } from "../../ir/graph.ts";
import { broadcastShapes, tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { decomposed, defineOp, everywhere } from "../defineOp.ts";
import { commonDType, edgePairs, floatPairs, referenceBinary } from "../families/binary.ts";
import { scalarLike } from "../families/constants.ts";
import { logistic, tuned } from "../families/unary.ts";
import type { OpBuilder } from "../opBuilder.ts";

export interface SwigluClampedAttrs {
  /** The gate is held below it, the other operand on both sides. */
  readonly limit: number;
  /** Multiplies the gate inside its sigmoid. */
  readonly alpha: number;
  /** Added to the other operand. */
  readonly shift: number;
}

function parts(g: OpBuilder, [gate, up]: readonly [Value, Value], { limit, alpha, shift }: SwigluClampedAttrs): Value {
  const c = (value: number): Value => scalarLike(g, gate, value);
  const held = g.clamp([gate], { high: limit });
  const open = g.mul([held, g.sigmoid([g.mul([held, c(alpha)])])]);
  return g.mul([open, g.add([g.clamp([up], { low: -limit, high: limit }), c(shift)])]);
}

export const swiglu_clamped: Op<"swiglu_clamped", SwigluClampedAttrs, 2> = defineOp({
  name: "swiglu_clamped",
  summary: "g · sigmoid(alpha · g) · (u + shift), with g the gate up to the limit and u the other operand within ± it.",
  arity: 2,
  operands: ["gate", "up"],
  outputs: "one",
  attributes: { limit: attr.float(), alpha: attr.float(), shift: attr.float() },
  infer: ([a, b], { limit }) => {
    if (!(limit >= 0))
      throw new WorkbenchError("IR_ATTRIBUTE", `[swiglu_clamped] limit: got ${limit}, expected a number from 0`);
    return tensor(commonDType("swiglu_clamped", "floats", a, b), broadcastShapes(a.shape, b.shape, "swiglu_clamped"));
  },
  reference: (inputs, { limit, alpha, shift }) =>
    referenceBinary((gate, up) => {
      const g = Math.min(gate, limit);
      return g * logistic(alpha * g) * (Math.min(Math.max(up, -limit), limit) + shift);
    })(inputs),
  oracle: {
    numpy:
      'g = np.minimum(x0, a["limit"])\ng * scipy.special.expit(a["alpha"] * g) * (np.clip(x1, -a["limit"], a["limit"]) + a["shift"])',
  },
  gradient: decomposed(parts),
  batching: { kind: "elementwise" },
  traits: ["pure", "elementwise"],
  backends: everywhere(parts),
  samples: tuned<SwigluClampedAttrs>([...floatPairs, ...edgePairs], { limit: 1.2, alpha: 1.702, shift: 1 }),
});
