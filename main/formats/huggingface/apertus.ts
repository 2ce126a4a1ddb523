/** Apertus: the numbers of a layer's activation are tensors of one number each; a GGUF has a list of each kind. */
import { ATTENTION, ENDS, decoder, inLayer, rotaryTensors } from "./parts.ts";
import type { HfFamily } from "./parts.ts";

const KINDS = ["alpha_p", "alpha_n", "beta", "eps"] as const;

export const APERTUS: HfFamily = {
  architecture: "apertus",
  names: ["ApertusForCausalLM"],
  keys: decoder,
  tensors: {
    ...ENDS,
    ...inLayer({
      ...ATTENTION,
      attention_layernorm: "attn_norm",
      feedforward_layernorm: "ffn_norm",
      "mlp.up_proj": "ffn_up",
      "mlp.down_proj": "ffn_down",
      ...Object.fromEntries(KINDS.map((kind) => [`mlp.act_fn.${kind}`, []])),
    }),
  },
  numbers: Object.fromEntries(KINDS.map((kind) => [`layers.{i}.mlp.act_fn.${kind}`, `xielu.${kind}`])),
  more: rotaryTensors,
};
