/**
 * Hyper-connections: a layer's rows are several streams instead of one. Before a part of a block, weights made of all
 * streams mix them into its input; behind it, others spread its result over the streams, which a matrix mixes among
 * themselves. The matrix is brought near one whose rows and columns add up to 1, by dividing them in turn.
 */
import type { Value } from "../ir/graph.ts";
import { hostScalar } from "../ir/hostTensor.ts";
import { TOKENS } from "./blocks.ts";
import type { Decoder } from "./decoder.ts";
import type { HyperReader } from "./hyperReader.ts";
import { three } from "./parts.ts";

export interface HyperConnections {
  readonly streams: number;
  /** Turns of dividing columns and rows. */
  readonly rounds: number;
  readonly epsilon: number;
}

export function readHyperConnections(keys: HyperReader): HyperConnections {
  const epsilon = keys.number("hyper_connection.epsilon");
  if (!(epsilon >= 0) || !Number.isFinite(epsilon)) throw keys.badKey("hyper_connection.epsilon", epsilon, "0 or more");
  const rounds = keys.positive("hyper_connection.sinkhorn_iterations");
  if (rounds > 100) throw keys.badKey("hyper_connection.sinkhorn_iterations", rounds, "at most 100");
  const streams = keys.positive("hyper_connection.count");
  if (streams > 64) throw keys.badKey("hyper_connection.count", streams, "at most 64");
  return { streams, rounds, epsilon };
}

/** [T, streams, width], all alike. */
export const asStreams = (d: Decoder, x: Value, { streams }: Pick<HyperConnections, "streams">): Value =>
  d.g.expand(
    [d.g.reshape([x], { shape: [TOKENS, 1, d.sizes.width] })],
    { shape: [TOKENS, streams, d.sizes.width] },
    "streams",
  );

/** The streams behind a part of a block; `name` of its weights, "blk.0.hc_attn". */
export function connected(
  d: Decoder,
  x: Value,
  name: string,
  hc: HyperConnections,
  build: (input: Value) => Value,
): Value {
  const { g } = d;
  const n = hc.streams;
  const { input, post, mix } = d.scoped("connection", () => {
    const parts = (y: Value, label: string): ReturnType<typeof three> => three(d.g, y, [n, n, n * n], label);
    const [pre, post, mix] = parts(mixes(d, x, name, hc, (2 + n) * n), "mixes");
    const [preBase, postBase, mixBase] = parts(d.vector(`${name}_base.weight`, (2 + n) * n), "bases");
    const [preScale, postScale, mixScale] = three(d.g, d.vector(`${name}_scale.weight`, 3), [1, 1, 1], "scales");
    const fitted = (y: Value, scale: Value, base: Value): Value => g.add([g.mul([y, scale]), base]);
    const shares = g.mul([g.sigmoid([fitted(post, postScale, postBase)]), number(d, 2)], {}, "post");
    return {
      input: mixed(d, x, fitted(pre, preScale, preBase), hc),
      post: g.reshape([shares], { shape: [TOKENS, n, 1] }),
      mix: balanced(d, g.reshape([fitted(mix, mixScale, mixBase)], { shape: [TOKENS, n, n] }), hc),
    };
  });
  const made = g.reshape([build(input)], { shape: [TOKENS, 1, d.sizes.width] });
  // mix [T, from, to]
  const kept = g.matmul([g.transpose([mix], { perm: [0, 2, 1] }), x], {}, "kept");
  return g.add([kept, g.mul([made, post])], {}, "streams");
}

/** One row of the streams: what the last norm takes. */
export function joined(d: Decoder, x: Value, name: string, hc: HyperConnections): Value {
  const { g } = d;
  return d.scoped("connection", () => {
    const scaled = g.mul([mixes(d, x, name, hc, hc.streams), d.vector(`${name}_scale.weight`, 1)]);
    return mixed(d, x, g.add([scaled, d.vector(`${name}_base.weight`, hc.streams)]), hc);
  });
}

const number = (d: Decoder, value: number): Value => d.g.constant(hostScalar("f32", Math.fround(value)));

/** [T, out], of all streams normed as one row. */
function mixes(d: Decoder, x: Value, name: string, { streams }: HyperConnections, out: number): Value {
  const size = streams * d.sizes.width;
  const flat = d.g.reshape([x], { shape: [TOKENS, size] });
  return d.linear(d.plainNorm(flat, size, "all_streams"), `${name}_fn`, [out, size], "mixes");
}

/** Σ over the streams, by the sigmoid of their weights. */
function mixed(d: Decoder, x: Value, weights: Value, { streams, epsilon }: HyperConnections): Value {
  const { g } = d;
  const open = g.add([g.sigmoid([weights]), number(d, epsilon)], {}, "pre");
  const row = g.matmul([g.reshape([open], { shape: [TOKENS, 1, streams] }), x]);
  return g.reshape([row], { shape: [TOKENS, d.sizes.width] }, "mixed");
}

/** [T, from, to]: a softmax, then columns and rows divided by their sums. */
function balanced(d: Decoder, x: Value, { rounds, epsilon }: HyperConnections): Value {
  const { g } = d;
  const small = number(d, epsilon);
  const divided = (y: Value, axis: number): Value =>
    g.div([y, g.add([g.reduce([y], { kind: "sum", axes: [axis], keepDims: true }), small])]);
  let made = divided(g.add([g.softmax([x], { axis: 2 }), small]), 1);
  for (let round = 1; round < rounds; round++) made = divided(divided(made, 2), 1);
  return made;
}
