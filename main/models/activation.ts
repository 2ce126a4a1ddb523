/** The activations of feed-forward networks. `gelu` is the tanh approximation, which is what files mean by it. */
import type { Value } from "../ir/graph.ts";
import type { OpBuilder } from "../ops/opBuilder.ts";
import type { XieluAttrs } from "../ops/unary/xielu.ts";

export type Activation = "silu" | "gelu" | "gelu_exact" | "relu" | "relu2";

export function activate(g: OpBuilder, x: Value, kind: Activation | XieluAttrs): Value {
  if (typeof kind === "object") return g.xielu([x], kind, "activation");
  switch (kind) {
    case "silu":
      return g.silu([x], {}, "activation");
    case "gelu":
      return g.gelu([x], { approx: true }, "activation");
    case "gelu_exact":
      return g.gelu([x], { approx: false }, "activation");
    case "relu":
      return g.relu([x], {}, "activation");
    case "relu2":
      return g.relu_squared([x], {}, "activation");
  }
}
