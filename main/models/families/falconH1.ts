/** Falcon-H1: attention and a Mamba 2 side by side in each layer, over one norm; their results are added up. */
import type { Value } from "../../ir/graph.ts";
import type { DenseHyper } from "../dense.ts";
import { DENSE, mixedSizes, readDense } from "../dense.ts";
import type { LayerPlace } from "../denseBlocks.ts";
import { denseGraph } from "../denseBlocks.ts";
import type { SampleKeys } from "../family.ts";
import { defineFamily } from "../family.ts";
import type { Mamba2 } from "../mamba.ts";
import { mamba2, mamba2Facts, mamba2Held, readMamba2 } from "../mamba.ts";
import { sampleOf, samplesOf } from "../samples.ts";

interface FalconH1Hyper extends DenseHyper {
  readonly mixer: Mamba2;
}

/** Its converter writes the name of this norm without an ending. */
function feedForwardNorm({ d, block }: LayerPlace, x: Value): Value {
  const bare = `${block}ffn_norm`;
  const { width, normEpsilon: eps } = d.sizes;
  if (!d.has(bare)) return d.norm(x, bare, width, "norm");
  return d.g.rms_norm([x, d.vector(bare, width)], { eps }, "norm");
}

const KEYS: SampleKeys = {
  "attention.layer_norm_rms_epsilon": 1e-5,
  "ssm.conv_kernel": 4,
  "ssm.inner_size": 96,
  "ssm.state_size": 32,
  "ssm.time_step_rank": 6,
  "ssm.group_count": 1,
};
const STYLE = { keys: KEYS, always: /ffn_norm$|ssm_conv1d\.bias/u, optional: /ssm_norm/u };

export const falconH1 = defineFamily<FalconH1Hyper>({
  ...DENSE,
  name: "falconH1",
  architectures: ["falcon-h1"],
  read: (keys) => ({
    ...readDense(keys, { rope: { pairing: "halves" } }),
    mixer: readMamba2(keys),
  }),
  sizes: (h) => mixedSizes(h, ...mamba2Held(h.mixer), h.layers),
  sentence: ({ layers }) => `A decoder of ${layers} layers, each with attention and a state space side by side.`,
  facts: (h) => [...DENSE.facts(h), ...mamba2Facts(h.mixer)],
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) => {
      const { place } = layer;
      const mixed = layer.residual("attention", x, (input) => {
        const state = place.d.scoped("ssm", () => mamba2(place, h.mixer, input));
        return place.d.g.add([layer.attend(layer.turned(layer.heads(input))), state], {}, "both");
      });
      return layer.part("ffn", () => layer.add(mixed, layer.gatedFeedForward(feedForwardNorm(place, mixed))));
    }),
  samples: [
    ...samplesOf("falcon-h1", STYLE),
    sampleOf("falcon-h1", "groups, a wide state", {
      ...STYLE,
      full: true,
      keys: { ...KEYS, "ssm.group_count": 3, "ssm.state_size": 48, "ssm.inner_size": 192, "ssm.conv_kernel": 3 },
    }),
  ],
});
