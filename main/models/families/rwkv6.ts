/**
 * RWKV 6: how far each channel looks to the token before, and how fast the state fades, follow from the token itself
 * through small networks. A token's own part counts by a bonus of its own.
 */
import type { Value } from "../../ir/graph.ts";
import { TOKENS } from "../blocks.ts";
import type { LayerPlace } from "../denseBlocks.ts";
import type { FamilySample, SampleKeys } from "../family.ts";
import { defineFamily } from "../family.ts";
import { recur } from "../recurrence.ts";
import type { RwkvHyper } from "../rwkv.ts";
import {
  RWKV,
  apart,
  asHeads,
  headNormed,
  lerp,
  readRwkv,
  row,
  rwkvGraph,
  rwkvSample,
  squaredNetwork,
} from "../rwkv.ts";

interface Rwkv6Hyper extends RwkvHyper {
  /** Inner sizes of the networks for the looks back and for the decay. */
  readonly extra: number;
  readonly decay: number;
}

/** In the order of the file's tensors. */
const ROLES = ["w", "k", "v", "r", "g"] as const;
type Role = (typeof ROLES)[number];

/** How far each role looks back, [T, width] for each: a base, and what the token adds. */
function shares(place: LayerPlace, x: Value, away: Value, { width, extra }: Rwkv6Hyper): ReadonlyMap<Role, Value> {
  const { d, block } = place;
  const { g } = d;
  const mixed = lerp(place, x, away, row(place, "time_mix_lerp_x"), "mixed");
  const low = g.tanh([d.linear(mixed, `${block}time_mix_w1`, [5 * extra, width], "low")]);
  const each = g.transpose([g.reshape([low], { shape: [TOKENS, 5, extra] })], { perm: [1, 0, 2] });
  const up = g.transpose([d.matrix(`${block}time_mix_w2.weight`, [5, width, extra])], { perm: [0, 2, 1] });
  const added = g.matmul([each, up], {}, "looks");
  const fused = `${block}time_mix_lerp_fused.weight`;
  const base = (role: Role, i: number): Value =>
    d.has(fused)
      ? g.reshape([g.narrow([d.matrix(fused, [5, 1, 1, width])], { axis: 0, start: i, length: 1 })], { shape: [width] })
      : row(place, `time_mix_lerp_${role}`);
  return new Map(
    ROLES.map((role, i) => {
      const own = g.reshape([g.narrow([added], { axis: 0, start: i, length: 1 })], { shape: [TOKENS, width] });
      return [role, g.add([own, base(role, i)])];
    }),
  );
}

function timeMix(place: LayerPlace, x: Value, before: Value, h: Rwkv6Hyper): Value {
  const { d, index, block } = place;
  const { g } = d;
  const { width, heads, headSize } = h;
  const away = apart(place, x, before);
  const looks = shares(place, x, away, h);
  const seen = (role: Role): Value => lerp(place, x, away, looks.get(role) ?? x, role);
  const through = (role: Role, name: string): Value =>
    d.linear(seen(role), `${block}time_mix_${name}`, [width, width], name);
  const [r, k, v] = [through("r", "receptance"), through("k", "key"), through("v", "value")].map((y) =>
    asHeads(place, y, h),
  ) as [Value, Value, Value];
  const gate = g.silu([through("g", "gate")], {}, "open");
  const low = g.tanh([d.linear(seen("w"), `${block}time_mix_decay_w1`, [h.decay, width], "decay_low")]);
  const fading = d.linear(low, `${block}time_mix_decay_w2`, [width, h.decay], "decay");
  const step = asHeads(place, g.neg([g.exp([g.add([fading, row(place, "time_mix_decay")])])]), h);
  const bonus = d.matrix(`${block}time_mix_first.weight`, [heads, headSize]);
  const mixed = recur(d, `wkv.${index}`, [heads, headSize, headSize], "state", (state) =>
    g.wkv6([r, k, v, step, bonus, state], {}, "wkv"),
  );
  const y = g.mul([headNormed(place, mixed, h), gate], {}, "gated");
  return d.linear(y, `${block}time_mix_output`, [width, width], "output");
}

function channelMix(place: LayerPlace, x: Value, before: Value, h: RwkvHyper): Value {
  const { d, block } = place;
  const away = apart(place, x, before);
  const seen = (role: "k" | "r"): Value => lerp(place, x, away, row(place, `channel_mix_lerp_${role}`), role);
  const open = d.linear(seen("r"), `${block}channel_mix_receptance`, [h.width, h.width], "receptance");
  return d.g.mul([d.g.sigmoid([open]), squaredNetwork(place, seen("k"), h)], {}, "open");
}

const sample = (
  title: string,
  sizes: readonly [number, number, number, number],
  keys: SampleKeys,
  has = /^$/u,
): FamilySample => rwkvSample("rwkv6", title, sizes, { time_mix_extra_dim: 8, time_decay_extra_dim: 12, ...keys }, has);

export const rwkv6 = defineFamily<Rwkv6Hyper>({
  ...RWKV,
  name: "rwkv6",
  architectures: ["rwkv6"],
  read: (keys) => ({
    ...readRwkv(keys),
    rescaleEvery: keys.optionalCount("rescale_every_n_layers") || Infinity,
    extra: keys.positive("time_mix_extra_dim"),
    decay: keys.positive("time_decay_extra_dim"),
  }),
  graph: (h, weights, options) =>
    rwkvGraph(h, weights, options, {
      time: (place, x, before) => timeMix(place, x, before, h),
      channel: (place, x, before) => channelMix(place, x, before, h),
    }),
  samples: [
    sample("small", [2, 64, 16, 96], {}),
    sample("shares in one tensor", [2, 96, 32, 160], {}, /lerp_fused/u),
    sample("three layers, halved behind every second", [3, 64, 32, 128], { rescale_every_n_layers: 2 }),
    sample("one head, odd sizes", [1, 36, 36, 60], { time_mix_extra_dim: 5, time_decay_extra_dim: 7 }, /lerp_fused/u),
  ],
});
