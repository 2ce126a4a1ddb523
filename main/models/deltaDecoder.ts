/**
 * What Qwen3-Next and Qwen3.5 have in common: some layers have a gated delta net, the others
 * attention whose results are gated. The norm before the feed-forward is called
 * post_attention_norm.
 */
import type { DenseHyper } from "./dense.ts";
import { DENSE, mixedSentence, mixedSizes, readDense } from "./dense.ts";
import { denseGraph } from "./denseBlocks.ts";
import type { ExpertRules } from "./experts.ts";
import type { FamilySpec, SampleKeys } from "./family.ts";
import type { DeltaNet } from "./gatedDeltaNet.ts";
import { deltaNetFact, deltaNetStates, gatedDeltaNet, readAttending, readDeltaNet } from "./gatedDeltaNet.ts";
import type { HyperReader } from "./hyperReader.ts";

export interface DeltaHyper extends DenseHyper {
  readonly net: DeltaNet;
}

export const readDelta = (keys: HyperReader, sharing: DeltaNet["sharing"], experts: ExpertRules): DeltaHyper => ({
  ...readDense(keys, { rope: { pairing: "halves" }, experts }),
  attends: readAttending(keys),
  net: readDeltaNet(keys, sharing),
});

export const DELTA: Omit<FamilySpec<DeltaHyper>, "name" | "architectures" | "read" | "samples"> = {
  ...DENSE,
  sizes: (h) => mixedSizes(h, ...deltaNetStates(h.net)),
  sentence: (h) => mixedSentence(h, "a gated delta net"),
  facts: (h) => [...DENSE.facts(h), { label: "gated delta net", value: deltaNetFact(h.net) }],
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) => {
      const mixed = layer.residual("attention", x, (input) => {
        if (h.attends?.(layer.index) === false) return gatedDeltaNet(layer.place, input, h.net);
        const { gate, ...heads } = layer.gatedHeads(input);
        return layer.attendGated(layer.turned(layer.normed(heads)), gate);
      });
      return layer.residual("ffn", mixed, (input) => layer.gatedFeedForward(input), "post_attention_norm");
    }),
};

/** Keys of samples. */
export const DELTA_KEYS: SampleKeys = {
  "attention.layer_norm_rms_epsilon": 1e-5,
  block_count: 4,
  "rope.dimension_count": 8,
  full_attention_interval: 2,
  "ssm.conv_kernel": 4,
  "ssm.state_size": 16,
  "ssm.group_count": 2,
  "ssm.time_step_rank": 4,
  "ssm.inner_size": 64,
};
export const DELTA_EXPERTS: SampleKeys = {
  expert_count: 6,
  expert_used_count: 2,
  expert_feed_forward_length: 32,
  expert_shared_feed_forward_length: 48,
};
export const THREE_KEY_HEADS: SampleKeys = { "ssm.group_count": 3, "ssm.time_step_rank": 6, "ssm.inner_size": 96 };
