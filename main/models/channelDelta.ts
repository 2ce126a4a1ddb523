/**
 * The delta net of Kimi Linear: a gated delta net whose memory forgets at a rate of its own for each channel of a
 * key. q, k and v have a short convolution each; a sigmoid opens what the memory answers.
 */
import type { Value } from "../ir/graph.ts";
import { TOKENS } from "./blocks.ts";
import type { LayerPlace } from "./denseBlocks.ts";
import type { Remembering } from "./gatedDeltaNet.ts";
import { remembered, unit } from "./gatedDeltaNet.ts";
import type { HyperReader } from "./hyperReader.ts";
import { three } from "./parts.ts";
import { shortConvolution } from "./shortConvolution.ts";

export interface ChannelDelta {
  readonly heads: number;
  /** Of a head of q, k and v; also the inner size of the products that make the gates. */
  readonly size: number;
  /** Tokens that a convolution sees. */
  readonly taps: number;
}

export function readChannelDelta(keys: HyperReader, heads: number): ChannelDelta {
  const taps = keys.positive("ssm.conv_kernel");
  if (taps < 2) throw keys.badKey("ssm.conv_kernel", taps, "2 or more");
  return { heads, size: keys.positive("kda.head_dim"), taps };
}

export const channelDeltaFact = ({ heads, size, taps }: ChannelDelta): string =>
  `${heads} heads of ${size}, a gate for each channel, convolutions over ${taps} tokens`;

/** What the states of a layer hold. */
export function channelDeltaStates({ heads, size, taps }: ChannelDelta): readonly [number, string] {
  const channels = 3 * heads * size;
  return [heads * size * size + (taps - 1) * channels, `(${heads} × ${size} × ${size} + ${taps - 1} × ${channels})`];
}

export function channelDelta(place: LayerPlace, h: Value, net: ChannelDelta): Value {
  const { d, block } = place;
  const { g } = d;
  const { heads, size } = net;
  const inner = heads * size;
  const { beta, gate } = d.scoped("gates", () => gates(place, h, net));
  const answers = remembered(place, { ...convolved(place, h, net), gate, beta });
  const normed = d.norm(answers, `${block}ssm_norm`, size, "norm");
  const open = g.sigmoid([throughTwo(place, h, "ssm_g", net)], {}, "open");
  const gated = g.mul([normed, g.reshape([open], { shape: [TOKENS, heads, size] })], {}, "gated");
  const flat = g.reshape([gated], { shape: [TOKENS, inner] }, "merge_heads");
  return d.linear(flat, `${block}attn_output`, [d.sizes.width, inner], "output");
}

/** [T, heads · size], by two matrices with the size of a head between. */
function throughTwo({ d, block }: LayerPlace, h: Value, name: string, { heads, size }: ChannelDelta): Value {
  const small = d.linear(h, `${block}${name}_a`, [size, d.sizes.width], `${name}_a`);
  return d.linear(small, `${block}${name}_b`, [heads * size, size], `${name}_b`);
}

/** How much is learned, [T, heads]; and the logarithm of what each channel keeps, [T, heads, size]. */
function gates(place: LayerPlace, h: Value, net: ChannelDelta): Pick<Remembering, "beta" | "gate"> {
  const { d, block } = place;
  const { g } = d;
  const { heads, size } = net;
  const b = d.linear(h, `${block}ssm_beta`, [heads, d.sizes.width], "b");
  const shifted = g.add([throughTwo(place, h, "ssm_f", net), d.vector(`${block}ssm_dt.bias`, heads * size)]);
  const step = g.reshape([g.softplus([shifted], {}, "step")], { shape: [TOKENS, heads, size] });
  return {
    beta: g.sigmoid([b], {}, "beta"),
    gate: g.mul([step, d.matrix(`${block}ssm_a`, [heads, 1])], {}, "log_decay"),
  };
}

/** q, k and v [T, heads, size] behind their convolutions, which are one over all of their channels; q and k have length 1. */
function convolved(place: LayerPlace, h: Value, net: ChannelDelta): Pick<Remembering, "q" | "k" | "v"> {
  const { d, block } = place;
  const { g } = d;
  const { heads, size, taps } = net;
  const inner = heads * size;
  const roles = ["q", "k", "v"] as const;
  const mixed = roles.map((role) => d.linear(h, `${block}attn_${role}`, [inner, d.sizes.width], role));
  const weights = roles.map((role) => {
    const weight = d.matrix(`${block}ssm_conv1d_${role}.weight`, [inner, 1, taps]);
    return g.reshape([weight], { shape: [inner, taps] });
  });
  const all = shortConvolution(place, g.concat(mixed, { axis: 1 }, "q_k_v"), g.concat(weights, { axis: 0 }, "taps"));
  const [q, k, v] = three(d.g, g.silu([all], {}, "active"), [inner, inner, inner], "convolved");
  const asHeads = (x: Value): Value => g.reshape([x], { shape: [TOKENS, heads, size] });
  return { q: unit(place, asHeads(q)), k: unit(place, asHeads(k)), v: asHeads(v) };
}
