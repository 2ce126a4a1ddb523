import { attr } from "../../ir/attributes.ts";
import { hostTensor, sizeOf } from "../../ir/hostTensor.ts";
import type { Decomposition, Op } from "../defineOp.ts";
import { decomposed, defineOp, everywhere } from "../defineOp.ts";
import { inferNorm } from "../families/norm.ts";
import { at } from "../families/host.ts";
import { normal, normals, sample, withDoubles } from "../families/samples.ts";

export interface LayerNorm2dAttrs {
  readonly eps: number;
}

const parts: Decomposition<LayerNorm2dAttrs, 3> = (g, [x, gamma, beta], { eps }) => {
  const channelsLast = g.transpose([x], { perm: [0, 2, 3, 1] });
  return g.transpose([g.layer_norm([channelsLast, gamma, beta], { eps })], { perm: [0, 3, 1, 2] });
};

export const layer_norm2d: Op<"layer_norm2d", LayerNorm2dAttrs, 3> = defineOp({
  name: "layer_norm2d",
  summary:
    "(x - mean) / √(variance + eps) · gamma + beta over the channels at each place of an image [batch, channels, height, width].",
  arity: 3,
  operands: ["image", "gamma", "beta"],
  outputs: "one",
  attributes: { eps: attr.float() },
  infer: (inputs) => inferNorm("layer_norm2d", inputs, 1, 4),
  reference: ([x, gamma, beta], { eps }) => {
    const [channels, plane] = [at(x.shape, 1), sizeOf(x.shape.slice(2))];
    const out = new Float64Array(x.data.length);
    for (let image = 0; image < at(x.shape, 0); image++)
      for (let place = 0; place < plane; place++) {
        const line = Array.from({ length: channels }, (_, c) => (image * channels + c) * plane + place);
        const mean = line.reduce((sum, i) => sum + at(x.data, i), 0) / channels;
        const variance = line.reduce((sum, i) => sum + (at(x.data, i) - mean) ** 2, 0) / channels;
        line.forEach((i, c) => {
          out[i] = ((at(x.data, i) - mean) / Math.sqrt(variance + eps)) * at(gamma.data, c) + at(beta.data, c);
        });
      }
    return hostTensor(x.dtype, x.shape, out);
  },
  oracle: {
    jax: "np.asarray(jax.jit(lambda x: jax.nn.standardize(x, axis=1, epsilon=a['eps']))(x0)) * x1[:, None, None] + x2[:, None, None]",
  },
  gradient: decomposed(parts),
  batching: decomposed(parts),
  traits: ["pure", "sensitive"],
  backends: everywhere(parts),
  samples: withDoubles([
    sample("odd sizes", normals(1, [2, 5, 3, 2], [5], [5]), { eps: 1e-5 }),
    sample(
      "eps matters, symbolic height",
      [normal(4, [1, 3, "T", 2], 0.01), normal(5, [3]), normal(6, [3])],
      { eps: 1e-2 },
      { bindings: { T: 3 } },
    ),
    sample("one place", [normal(7, [1, 7, 1, 1], 1, 5), normal(8, [7]), normal(9, [7])], { eps: 1e-6 }),
  ]),
});
