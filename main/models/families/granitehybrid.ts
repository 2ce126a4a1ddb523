/** Granite 4 hybrid: a granite whose layers without key heads mix their tokens in a Mamba 2. */
import { DENSE, mixedSentence, mixedSizes, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import type { FamilySample, SampleKeys } from "../family.ts";
import { defineFamily } from "../family.ts";
import { mamba2, mamba2Facts, mamba2Held, readMamba2 } from "../mamba.ts";
import { sampleOf } from "../samples.ts";
import { graniteFactors } from "./granite.ts";

const KEYS: SampleKeys = {
  "attention.layer_norm_rms_epsilon": 1e-5,
  embedding_scale: 12,
  residual_scale: 0.22,
  "attention.scale": 0.0625,
  logit_scale: 6,
  "rope.scaling.finetuned": false,
  "ssm.conv_kernel": 4,
  "ssm.inner_size": 192,
  "ssm.state_size": 32,
  "ssm.time_step_rank": 6,
  "ssm.group_count": 1,
};
const MIXER = /ssm_(conv1d\.bias|norm)/u;

/** `kv`: the key heads of each layer. */
const hybrid = (title: string, kv: readonly number[], keys: SampleKeys, untied = false): FamilySample => {
  const sample = sampleOf("granitehybrid", title, { keys: { ...KEYS, ...keys }, always: MIXER });
  return { ...sample, untied, keys: { ...sample.keys, block_count: kv.length, "attention.head_count_kv": kv } };
};

export const granitehybrid = defineFamily({
  ...DENSE,
  name: "granitehybrid",
  architectures: ["granitehybrid"],
  read: (keys) => {
    const experts = { gating: "softmax", normalise: true, shared: { width: "key", gated: false } } as const;
    return {
      ...readDense(keys, {
        rope: { pairing: "adjacent", factors: "rope_freqs.weight" },
        attention: "where keys",
        experts,
      }),
      ...graniteFactors(keys),
      mixer: readMamba2(keys),
    };
  },
  sizes: (h) => mixedSizes(h, ...mamba2Held(h.mixer)),
  sentence: (h) => mixedSentence(h, "a state space"),
  facts: (h) => [...DENSE.facts(h), ...mamba2Facts(h.mixer)],
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) =>
      layer.preNorm(x, (input) => {
        if (h.attends?.(layer.index) === false) return mamba2(layer.place, h.mixer, input);
        const heads = layer.heads(input);
        return layer.attend(h.turns ? layer.turned(heads) : heads);
      }),
    ),
  samples: [
    hybrid("small", [0, 2], {}),
    hybrid("four layers, groups, own output", [0, 0, 3, 0], { "ssm.group_count": 3, "ssm.conv_kernel": 3 }, true),
    {
      ...hybrid("with rope and its divisors, another size of heads", [1, 0, 0], {
        "rope.scaling.finetuned": true,
        "attention.key_length": 32,
        "attention.value_length": 32,
        "ssm.time_step_rank": 4,
        "ssm.group_count": 2,
      }),
      marks: { "rope_freqs.weight": [16] },
    },
    hybrid("experts and a shared one", [0, 2, 0], {
      expert_count: 6,
      expert_used_count: 2,
      expert_shared_feed_forward_length: 96,
    }),
    hybrid("experts alone", [2, 0], { expert_count: 5, expert_used_count: 3, "ssm.state_size": 7 }),
  ],
});
