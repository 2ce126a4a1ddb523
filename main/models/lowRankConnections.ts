/**
 * Hyper-connections of low rank (Qwen3.8-Flash-Next): a layer's rows are several streams. Before a part of a block,
 * each value of each stream has a gate, made of all streams through two small matrices; the mean of the streams is
 * the part's input. Its result is added to each stream, by a weight of the stream that is 1 where nothing speaks
 * against it. The streams stand apart otherwise, and norms are theirs: there are none of the blocks.
 */
import type { Value } from "../ir/graph.ts";
import { hostScalar } from "../ir/hostTensor.ts";
import { TOKENS } from "./blocks.ts";
import type { Decoder } from "./decoder.ts";
import type { HyperReader } from "./hyperReader.ts";

export interface LowRankConnections {
  readonly streams: number;
  /** Values between the two matrices of the gates. */
  readonly rank: number;
}

export function readLowRankConnections(keys: HyperReader): LowRankConnections {
  const streams = keys.positive("hyper_connection.count");
  if (streams < 2 || streams > 64) throw keys.badKey("hyper_connection.count", streams, "2 to 64");
  return { streams, rank: keys.positive("hyper_connection.low_rank") };
}

/** Each stream of [T, streams, width] normed; `name` of the weight, which differs from stream to stream. */
export function streamNorm(d: Decoder, x: Value, name: string, streams: number, label = "norm"): Value {
  const { width } = d.sizes;
  const weight = d.g.reshape([d.vector(`${name}.weight`, streams * width)], { shape: [streams, width] });
  return d.g.mul([d.plainNorm(x, width, label), weight], {}, `${label}_weight`);
}

/** The streams behind a part of a block; `name` of its weights, "blk.0.hc_attn". */
export function connectedByRank(
  d: Decoder,
  x: Value,
  name: string,
  connections: LowRankConnections,
  build: (input: Value) => Value,
): Value {
  const { g } = d;
  const { streams } = connections;
  const { width } = d.sizes;
  const { input, weights } = d.scoped("connection", () => {
    const { flat, mean } = mixed(d, x, name, connections);
    const wanted = d.linear(flat, `${name}_inject`, [streams, streams * width], "inject");
    const shares = g.sigmoid([divided(d, wanted, streams)]);
    const weights = g.mul([shares, g.constant(hostScalar("f32", 2))], {}, "weights");
    return { input: mean, weights: g.reshape([weights], { shape: [TOKENS, streams, 1] }) };
  });
  const made = g.reshape([build(input)], { shape: [TOKENS, 1, width] });
  return g.add([x, g.mul([made, weights])], {}, "streams");
}

/** One row of the streams, which the output matrix takes. */
export const joinedByRank = (d: Decoder, x: Value, name: string, connections: LowRankConnections): Value =>
  d.scoped("connection", () => mixed(d, x, name, connections).mean);

const divided = (d: Decoder, x: Value, by: number): Value =>
  d.g.mul([x, d.g.constant(hostScalar("f32", Math.fround(1 / by)))]);

interface Mixed {
  /** The streams normed, as one row: [T, streams · width]. */
  readonly flat: Value;
  /** The mean of the gated streams: [T, width]. */
  readonly mean: Value;
}

function mixed(d: Decoder, x: Value, name: string, { streams, rank }: LowRankConnections): Mixed {
  const { g } = d;
  const { width } = d.sizes;
  const size = streams * width;
  const normed = streamNorm(d, x, `${name}_norm`, streams);
  const flat = g.reshape([normed], { shape: [TOKENS, size] });
  const low = g.silu([divided(d, d.linear(flat, `${name}_down`, [rank, size], "down"), streams)]);
  const gates = g.sigmoid([d.linear(low, `${name}_up`, [size, rank], "up")], {}, "gates");
  const gated = g.mul([normed, g.reshape([gates], { shape: [TOKENS, streams, width] })], {}, "gated");
  const sum = g.reduce([gated], { kind: "sum", axes: [1] });
  return { flat, mean: divided(d, sum, streams) };
}
