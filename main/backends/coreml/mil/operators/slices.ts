/** Operators that read or write a slice. */
import { sliceAxes } from "../slices.ts";
import type { Arguments, Kernel } from "../../simulator/kernel.ts";
import type { PackageTensor } from "../../package/packageTensor.ts";
import { offsets, pick, simError, strides } from "../../simulator/tensor.ts";
import { tensorType } from "../types.ts";
import type { Infer, Operators } from "./operator.ts";
import { same } from "./operator.ts";

const masks = (
  a: Arguments,
): { readonly [K in "stride" | "beginMask" | "endMask" | "squeezeMask"]?: readonly number[] } => ({
  ...(a.has("stride") ? { stride: a.numbers("stride") } : {}),
  ...(a.has("begin_mask") ? { beginMask: a.numbers("begin_mask") } : {}),
  ...(a.has("end_mask") ? { endMask: a.numbers("end_mask") } : {}),
  ...(a.has("squeeze_mask") ? { squeezeMask: a.numbers("squeeze_mask") } : {}),
});

/** Offsets of a slice inside x, and its shape. */
function sliceOf(a: Arguments, x: PackageTensor): { readonly at: Int32Array; readonly shape: number[] } {
  const axes = sliceAxes(x.shape, { begin: a.numbers("begin"), end: a.numbers("end"), ...masks(a) });
  const step = strides(x.shape);
  const start = axes.reduce((sum, s, i) => sum + s.begin * (step[i] ?? 0), 0);
  return {
    at: offsets(
      axes.map((s) => s.count),
      axes.map((s, i) => s.stride * (step[i] ?? 0)),
      start,
    ),
    shape: axes.filter((s) => !s.squeeze).map((s) => s.count),
  };
}

const sliceByIndex: Kernel = (a) => {
  const x = a.tensor("x");
  const { at, shape } = sliceOf(a, x);
  return pick(x, shape, at);
};

const sliceBySize: Kernel = (a) => {
  const x = a.tensor("x");
  const begin = a.numbers("begin");
  const shape = a.numbers("size").map((n, i) => (n === -1 ? (x.shape[i] ?? 0) - (begin[i] ?? 0) : n));
  shape.forEach((n, i) => {
    if ((begin[i] ?? 0) < 0 || (begin[i] ?? 0) + n > (x.shape[i] ?? 0))
      simError(a.type, `begin ${begin.join()} size ${shape.join()} is outside [${x.shape.join()}]`);
  });
  const step = strides(x.shape);
  return pick(
    x,
    shape,
    offsets(
      shape,
      step,
      begin.reduce((sum, b, i) => sum + b * (step[i] ?? 0), 0),
    ),
  );
};

const sliceUpdate: Kernel = (a) => {
  const [x, update] = [a.tensor("x"), a.tensor("update")];
  const { at } = sliceOf(a, x);
  if (at.length !== update.data.length)
    simError(a.type, `the slice has ${at.length} elements, the update ${update.data.length}`);
  const data = x.data.slice();
  for (let i = 0; i < at.length; i++) data[at[i] as number] = update.data[i] as number;
  return { dtype: x.dtype, shape: x.shape, data };
};

// Types of the results.

const sliceType: Infer = (a) => {
  const x = a.tensor("x");
  const [begin, end] = [a.knownNumbers("begin"), a.knownNumbers("end")];
  const squeezeMask = a.optionalNumbers("squeeze_mask");
  const fixed = x.shape.every((d): d is number => d !== null);
  if (begin === undefined || end === undefined || !fixed) {
    const [beginMask, endMask] = [a.optionalNumbers("begin_mask"), a.optionalNumbers("end_mask")];
    return [
      tensorType(
        x.dtype,
        x.shape.flatMap((d, i) => (squeezeMask?.[i] ? [] : [beginMask?.[i] && endMask?.[i] ? d : null])),
      ),
    ];
  }
  const axes = sliceAxes(x.shape, {
    begin,
    end,
    stride: a.optionalNumbers("stride"),
    beginMask: a.optionalNumbers("begin_mask"),
    endMask: a.optionalNumbers("end_mask"),
    squeezeMask,
  });
  return [
    tensorType(
      x.dtype,
      axes.filter((s) => !s.squeeze).map((s) => s.count),
    ),
  ];
};

const sliceBySizeType: Infer = (a) => {
  const x = a.tensor("x");
  const begin = a.knownNumbers("begin");
  return [
    tensorType(
      x.dtype,
      a
        .numbers("size")
        .map((n, i) => (n !== -1 ? n : begin === undefined ? null : (x.shape[i] ?? 0) - (begin[i] ?? 0))),
    ),
  ];
};

export const SLICES: Operators = {
  slice_by_index: { infer: sliceType, run: sliceByIndex },
  slice_by_size: { infer: sliceBySizeType, run: sliceBySize },
  slice_update: { infer: same, run: sliceUpdate },
};
