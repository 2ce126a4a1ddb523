/**
 * Mamba, a state space as a layer's mixer: a short causal convolution of each channel, and a state that fades at a rate
 * which each token sets itself. The first generation has a rate for each channel and element of the state; the second
 * has heads with one rate each, which share what they write and read in groups.
 */
import type { Value } from "../ir/graph.ts";
import { TOKENS } from "./blocks.ts";
import type { LayerPlace } from "./denseBlocks.ts";
import type { ModelFact } from "./family.ts";
import type { HyperReader } from "./hyperReader.ts";
import { three, two } from "./parts.ts";
import { recur } from "./recurrence.ts";
import { shortConvolution } from "./shortConvolution.ts";

/** Sizes of both generations. */
interface MambaSizes {
  /** Tokens that the convolution sees. */
  readonly taps: number;
  readonly inner: number;
  /** Elements that each channel keeps. */
  readonly state: number;
}

export interface Mamba1 extends MambaSizes {
  /** Inner size of the time step's projection. */
  readonly rank: number;
  /** Step, b and c are normed: by weights of the file, without weights, or not. */
  readonly norms: "weights" | "plain" | "none";
}

export interface Mamba2 extends MambaSizes {
  readonly heads: number;
  readonly groups: number;
}

function readSizes(keys: HyperReader): MambaSizes {
  const taps = keys.positive("ssm.conv_kernel");
  if (taps < 2) throw keys.badKey("ssm.conv_kernel", taps, "more than 1");
  return { taps, inner: keys.positive("ssm.inner_size"), state: keys.positive("ssm.state_size") };
}

export function readMamba1(keys: HyperReader, norms: "weights" | "file"): Mamba1 {
  const plain = keys.isTrue("ssm.dt_b_c_rms") ? "plain" : "none";
  return { ...readSizes(keys), rank: keys.positive("ssm.time_step_rank"), norms: norms === "file" ? plain : norms };
}

export function readMamba2(keys: HyperReader): Mamba2 {
  const sizes = readSizes(keys);
  const heads = keys.positive("ssm.time_step_rank");
  const groups = keys.positive("ssm.group_count");
  if (sizes.inner % heads !== 0) throw keys.badKey("ssm.time_step_rank", heads, `a divisor of ${sizes.inner}`);
  if (heads % groups !== 0) throw keys.badKey("ssm.group_count", groups, `a divisor of the ${heads} heads`);
  return { ...sizes, heads, groups };
}

/** f32 elements that a layer's states hold, and the product that gives them. */
type Held = readonly [elements: number, product: string];
const held = (taps: number, channels: number, inner: number, state: number): Held => [
  (taps - 1) * channels + inner * state,
  `(${taps - 1} × ${channels} + ${inner} × ${state})`,
];
export const mamba1Held = ({ taps, inner, state }: Mamba1): Held => held(taps, inner, inner, state);
export const mamba2Held = ({ taps, inner, state, groups }: Mamba2): Held =>
  held(taps, inner + 2 * groups * state, inner, state);

export const mamba1Facts = ({ inner, state, rank }: Mamba1): readonly ModelFact[] => [
  { label: "state space", value: `${inner} channels × ${state}, rank ${rank}` },
];
export const mamba2Facts = ({ inner, state, heads, groups }: Mamba2): readonly ModelFact[] => [
  { label: "state space", value: `${heads} heads of ${inner / heads} × ${state}, ${groups} groups` },
];

/** silu of the convolution over x [T, channels] and the last tokens of the step before. */
function convolved(place: LayerPlace, x: Value, [taps, channels]: readonly [number, number]): Value {
  const { d, block } = place;
  const weight = d.matrix(`${block}ssm_conv1d.weight`, [channels, taps]);
  const name = `${block}ssm_conv1d.bias`;
  const bias = d.has(name) ? d.vector(name, channels) : undefined;
  const mixed = shortConvolution(place, x, weight, { bias });
  return d.g.silu([mixed], {}, "convolved");
}

/** The mixer of the first generation for h [T, width]. */
export function mamba1(place: LayerPlace, m: Mamba1, h: Value): Value {
  const { d, index, block } = place;
  const { g } = d;
  const { width } = d.sizes;
  const { taps, inner, state, rank } = m;
  const both = d.linear(h, `${block}ssm_in`, [2 * inner, width], "x_z");
  const [entering, gate] = two(d.g, both, [inner, inner], "x_and_z");
  const x = convolved(place, entering, [taps, inner]);
  const selected = d.linear(x, `${block}ssm_x`, [rank + 2 * state, inner], "selection");
  const [low, ...written] = three(d.g, selected, [rank, state, state], "dt_b_c");
  const normed = (value: Value, role: "dt" | "b" | "c", size: number): Value => {
    if (m.norms === "none") return value;
    const label = `${role}_norm`;
    return m.norms === "plain"
      ? d.plainNorm(value, size, label)
      : d.norm(value, `${block}ssm_${role}_norm`, size, label);
  };
  const [b, c] = [normed(written[0], "b", state), normed(written[1], "c", state)];
  const step = g.softplus([d.linear(normed(low, "dt", rank), `${block}ssm_dt`, [inner, rank], "dt")], {}, "step");
  const scaled = g.mul([x, step], {}, "x_step");
  const column = (value: Value): Value => g.reshape([value], { shape: [TOKENS, inner, 1] });
  const line = (value: Value): Value => g.reshape([value], { shape: [TOKENS, 1, state] });
  const rate = d.matrix(`${block}ssm_a`, [inner, state]);
  const y = recur(d, `ssm.${index}`, [inner, 1, state], "state", (before) =>
    g.selective_scan([column(scaled), column(step), rate, line(b), line(c), before], { reads: "after" }, "scan"),
  );
  const passed = g.mul([x, d.vector(`${block}ssm_d`, inner)], {}, "passed");
  const sum = g.add([g.reshape([y], { shape: [TOKENS, inner] }), passed], {}, "y");
  return d.linear(g.mul([sum, g.silu([gate])], {}, "gated"), `${block}ssm_out`, [width, inner], "ssm_out");
}

/** The mixer of the second generation; the norm behind its gate is optional in some families. */
export function mamba2(place: LayerPlace, m: Mamba2, h: Value): Value {
  const { d, index, block } = place;
  const { g } = d;
  const { width } = d.sizes;
  const { taps, inner, state, heads, groups } = m;
  const [size, shared] = [inner / heads, groups * state];
  const all = d.linear(h, `${block}ssm_in`, [2 * inner + 2 * shared + heads, width], "z_x_b_c_dt");
  const [gate, entering, low] = three(d.g, all, [inner, inner + 2 * shared, heads], "z_xbc_dt");
  const mixed = convolved(place, entering, [taps, inner + 2 * shared]);
  const [flat, b, c] = three(d.g, mixed, [inner, shared, shared], "x_b_c");
  const x = g.reshape([flat], { shape: [TOKENS, heads, size] }, "x_heads");
  const biased = g.add([low, d.vector(`${block}ssm_dt.bias`, heads)], {}, "dt");
  const step = g.softplus([biased], {}, "step");
  const lines = (value: Value): Value => g.reshape([value], { shape: [TOKENS, groups, state] });
  const rate = d.matrix(`${block}ssm_a`, [heads, 1]);
  const y = recur(d, `ssm.${index}`, [heads, size, state], "state", (before) =>
    g.ssd([x, step, rate, lines(b), lines(c), before], {}, "scan"),
  );
  const sum = g.add([y, g.mul([x, d.matrix(`${block}ssm_d`, [heads, 1])], {}, "passed")], {}, "y");
  const gated = g.mul([g.reshape([sum], { shape: [TOKENS, inner] }), g.silu([gate])], {}, "gated");
  return d.linear(normedInGroups(place, m, gated), `${block}ssm_out`, [width, inner], "ssm_out");
}

function normedInGroups({ d, block }: LayerPlace, { inner, groups }: Mamba2, x: Value): Value {
  const name = `${block}ssm_norm`;
  if (!d.has(`${name}.weight`)) return x;
  const apart = d.g.reshape([x], { shape: [TOKENS, groups, inner / groups] });
  return d.g.reshape([d.normEach(apart, name, [groups, inner / groups], "ssm_norm")], { shape: [TOKENS, inner] });
}
