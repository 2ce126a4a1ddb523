/**
 * The gated delta net: a layer that remembers by a matrix for each head instead of keys and values.
 * The matrix and the last inputs of the convolution before it are states with checkpoints.
 */
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { Value } from "../ir/graph.ts";
import { hostScalar } from "../ir/hostTensor.ts";
import { tensor } from "../ir/type.ts";
import { TOKENS } from "./blocks.ts";
import type { LayerPlace } from "./denseBlocks.ts";
import type { HyperReader } from "./hyperReader.ts";
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

export function gatedDeltaNet(place: LayerPlace, h: Value, net: DeltaNet): Value {
  const { d, index, block } = place;
  const { g } = d;
  const { valueHeads, size } = net;
  const inner = valueHeads * size;
  const { mixed, z } = projected(place, h, net);
  const { beta, gate } = d.scoped("gates", () => gates(place, h, net));
  const [q, k, v] = convolved(place, mixed, net);
  let result = v;
  const type = tensor("f32", [valueHeads, size, size]);
  d.state(`delta.${index}`, type, { label: "memory", rewind: "checkpoint" }, (before) => {
    const [out, after] = g.gated_delta([q, k, v, gate, beta, before], {}, "gated_delta");
    if (out === undefined || after === undefined)
      throw new WorkbenchError("BUG_INVARIANT", "[gated_delta] expected two outputs");
    result = out;
    return after;
  });
  const normed = d.norm(result, `${block}ssm_norm`, size, "norm");
  const open = g.silu([g.reshape([z], { shape: [TOKENS, valueHeads, size] })], {}, "open");
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
  if (z === undefined) throw new Error("split gives four parts");
  return { mixed: d.g.concat(parts, { axis: 1 }, "q_k_v"), z };
}

/** How much is learned, and the logarithm of what is kept: [T, value heads]. */
function gates({ d, block }: LayerPlace, h: Value, net: DeltaNet): { readonly beta: Value; readonly gate: Value } {
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
  const [b, a] = d.g
    .split([heads], { axis: 2, sizes: [each, each] }, "b_a")
    .map((part) => d.g.reshape([part], { shape: [TOKENS, valueHeads] }));
  if (b === undefined || a === undefined) throw new Error("split gives two parts");
  return { b, a };
}

/** q, k and v [T, value heads, size] behind the convolution; q and k have length 1. */
function convolved(place: LayerPlace, mixed: Value, net: DeltaNet): readonly [q: Value, k: Value, v: Value] {
  const { d, block } = place;
  const { g } = d;
  const { keyHeads, valueHeads, size, taps } = net;
  const [keys, inner] = [keyHeads * size, valueHeads * size];
  const weight = d.matrix(`${block}ssm_conv1d.weight`, [2 * keys + inner, taps]);
  const active = g.silu([shortConvolution(place, mixed, weight)], {}, "active");
  const [q, k, v] = g.split([active], { axis: 1, sizes: [keys, keys, inner] }, "convolved");
  if (q === undefined || k === undefined || v === undefined) throw new Error("split gives three parts");
  const heads = (x: Value): Value =>
    shared(place, unit(place, g.reshape([x], { shape: [TOKENS, keyHeads, size] })), net);
  return [heads(q), heads(k), g.reshape([v], { shape: [TOKENS, valueHeads, size] }, "v")];
}

/** x / |x|, head by head; what is shorter than the norm's epsilon is divided by that. */
function unit({ d }: LayerPlace, x: Value): Value {
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
