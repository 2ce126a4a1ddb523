/** Numbers as callers give them (flat or as tensors), brought to the types and shapes that a graph says. */
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { Bindings } from "../ir/dim.ts";
import type { DType } from "../ir/dtype.ts";
import { plainDType } from "../ir/dtype.ts";
import type { Graph } from "../ir/graph.ts";
import { typedArrayOf } from "../ir/hostBytes.ts";
import type { HostTensor } from "../ir/hostTensor.ts";
import { hostTensor, sizeOf } from "../ir/hostTensor.ts";
import { bindType, staticShape } from "../ir/type.ts";
import type { GraphInput } from "./device.ts";
import { inputsOf, symbolsOf } from "./device.ts";

/** Numbers in row-major order (an array or a typed array), or a tensor that says its own shape. Complex ones are pairs. */
export type Numbers = ArrayLike<number> | HostTensor;

const flat = (numbers: Numbers): ArrayLike<number> => ("data" in numbers ? numbers.data : numbers);

/** Typed arrays that are what the engine reads already; of halves the bits would be, and callers give numbers. */
const OWN: { readonly [D in DType]?: abstract new (...args: never) => ArrayBufferView } = {
  u8: Uint8Array,
  i8: Int8Array,
  i16: Int16Array,
  u32: Uint32Array,
  i32: Int32Array,
  f32: Float32Array,
  f64: Float64Array,
};

/** Every input of a graph as a typed array of its element type. A name that is missing or unknown is an error. */
export function typedInputs(
  inputs: readonly GraphInput[],
  given: Readonly<Record<string, Numbers>>,
): Readonly<Record<string, ArrayBufferView>> {
  const names = inputs.map(({ name }) => name);
  for (const name of new Set([...names, ...Object.keys(given)]))
    if (!names.includes(name) || given[name] === undefined)
      throw new WorkbenchError(
        "INPUT_ARGUMENT",
        `[run] inputs: got ${Object.keys(given).join(", ") || "none"}, expected ${names.join(", ") || "none"}`,
      );
  return Object.fromEntries(
    inputs.map(({ name, type }) => {
      const numbers = flat(given[name] ?? []);
      const dtype = plainDType(type.dtype, name);
      const Own = OWN[dtype];
      if (Own !== undefined && numbers instanceof Own) return [name, numbers];
      return [name, typedArrayOf({ dtype, shape: [numbers.length], data: Float64Array.from(numbers) })];
    }),
  );
}

/** The same as tensors; sizes that are symbols follow from how many numbers there are. */
export function hostInputs(
  graph: Graph,
  given: Readonly<Record<string, Numbers>>,
  symbols: Bindings = {},
): Readonly<Record<string, HostTensor>> {
  const inputs = inputsOf(graph);
  const bindings = symbolsOf(inputs, { inputs: typedInputs(inputs, given), symbols });
  return Object.fromEntries(
    inputs.map(({ name, type }) => {
      const numbers = given[name] ?? [];
      const shape = "data" in numbers ? numbers.shape : staticShape(bindType(type, bindings), name);
      return [name, tensorOf(name, plainDType(type.dtype, name), shape, numbers)];
    }),
  );
}

export function tensorOf(name: string, dtype: DType, shape: readonly number[], numbers: Numbers): HostTensor {
  const data = flat(numbers);
  const expected = sizeOf(shape) * (dtype === "c64" ? 2 : 1);
  if (data.length === expected) return hostTensor(dtype, shape, data);
  throw new WorkbenchError(
    "INPUT_ARGUMENT",
    `[run] ${name}: got ${data.length} numbers, expected ${expected} for ${dtype}[${shape.join(",")}]`,
  );
}
