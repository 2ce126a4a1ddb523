/**
 * RWKV 7: the state is not only faded but corrected: what stands under a token's key is taken back by a rate that the
 * token sets. Values of later layers lean towards those of the first.
 */
import type { Value } from "../../ir/graph.ts";
import { hostScalar } from "../../ir/hostTensor.ts";
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

interface Rwkv7Hyper extends RwkvHyper {
  /** Inner sizes of the small networks. */
  readonly ranks: { readonly w: number; readonly a: number; readonly v: number; readonly g: number };
}

/** In the order of the file's shares. */
const ROLES = ["r", "w", "k", "v", "a", "g"] as const;
type Role = (typeof ROLES)[number];

/** What stands between the two matrices of a small network. */
type Between = "tanh" | "sigmoid" | "nothing";

function timeMix(place: LayerPlace, x: Value, before: Value, h: Rwkv7Hyper, first: (v: Value) => Value): Value {
  const { d, index, block } = place;
  const { g } = d;
  const { width, heads, headSize } = h;
  const name = (rest: string): string => `${block}time_mix_${rest}`;
  const away = apart(place, x, before);
  const shares = d.matrix(name("lerp_fused.weight"), [6, 1, 1, width]);
  const seen = (role: Role): Value => {
    const share = g.narrow([shares], { axis: 0, start: ROLES.indexOf(role), length: 1 });
    return lerp(place, x, away, g.reshape([share], { shape: [width] }), role);
  };
  const low = (role: Exclude<Role, "r" | "k">, between: Between): Value => {
    // The first layer has no use for its network of values, which is as wide as that of a.
    const rank = h.ranks[role === "v" && index === 0 ? "a" : role];
    const inner = d.linear(seen(role), name(`${role}1`), [rank, width], `${role}_low`);
    const bent = between === "nothing" ? inner : between === "tanh" ? g.tanh([inner]) : g.sigmoid([inner]);
    return d.linear(bent, name(`${role}2`), [width, rank], `${role}_high`);
  };
  const number = (value: number): Value => g.constant(hostScalar("f32", Math.fround(value)));
  const rate = (role: "w" | "a" | "v", between: Between): Value =>
    g.sigmoid([g.add([low(role, between), row(place, `time_mix_${role}0`)])], {}, `${role}_rate`);
  const r = d.linear(seen("r"), name("receptance"), [width, width], "receptance");
  const key = d.linear(seen("k"), name("key"), [width, width], "key");
  const value = d.linear(seen("v"), name("value"), [width, width], "value");
  const decay = g.exp([g.mul([rate("w", "tanh"), number(-0.606531)])], {}, "decay");
  const a = rate("a", "nothing");
  const firstValue = first(value);
  // The first layer has such tensors too, which nothing depends on.
  const lean = index > 0 || d.has(name("v0.weight")) ? rate("v", "nothing") : undefined;
  const v =
    index === 0 || lean === undefined ? value : g.add([value, g.mul([g.sub([firstValue, value]), lean])], {}, "v");
  const kk = unit(place, asHeads(place, g.mul([key, row(place, "time_mix_k_k")]), h));
  const ka = g.mul([key, row(place, "time_mix_k_a")]);
  const k = asHeads(place, g.add([key, g.sub([g.mul([a, ka]), ka])], {}, "k"), h);
  const [rows, values] = [asHeads(place, r, h), asHeads(place, v, h)];
  const back = g.mul([kk, asHeads(place, a, h)], {}, "taken_back");
  const y = recur(d, `wkv.${index}`, [heads, headSize, headSize], "state", (state) =>
    g.wkv7([rows, asHeads(place, decay, h), k, values, g.neg([kk]), back, state], {}, "wkv"),
  );
  const weights = g.reshape([row(place, "time_mix_r_k")], { shape: [heads, headSize] });
  const own = g.reduce([g.mul([g.mul([k, rows]), weights])], { kind: "sum", axes: [2], keepDims: true });
  const bonus = g.reshape([g.mul([values, own])], { shape: g.typeOf(x).shape }, "bonus");
  const normed = g.add([headNormed(place, y, h), bonus]);
  const gated = g.mul([normed, low("g", "sigmoid")], {}, "gated");
  return d.linear(gated, name("output"), [width, width], "output");
}

/** Each head of x at length 1. */
function unit({ d }: LayerPlace, x: Value): Value {
  const { g } = d;
  const length = g.sqrt([g.reduce([g.mul([x, x])], { kind: "sum", axes: [2], keepDims: true })]);
  return g.div([x, g.maximum([length, g.constant(hostScalar("f32", Math.fround(1e-12)))])], {}, "unit");
}

const sample = (title: string, sizes: readonly [number, number, number, number], keys: SampleKeys): FamilySample =>
  rwkvSample(
    "rwkv7",
    title,
    sizes,
    {
      "attention.decay_lora_rank": 8,
      "attention.iclr_lora_rank": 12,
      "attention.value_residual_mix_lora_rank": 12,
      "attention.gate_lora_rank": 16,
      ...keys,
    },
    /time_mix_v0/u,
  );

export const rwkv7 = defineFamily<Rwkv7Hyper>({
  ...RWKV,
  name: "rwkv7",
  architectures: ["rwkv7"],
  read: (keys) => ({
    ...readRwkv(keys),
    ranks: {
      w: keys.positive("attention.decay_lora_rank"),
      a: keys.positive("attention.iclr_lora_rank"),
      v: keys.positive("attention.value_residual_mix_lora_rank"),
      g: keys.positive("attention.gate_lora_rank"),
    },
  }),
  graph: (h, weights, options) => {
    let first: Value | undefined;
    return rwkvGraph(h, weights, options, {
      time: (place, x, before) => timeMix(place, x, before, h, (v) => (first ??= v)),
      channel: (place, x, before) => {
        const share = row(place, "channel_mix_lerp_k");
        return squaredNetwork(place, lerp(place, x, apart(place, x, before), share, "k"), h);
      },
    });
  },
  // llama.cpp's recurrence reads past the end of heads that are no multiple of 64.
  samples: [
    sample("small", [2, 128, 64, 96], { feed_forward_length: [96, 96] }),
    sample("one head, three layers", [3, 64, 64, 160], { "attention.decay_lora_rank": 5 }),
    sample("heads of 128", [1, 256, 128, 128], {}),
    sample("other ranks", [2, 64, 64, 60], {
      "attention.iclr_lora_rank": 6,
      "attention.gate_lora_rank": 24,
    }),
  ],
});
