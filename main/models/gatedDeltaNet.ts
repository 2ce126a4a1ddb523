/**
 * The gated delta net: a layer that remembers by a matrix for each head instead of keys and values.
 * The matrix and the last inputs of the convolution before it are states with checkpoints.
 */
import { invariant } from "../diagnostics/errors.ts";
import type { Value } from "../ir/graph.ts";
import { hostScalar } from "../ir/hostTensor.ts";
import { TOKENS } from "./blocks.ts";
import type { LayerPlace } from "./denseBlocks.ts";
import type { HyperReader } from "./hyperReader.ts";
import { three, two } from "./parts.ts";
import { recur } from "./recurrence.ts";
import { shortConvolution } from "./shortConvolution.ts";

export interface DeltaNet {
  readonly keyHeads: number;
  readonly valueHeads: number;
  /** Of a head of q, k and v. */
  readonly size: number;
  /** Tokens that the convolution sees. */
  readonly taps: number;
  /** Which key head a value head h takes: "runs", h / (value heads per key head); "rounds", h mod key heads. */
  readonly sharing: "runs" | "rounds";
  /** What makes a gate of z for the results; silu when absent. */
  readonly gate?: "sigmoid";
}

export function readDeltaNet(keys: HyperReader, sharing: DeltaNet["sharing"]): DeltaNet {
  const keyHeads = keys.positive("ssm.group_count");
  const valueHeads = keys.positive("ssm.time_step_rank");
  const size = keys.positive("ssm.state_size");
  const taps = keys.positive("ssm.conv_kernel");
  const inner = keys.positive("ssm.inner_size");
  if (valueHeads % keyHeads !== 0)
    throw keys.badKey("ssm.time_step_rank", valueHeads, `a multiple of the ${keyHeads} key heads`);
  if (inner !== valueHeads * size) throw keys.badKey("ssm.inner_size", inner, `${valueHeads} value heads × ${size}`);
  if (taps < 2) throw keys.badKey("ssm.conv_kernel", taps, "2 or more");
  return { keyHeads, valueHeads, size, taps, sharing };
}

/** True for layers that attend: as the file lists them, or one in every `full_attention_interval`. */
export function readAttending(keys: HyperReader): (layer: number) => boolean {
  const listed = keys.countOrFlags("attention.recurrent_layers");
  if (typeof listed === "object") {
    const blocks = keys.positive("block_count");
    if (listed.length !== blocks)
      throw keys.badKey("attention.recurrent_layers", `${listed.length} entries`, `${blocks}, one for each layer`);
    return (layer) => listed[layer] !== true;
  }
  if (listed !== undefined) return () => listed === 0;
  const interval = keys.optionalCount("full_attention_interval") ?? 4;
  if (interval === 0) throw keys.badKey("full_attention_interval", interval, "1 or more");
  return (layer) => (layer + 1) % interval === 0;
}

export const deltaNetFact = ({ keyHeads, valueHeads, size, taps }: DeltaNet): string =>
  `${keyHeads} key heads, ${valueHeads} value heads of ${size}, convolution over ${taps} tokens`;

/** What the states of a layer hold. */
export function deltaNetStates({ keyHeads, valueHeads, size, taps }: DeltaNet): readonly [number, string] {
  const channels = (2 * keyHeads + valueHeads) * size;
  const elements = valueHeads * size * size + (taps - 1) * channels;
  return [elements, `(${valueHeads} × ${size} × ${size} + ${taps - 1} × ${channels})`];
}

/** What the gated delta rule takes: q, k and v [T, heads, size]; `gate` [T, heads], or as q; `beta` [T, heads]. */
export interface Remembering {
  readonly q: Value;
  readonly k: Value;
  readonly v: Value;
  /** The logarithm of what is kept. */
  readonly gate: Value;
  /** How much is learned. */
  readonly beta: Value;
}

/** What the layer's memory answers, [T, heads, size]; it is a state. */
export function remembered({ d, index }: LayerPlace, { q, k, v, gate, beta }: Remembering): Value {
  const [, heads = 0, size = 0] = d.g.typeOf(v).shape;
  return recur(d, `delta.${index}`, [heads, size, size], "memory", (before) =>
    d.g.gated_delta([q, k, v, gate, beta, before], {}, "gated_delta"),
  );
}

export function gatedDeltaNet(place: LayerPlace, h: Value, net: DeltaNet): Value {
  const { d, block } = place;
  const { g } = d;
  const { valueHeads, size } = net;
  const inner = valueHeads * size;
  const { mixed, z } = projected(place, h, net);
  const { beta, gate } = d.scoped("gates", () => gates(place, h, net));
  const [q, k, v] = convolved(place, mixed, net);
  const result = remembered(place, { q, k, v, gate, beta });
  const normed = d.norm(result, `${block}ssm_norm`, size, "norm");
  const shaped = g.reshape([z], { shape: [TOKENS, valueHeads, size] });
  const open = net.gate === "sigmoid" ? g.sigmoid([shaped], {}, "open") : g.silu([shaped], {}, "open");
  const flat = g.reshape([g.mul([normed, open], {}, "gated")], { shape: [TOKENS, inner] }, "merge_heads");
  return d.linear(flat, `${block}ssm_out`, [d.sizes.width, inner], "output");
}

interface Projected {
  /** [T, q | k | v] */
  readonly mixed: Value;
  /** [T, inner] */
  readonly z: Value;
}

/** From a matrix each; or from one of an old file that goes key head by key head: q, k, its v, its z. */
function projected({ d, block }: LayerPlace, h: Value, { keyHeads, valueHeads, size }: DeltaNet): Projected {
  const { width } = d.sizes;
  const [keys, inner] = [keyHeads * size, valueHeads * size];
  if (!d.has(`${block}ssm_in.weight`))
    return {
      mixed: d.linear(h, `${block}attn_qkv`, [2 * keys + inner, width], "q_k_v"),
      z: d.linear(h, `${block}attn_gate`, [inner, width], "z"),
    };
  const each = inner / keyHeads;
  const flat = d.linear(h, `${block}ssm_in`, [2 * keys + 2 * inner, width], "q_k_v_z");
  const heads = d.g.reshape([flat], { shape: [TOKENS, keyHeads, 2 * size + 2 * each] });
  const parts = d.g
    .split([heads], { axis: 2, sizes: [size, size, each, each] }, "parts")
    .map((part, i) => d.g.reshape([part], { shape: [TOKENS, i < 2 ? keys : inner] }));
  const z = parts.pop();
  invariant(z, "split gives four parts");
  return { mixed: d.g.concat(parts, { axis: 1 }, "q_k_v"), z };
}

/** How much is learned, and the logarithm of what is kept: [T, value heads]. */
function gates({ d, block }: LayerPlace, h: Value, net: DeltaNet): Pick<Remembering, "beta" | "gate"> {
  const { g } = d;
  const { valueHeads } = net;
  const { b, a } = gateInputs({ d, block }, h, net);
  const step = g.softplus([g.add([a, d.vector(`${block}ssm_dt.bias`, valueHeads)])], {}, "step");
  return {
    beta: g.sigmoid([b], {}, "beta"),
    gate: g.mul([step, d.vector(`${block}ssm_a`, valueHeads)], {}, "log_decay"),
  };
}

function gateInputs(
  { d, block }: Pick<LayerPlace, "d" | "block">,
  h: Value,
  { keyHeads, valueHeads, sharing }: DeltaNet,
): { readonly b: Value; readonly a: Value } {
  const { width } = d.sizes;
  if (sharing === "rounds")
    return {
      b: d.linear(h, `${block}ssm_beta`, [valueHeads, width], "b"),
      a: d.linear(h, `${block}ssm_alpha`, [valueHeads, width], "a"),
    };
  // Key head by key head: b of its value heads, then a of them.
  const each = valueHeads / keyHeads;
  const flat = d.linear(h, `${block}ssm_ba`, [2 * valueHeads, width], "b_and_a");
  const heads = d.g.reshape([flat], { shape: [TOKENS, keyHeads, 2 * each] });
  const [b, a] = two(d.g, heads, [each, each], "b_a");
  const flattened = (part: Value): Value => d.g.reshape([part], { shape: [TOKENS, valueHeads] });
  return { b: flattened(b), a: flattened(a) };
}

/** q, k and v [T, value heads, size] behind the convolution; q and k have length 1. */
function convolved(place: LayerPlace, mixed: Value, net: DeltaNet): readonly [q: Value, k: Value, v: Value] {
  const { d, block } = place;
  const { g } = d;
  const { keyHeads, valueHeads, size, taps } = net;
  const [keys, inner] = [keyHeads * size, valueHeads * size];
  const weight = d.matrix(`${block}ssm_conv1d.weight`, [2 * keys + inner, taps]);
  const active = g.silu([shortConvolution(place, mixed, weight)], {}, "active");
  const [q, k, v] = three(g, active, [keys, keys, inner], "convolved");
  const heads = (x: Value): Value =>
    shared(place, unit(place, g.reshape([x], { shape: [TOKENS, keyHeads, size] })), net);
  return [heads(q), heads(k), g.reshape([v], { shape: [TOKENS, valueHeads, size] }, "v")];
}

/** x / |x|, head by head; what is shorter than the norm's epsilon is divided by that. */
export function unit({ d }: LayerPlace, x: Value): Value {
  const { g } = d;
  const length = g.sqrt([g.reduce([g.mul([x, x])], { kind: "sum", axes: [2], keepDims: true })]);
  const least = g.constant(hostScalar("f32", Math.fround(d.sizes.normEpsilon)));
  return g.div([x, g.maximum([length, least])], {}, "unit");
}

/** [T, key heads, size] → [T, value heads, size] */
function shared({ d }: LayerPlace, x: Value, { keyHeads, valueHeads, size, sharing }: DeltaNet): Value {
  if (keyHeads === valueHeads) return x;
  const { g } = d;
  const times = valueHeads / keyHeads;
  const [one, all] =
    sharing === "runs"
      ? [
          [keyHeads, 1],
          [keyHeads, times],
        ]
      : [
          [1, keyHeads],
          [times, keyHeads],
        ];
  const apart = g.reshape([x], { shape: [TOKENS, ...one, size] });
  const repeated = g.expand([apart], { shape: [TOKENS, ...all, size] });
  return g.reshape([repeated], { shape: [TOKENS, valueHeads, size] }, "shared");
}
