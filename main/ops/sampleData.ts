/** Turns an op's samples into tensors and one-node graphs: what every automatic test of the op starts from. */
import { invariant } from "../diagnostics/errors.ts";
import { GraphBuilder } from "../ir/builder.ts";
import type { DType } from "../ir/dtype.ts";
import { isFloat, isPacked } from "../ir/dtype.ts";
import type { Graph } from "../ir/graph.ts";
import type { HostTensor } from "../ir/hostTensor.ts";
import { hostTensor, sizeOf } from "../ir/hostTensor.ts";
import { roundToFloat } from "../quant/half.ts";
import type { TensorType } from "../ir/type.ts";
import { bindType, staticShape } from "../ir/type.ts";
import type { AttrRecord } from "../ir/attributes.ts";
import type { AnyOp, Sample, SampleInput } from "./defineOp.ts";
import type { EvaluationInput } from "./evaluate.ts";
import { makeRegion, opTable } from "./index.ts";

/** A small seeded generator of 32-bit words (mulberry32, public domain), as numbers in [0, 1). */
function uniformGenerator(seed: number): () => number {
  let state = (seed * 0x9e3779b9) | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

function numbersFor(fill: SampleInput["fill"], count: number, variant: number): Float64Array {
  if (fill.kind === "values") return Float64Array.from(fill.data);
  const next = uniformGenerator(fill.seed + 1000 * variant);
  const draw = (): number => {
    switch (fill.kind) {
      case "normal": {
        const radius = Math.sqrt(-2 * Math.log(1 - next()));
        return radius * Math.cos(2 * Math.PI * next()) * (fill.scale ?? 1) + (fill.offset ?? 0);
      }
      case "uniform":
        return fill.low + next() * (fill.high - fill.low);
      case "integers":
        return fill.low + Math.floor(next() * (fill.high - fill.low + 1));
    }
  };
  return new Float64Array(count).map(draw);
}

/** The dtype that stands for an element type on the host: packed weights are what their blocks stand for. */
export const hostDType = (type: TensorType): DType => (isPacked(type.dtype) ? "f32" : type.dtype);

/** One operand; `variant` gives other numbers of the same kind. */
export function sampleTensor(
  input: SampleInput,
  bindings: Sample<AttrRecord>["bindings"] = {},
  variant = 0,
): HostTensor {
  const type = bindType(input.type, bindings);
  const shape = staticShape(type, "sample");
  const dtype = hostDType(type);
  // A complex number is two.
  const data = numbersFor(input.fill, sizeOf(shape) * (dtype === "c64" ? 2 : 1), variant);
  if (dtype === "c64") return hostTensor(dtype, shape, data.map(Math.fround));
  return hostTensor(dtype, shape, isFloat(dtype) && dtype !== "f64" ? data.map((x) => roundToFloat(x, dtype)) : data);
}

export const sampleTensors = (sample: Sample<AttrRecord>, variant = 0): readonly HostTensor[] =>
  sample.inputs.map((input) => sampleTensor(input, sample.bindings, variant));

export const inputName = (index: number): string => `x${index}`;
export const outputName = (index: number): string => `y${index}`;

/** The op alone: operands are inputs `x0 …`, packed ones weights of the same names; results are outputs `y0 …`. */
export function sampleGraph(op: AnyOp, sample: Sample<AttrRecord>): Graph {
  const builder = new GraphBuilder(opTable, `${op.name}: ${sample.title}`);
  const operands = sample.inputs.map(({ type }, i) =>
    isPacked(type.dtype)
      ? builder.param(inputName(i), type, { file: "sample", tensor: inputName(i) })
      : builder.input(inputName(i), type),
  );
  const types = sample.inputs.map(({ type }) => type);
  const regions = sample.regions?.(makeRegion, types) ?? [];
  const results = builder.apply(op.name, operands, sample.attrs, { regions });
  invariant(results.length > 0, `${op.name} has no output`);
  results.forEach((value, i) => builder.output(outputName(i), value));
  return builder.finish();
}

/** What `evaluate` takes to run a sample's graph. */
export function sampleRun(
  sample: Sample<AttrRecord>,
  tensors: readonly HostTensor[],
): Required<Pick<EvaluationInput, "inputs" | "param" | "bindings">> {
  const named = Object.fromEntries(tensors.map((tensor, i) => [inputName(i), tensor]));
  const inputs = Object.fromEntries(
    Object.entries(named).filter(([, tensor], i) => tensor && !isPacked(sample.inputs[i]?.type.dtype ?? "f32")),
  );
  return {
    inputs,
    bindings: sample.bindings ?? {},
    param: (name) => {
      const tensor = named[name];
      invariant(tensor, `no sample weight ${name}`);
      return tensor;
    },
  };
}
