/** Convolution, its transpose and pooling. Sums are kept in double precision and rounded once. */
import { elementCount, tensorType } from "../types.ts";
import type { Arguments, Kernel } from "../../simulator/kernel.ts";
import { packageTensor } from "../../package/packageTensor.ts";
import { simError, strides } from "../../simulator/tensor.ts";
import type { Reader } from "../reader.ts";
import type { MilDim } from "../types.ts";
import type { ArgumentFact, Infer, Operators } from "./operator.ts";
import { each } from "./operator.ts";

/** Begin pads of each spatial axis for a pad type. */
function beginPads(
  a: Arguments,
  sizes: readonly number[],
  kernel: readonly number[],
  stride: readonly number[],
  dilation: readonly number[],
): number[] {
  const type = a.text("pad_type");
  return sizes.map((size, i) => {
    if (type === "custom") return a.numbers("pad")[2 * i] ?? 0;
    if (type === "valid") return 0;
    const s = stride[i] ?? 1;
    const total = Math.max(0, (Math.ceil(size / s) - 1) * s + ((kernel[i] ?? 1) - 1) * (dilation[i] ?? 1) + 1 - size);
    return type === "same" ? Math.floor(total / 2) : Math.ceil(total / 2);
  });
}

/** Every tap of a window: input offset, or -1 outside. Visits output positions in order. */
function windows(
  sizes: readonly number[],
  out: readonly number[],
  kernel: readonly number[],
  stride: readonly number[],
  dilation: readonly number[],
  pads: readonly number[],
): Int32Array {
  const taps = elementCount(kernel);
  const places = elementCount(out);
  const table = new Int32Array(places * taps).fill(-1);
  const [outStep, tapStep, inStep] = [strides(out), strides(kernel), strides(sizes)];
  for (let p = 0; p < places; p++)
    for (let t = 0; t < taps; t++) {
      let at = 0;
      for (let d = 0; d < sizes.length; d++) {
        const o = Math.floor(p / (outStep[d] ?? 1)) % (out[d] ?? 1);
        const k = Math.floor(t / (tapStep[d] ?? 1)) % (kernel[d] ?? 1);
        const i = o * (stride[d] ?? 1) + k * (dilation[d] ?? 1) - (pads[d] ?? 0);
        at = i < 0 || i >= (sizes[d] ?? 0) || at < 0 ? -1 : at + i * (inStep[d] ?? 1);
      }
      table[p * taps + t] = at;
    }
  return table;
}

const conv: Kernel = (a) => {
  const [x, w, bias] = [a.tensor("x"), a.tensor("weight"), a.optional("bias")];
  const [sizes, kernel] = [x.shape.slice(2), w.shape.slice(2)];
  const [stride, dilation, groups] = [a.numbers("strides"), a.numbers("dilations"), a.number("groups")];
  const shape = (a.outputs[0]?.shape ?? []).map(Number);
  const out = shape.slice(2);
  const table = windows(sizes, out, kernel, stride, dilation, beginPads(a, sizes, kernel, stride, dilation));
  const [plane, places, taps] = [elementCount(sizes), elementCount(out), elementCount(kernel)];
  const [channels = 1, filters = 1, perGroup = 1] = [x.shape[1], w.shape[0], w.shape[1]];
  const data = new Float64Array(elementCount(shape));
  for (let n = 0; n < (x.shape[0] ?? 1); n++)
    for (let f = 0; f < filters; f++) {
      const first = Math.floor(f / (filters / groups)) * perGroup;
      for (let p = 0; p < places; p++) {
        let total = bias?.data[f] ?? 0;
        for (let c = 0; c < perGroup; c++)
          for (let t = 0; t < taps; t++) {
            const at = table[p * taps + t] as number;
            if (at >= 0)
              total +=
                (x.data[(n * channels + first + c) * plane + at] as number) *
                (w.data[(f * perGroup + c) * taps + t] as number);
          }
        data[(n * filters + f) * places + p] = total;
      }
    }
  return packageTensor(a.dtype, shape, data);
};

/** Every value of the image, times the weight [channels, filters of a group, taps], is added where a convolution would read it. */
const convTranspose: Kernel = (a) => {
  const [x, w, bias] = [a.tensor("x"), a.tensor("weight"), a.optional("bias")];
  const [sizes, kernel] = [x.shape.slice(2), w.shape.slice(2)];
  const [stride, dilation, groups] = [a.numbers("strides"), a.numbers("dilations"), a.number("groups")];
  if (a.text("pad_type") === "same") simError("conv_transpose", "pad_type same is not emitted");
  const shape = (a.outputs[0]?.shape ?? []).map(Number);
  const out = shape.slice(2);
  const table = windows(out, sizes, kernel, stride, dilation, beginPads(a, out, kernel, stride, dilation));
  const [plane, places, taps] = [elementCount(out), elementCount(sizes), elementCount(kernel)];
  const [channels = 1, perGroup = 1, filters = 1] = [x.shape[1], w.shape[1], shape[1]];
  const data = new Float64Array(elementCount(shape));
  if (bias !== undefined)
    for (let i = 0; i < data.length; i++) data[i] = bias.data[Math.floor(i / plane) % filters] ?? 0;
  for (let n = 0; n < (x.shape[0] ?? 1); n++)
    for (let c = 0; c < channels; c++)
      for (let f = 0; f < perGroup; f++) {
        const to = (n * filters + Math.floor(c / (channels / groups)) * perGroup + f) * plane;
        for (let i = 0; i < table.length; i++) {
          const at = table[i] as number;
          const v = x.data[(n * channels + c) * places + Math.floor(i / taps)] as number;
          if (at >= 0)
            data[to + at] = (data[to + at] as number) + v * (w.data[(c * perGroup + f) * taps + (i % taps)] as number);
        }
      }
  return packageTensor(a.dtype, shape, data);
};

const pool =
  (average: boolean): Kernel =>
  (a) => {
    const x = a.tensor("x");
    const sizes = x.shape.slice(2);
    const [kernel, stride] = [a.numbers("kernel_sizes"), a.numbers("strides")];
    const shape = (a.outputs[0]?.shape ?? []).map(Number);
    const out = shape.slice(2);
    const table = windows(sizes, out, kernel, stride, [], beginPads(a, sizes, kernel, stride, []));
    const [plane, places, taps] = [elementCount(sizes), elementCount(out), elementCount(kernel)];
    const skipPadding = average && a.flag("exclude_padding_from_average");
    const data = new Float64Array(elementCount(shape));
    for (let from = 0; from < x.data.length / plane; from++)
      for (let p = 0; p < places; p++) {
        let total = average ? 0 : -Infinity;
        let count = 0;
        for (let t = 0; t < taps; t++) {
          const at = table[p * taps + t] as number;
          if (at < 0) continue;
          count += 1;
          const v = x.data[from * plane + at] as number;
          total = average ? total + v : Math.max(total, v);
        }
        data[from * places + p] = average ? total / (skipPadding ? Math.max(1, count) : taps) : total;
      }
    return packageTensor(a.dtype, shape, data);
  };

// Types of the results.

/** Spatial output sizes of convolution and pooling. */
function windowed(
  a: Reader,
  sizes: readonly MilDim[],
  kernel: readonly MilDim[],
  dilations: readonly number[],
): MilDim[] {
  const [strides, pads, padType] = [a.numbers("strides"), a.numbers("pad"), a.string("pad_type")];
  const ceil = a.flag("ceil_mode");
  return sizes.map((size, i) => {
    const [k, s, d] = [kernel[i] ?? null, strides[i] ?? 1, dilations[i] ?? 1];
    if (size === null || k === null) return null;
    if (padType === "same" || padType === "same_lower") return Math.ceil(size / s);
    const pad = padType === "custom" ? (pads[2 * i] ?? 0) + (pads[2 * i + 1] ?? 0) : 0;
    const room = (size + pad - d * (k - 1) - 1) / s;
    return (ceil ? Math.ceil(room) : Math.floor(room)) + 1;
  });
}

const convType: Infer = (a) => {
  const [x, w] = [a.tensor("x"), a.tensor("weight")];
  return [
    tensorType(x.dtype, [
      x.shape[0] ?? null,
      w.shape[0] ?? null,
      ...windowed(a, x.shape.slice(2), w.shape.slice(2), a.numbers("dilations")),
    ]),
  ];
};

const convTransposeType: Infer = (a) => {
  const [x, w] = [a.tensor("x"), a.tensor("weight")];
  const filters = (w.shape[1] ?? 1) * a.number("groups");
  const [strides, pads, dilations] = [a.numbers("strides"), a.numbers("pad"), a.numbers("dilations")];
  const reached = x.shape.slice(2).map((size, i): MilDim => {
    const taps = w.shape[i + 2] ?? null;
    if (size === null || taps === null) return null;
    const pad = a.string("pad_type") === "custom" ? (pads[2 * i] ?? 0) + (pads[2 * i + 1] ?? 0) : 0;
    return (size - 1) * (strides[i] ?? 1) + (taps - 1) * (dilations[i] ?? 1) + 1 - pad;
  });
  const shape = [x.shape[0] ?? null, filters, ...reached];
  const given = a.optionalNumbers("output_shape");
  if (given !== undefined && given.join() !== shape.join())
    a.fail(`output_shape [${given.join()}] is not [${shape.join()}]`);
  return [tensorType(x.dtype, shape)];
};

const poolType: Infer = (a) => {
  const x = a.tensor("x");
  return [
    tensorType(x.dtype, [...x.shape.slice(0, 2), ...windowed(a, x.shape.slice(2), a.numbers("kernel_sizes"), [])]),
  ];
};

const taps = (inputs: ReadonlyMap<string, ArgumentFact>): number =>
  elementCount((inputs.get("weight")?.type.shape ?? []).slice(1)) || 1;

export const WINDOWS: Operators = {
  conv: { infer: convType, run: conv, flops: (out, inputs) => 2 * out * taps(inputs) },
  conv_transpose: {
    infer: convTransposeType,
    run: convTranspose,
    flops: (_out, inputs) => 2 * (elementCount(inputs.get("x")?.type.shape ?? []) || 0) * taps(inputs),
  },
  ...each({ infer: poolType }, { avg_pool: pool(true), max_pool: pool(false) }),
};
