/** Decompression of constants: what Core ML does when it loads a model. */
import { elementCount, tensorType } from "../types.ts";
import type { Arguments, Kernel } from "../../simulator/kernel.ts";
import type { PackageTensor } from "../../package/packageTensor.ts";
import { packageTensor } from "../../package/packageTensor.ts";
import { unpackBits } from "../bits.ts";
import { simError, strides } from "../../simulator/tensor.ts";
import type { Infer, Operators } from "./operator.ts";

/** scale · (data − offset), each scale over a block whose size along every axis is data / scale. */
const blockwise: Kernel = (a) => {
  const [data, scale, offset] = [a.tensor("data"), a.tensor("scale"), a.optional("offset")];
  const out = new Float32Array(data.data.length);
  const rank = data.shape.length;
  const columns = data.shape[rank - 1] ?? 1;
  const groups = scale.shape[rank - 1] ?? 1;
  const block = columns / groups;
  const step = strides(data.shape);
  const scaleStep = strides(scale.shape);
  if (!Number.isInteger(block))
    simError(a.type, `scale [${scale.shape.join()}] does not divide data [${data.shape.join()}]`);
  for (let row = 0; row * columns < out.length; row++) {
    // The row of scales that this row of data belongs to.
    let scaleRow = 0;
    for (let d = 0; d < rank - 1; d++) {
      const [size, parts] = [data.shape[d] ?? 1, scale.shape[d] ?? 1];
      const at = Math.floor((row * columns) / (step[d] ?? 1)) % size;
      scaleRow += Math.floor(at / (size / parts)) * (scaleStep[d] ?? 0);
    }
    for (let g = 0; g < groups; g++) {
      const s = scale.data[scaleRow + g] as number;
      const o = offset === undefined ? 0 : (offset.data[scaleRow + g] as number);
      const from = row * columns + g * block;
      for (let i = from; i < from + block; i++) out[i] = s * ((data.data[i] as number) - o);
    }
  }
  return packageTensor(scale.dtype, data.shape, out);
};

/** One table and places in bytes, as many bits each as the table needs: the operator before CoreML8. */
function lutOfBytes(a: Arguments): PackageTensor {
  const [places, lut, shape] = [a.tensor("indices"), a.tensor("lut"), a.numbers("shape")];
  const [bits, count] = [Math.log2(lut.data.length), elementCount(shape)];
  if (![1, 2, 4, 6, 8].includes(bits)) simError(a.type, `a table of ${lut.data.length} values`);
  if (places.data.length !== Math.ceil((count * bits) / 8))
    simError(a.type, `${places.data.length} bytes for ${count} places of ${bits} bits`);
  const indices = unpackBits(bits, count, Uint8Array.from(places.data), false);
  return packageTensor(
    lut.dtype,
    shape,
    Float64Array.from(indices, (index) => lut.data[index] as number),
  );
}

/** lut[group…, index, vector]: the group of each axis is place / (size / groups). */
const lutToDense: Kernel = (a) => {
  if (a.has("shape")) return lutOfBytes(a);
  const [indices, lut] = [a.tensor("indices"), a.tensor("lut")];
  const rank = indices.shape.length;
  if ((lut.shape[rank + 1] ?? 1) !== 1) simError(a.type, "vector tables are not simulated");
  const entries = lut.shape[rank] ?? 1;
  const [step, lutStep] = [strides(indices.shape), strides(lut.shape)];
  const out = new Float64Array(elementCount(indices.shape));
  for (let i = 0; i < out.length; i++) {
    let at = 0;
    for (let d = 0; d < rank; d++) {
      const [size, groups] = [indices.shape[d] ?? 1, lut.shape[d] ?? 1];
      at += Math.floor((Math.floor(i / (step[d] ?? 1)) % size) / (size / groups)) * (lutStep[d] ?? 0);
    }
    const index = indices.data[i] as number;
    out[i] =
      index < entries
        ? (lut.data[at + index * (lutStep[rank] ?? 1)] as number)
        : simError(a.type, `index ${index} of ${entries}`);
  }
  return packageTensor(lut.dtype, indices.shape, out);
};

// Types of the results.

const blockwiseType: Infer = (a) => {
  const [data, scale] = [a.tensor("data"), a.tensor("scale")];
  const fits =
    data.shape.length === scale.shape.length &&
    data.shape.every((d, i) => d !== null && d % (scale.shape[i] ?? 0) === 0);
  if (!fits) a.fail(`scale [${scale.shape.join()}] does not divide data [${data.shape.join()}]`);
  if (a.has("offset")) {
    const offset = a.tensor("offset");
    if (offset.shape.join() !== scale.shape.join()) a.fail("offset and scale differ in shape");
    if (offset.dtype !== data.dtype && offset.dtype !== "fp16" && offset.dtype !== "fp32")
      a.fail(`offset is ${offset.dtype}, data ${data.dtype}`);
  }
  return [tensorType(scale.dtype, data.shape)];
};

const lutType: Infer = (a) => {
  const [indices, table] = [a.tensor("indices"), a.tensor("lut")];
  return [tensorType(table.dtype, a.has("shape") ? a.numbers("shape") : indices.shape)];
};

export const CONSTEXPR: Operators = {
  constexpr_blockwise_shift_scale: { infer: blockwiseType, run: blockwise },
  constexpr_lut_to_dense: { infer: lutType, run: lutToDense },
};
