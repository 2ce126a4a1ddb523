/** The activations of feed-forward networks. `gelu` is the tanh approximation, which is what files mean by it. */
import type { Value } from "../ir/graph.ts";
import type { OpBuilder } from "../ops/opBuilder.ts";

export type Activation = "silu" | "gelu" | "gelu_exact" | "relu" | "relu2";

export function activate(g: OpBuilder, x: Value, kind: Activation): Value {
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
