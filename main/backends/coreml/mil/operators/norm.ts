/** Norms over axes and over channels. */
import type { Arguments, Kernel } from "../../simulator/kernel.ts";
import type { PackageTensor } from "../../package/packageTensor.ts";
import { packageTensor } from "../../package/packageTensor.ts";
import { broadcastStrides, offsets } from "../../simulator/tensor.ts";
import { elementCount } from "../types.ts";
import type { Operators } from "./operator.ts";
import { EIGHT_EACH, each, same } from "./operator.ts";
import { reducedAxes } from "./reduce.ts";

/** (x − mean) / √(variance + ε) · γ + β over some axes; γ and β have the shape of those axes. */
const layerNorm: Kernel = (a) => {
  const x = a.tensor("x");
  const axes = reducedAxes(a, x.shape.length);
  const kept = x.shape.map((d, i) => (axes.has(i) ? 1 : d));
  const to = offsets(x.shape, broadcastStrides(kept, x.shape));
  const groups = elementCount(kept);
  const count = x.data.length / Math.max(1, groups);
  const mean = new Float64Array(groups);
  const spread = new Float64Array(groups);
  for (let i = 0; i < to.length; i++)
    mean[to[i] as number] = (mean[to[i] as number] as number) + (x.data[i] as number) / count;
  for (let i = 0; i < to.length; i++)
    spread[to[i] as number] =
      (spread[to[i] as number] as number) + ((x.data[i] as number) - (mean[to[i] as number] as number)) ** 2 / count;
  const affine = x.shape.map((d, i) => (axes.has(i) ? d : 1));
  const within = offsets(x.shape, broadcastStrides(affine, x.shape));
  const [gamma, beta, epsilon] = [a.optional("gamma"), a.optional("beta"), a.number("epsilon")];
  const out = new Float64Array(x.data.length);
  for (let i = 0; i < out.length; i++) {
    const g = to[i] as number;
    const y = ((x.data[i] as number) - (mean[g] as number)) / Math.sqrt((spread[g] as number) + epsilon);
    out[i] = y * (gamma?.data[within[i] as number] ?? 1) + (beta?.data[within[i] as number] ?? 0);
  }
  return packageTensor(a.dtype, x.shape, out);
};

/** Divides by the length of the last three dimensions. */
const l2Norm: Kernel = (a) => {
  const x = a.tensor("x");
  const inner = elementCount(x.shape.slice(-3));
  const epsilon = a.number("epsilon");
  const out = new Float64Array(x.data.length);
  for (let o = 0; o < out.length; o += inner) {
    let total = 0;
    for (let i = o; i < o + inner; i++) total += (x.data[i] as number) ** 2;
    for (let i = o; i < o + inner; i++) out[i] = (x.data[i] as number) / Math.sqrt(total + epsilon);
  }
  return packageTensor(a.dtype, x.shape, out);
};

/** Per channel (axis 1) with given statistics, or with those of each (batch, channel) plane. */
function channelNorm(
  a: Arguments,
  statistics: (channel: number, from: number, inner: number) => readonly [mean: number, variance: number],
): PackageTensor {
  const x = a.tensor("x");
  const channels = x.shape[1] ?? 1;
  const inner = elementCount(x.shape.slice(2));
  const [gamma, beta, epsilon] = [a.optional("gamma"), a.optional("beta"), a.number("epsilon")];
  const out = new Float64Array(x.data.length);
  for (let from = 0; from < out.length; from += inner) {
    const c = (from / inner) % channels;
    const [mean, variance] = statistics(c, from, inner);
    const scale = (gamma?.data[c] ?? 1) / Math.sqrt(variance + epsilon);
    for (let i = from; i < from + inner; i++) out[i] = ((x.data[i] as number) - mean) * scale + (beta?.data[c] ?? 0);
  }
  return packageTensor(a.dtype, x.shape, out);
}

const batchNorm: Kernel = (a) => {
  const [mean, variance] = [a.tensor("mean"), a.tensor("variance")];
  return channelNorm(a, (c) => [mean.data[c] ?? 0, variance.data[c] ?? 1]);
};

const instanceNorm: Kernel = (a) => {
  const { data } = a.tensor("x");
  return channelNorm(a, (_c, from, inner) => {
    let mean = 0;
    let variance = 0;
    for (let i = from; i < from + inner; i++) mean += (data[i] as number) / inner;
    for (let i = from; i < from + inner; i++) variance += ((data[i] as number) - mean) ** 2 / inner;
    return [mean, variance];
  });
};

export const NORM: Operators = {
  ...each({ infer: same, ...EIGHT_EACH }, { layer_norm: layerNorm }),
  ...each({ infer: same }, { l2_norm: l2Norm, batch_norm: batchNorm, instance_norm: instanceNorm }),
};
