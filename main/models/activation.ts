/** The activations of feed-forward networks. `gelu` is the tanh approximation, which is what files mean by it. */
import type { Value } from "../ir/graph.ts";
import { hostScalar } from "../ir/hostTensor.ts";
import type { OpBuilder } from "../ops/opBuilder.ts";

export type Activation = "silu" | "gelu" | "gelu_exact" | "relu" | "relu2";

/** αp · x² + β · x above 0, and below αn · (exp(min(x, ε)) - 1 - x) + β · x. */
export interface Xielu {
  readonly alphaP: number;
  readonly alphaN: number;
  readonly beta: number;
  readonly epsilon: number;
}

function xielu(g: OpBuilder, x: Value, { alphaP, alphaN, beta, epsilon }: Xielu): Value {
  const number = (value: number): Value => g.constant(hostScalar("f32", Math.fround(value)));
  const squares = g.mul([g.mul([x, x]), number(alphaP)]);
  const grown = g.sub([g.exp([g.minimum([x, number(epsilon)])]), number(1)]);
  const below = g.mul([g.sub([grown, x]), number(alphaN)]);
  const bent = g.where([g.compare([x, number(0)], { op: "gt" }), squares, below]);
  return g.add([bent, g.mul([x, number(beta)])], {}, "activation");
}

export function activate(g: OpBuilder, x: Value, kind: Activation | Xielu): Value {
  if (typeof kind === "object") return xielu(g, x, kind);
  switch (kind) {
    case "silu":
      return g.silu([x], {}, "activation");
    case "gelu":
      return g.gelu([x], { approx: true }, "activation");
    case "gelu_exact":
      return g.gelu([x], { approx: false }, "activation");
    case "relu":
      return g.relu([x], {}, "activation");
    case "relu2": {
      const positive = g.relu([x]);
      return g.mul([positive, positive], {}, "activation");
    }
  }
}
