/** What element-wise binary ops share: inference, reference loop, gradient reduction, backend rules, samples. */
import type { CpuEmitter, CpuValue } from "../../backends/cpu/emitter.ts";
import type { CpuKernel } from "../../backends/cpu/kernels.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import { plainDType } from "../../ir/dtype.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostTensor, sizeOf, stridesOf } from "../../ir/hostTensor.ts";
import type { TensorType } from "../../ir/type.ts";
import { broadcastShapes, tensor } from "../../ir/type.ts";
import type { Batching, Lowering, Sample } from "../defineOp.ts";

type Two<T> = readonly [T, T];

/** Both operands have one dtype (casts are explicit in the IR); shapes broadcast. */
export const inferBinary =
  (who: string) =>
  ([a, b]: Two<TensorType>): TensorType => {
    if (plainDType(a.dtype, who) !== plainDType(b.dtype, who))
      throw new WorkbenchError(
        "IR_TYPE",
        `[${who}] operand types differ: got ${a.dtype} and ${b.dtype}, expected one dtype`,
        {
          hint: "Insert a cast.",
        },
      );
    return tensor(a.dtype, broadcastShapes(a.shape, b.shape, who));
  };

/** Strides of `shape` seen from a broadcast result: 0 where it is stretched. */
function broadcastStrides(shape: readonly number[], rank: number): number[] {
  const strides = stridesOf(shape);
  return Array.from({ length: rank }, (_, i) => {
    const at = i - (rank - shape.length);
    return at < 0 || shape[at] === 1 ? 0 : (strides[at] ?? 0);
  });
}

export const referenceBinary =
  (f: (a: number, b: number) => number) =>
  ([a, b]: Two<HostTensor>): HostTensor => {
    const shape = broadcastShapes(a.shape, b.shape, "reference").map(Number);
    const out = new Float64Array(sizeOf(shape));
    const [sa, sb] = [broadcastStrides(a.shape, shape.length), broadcastStrides(b.shape, shape.length)];
    const index = new Array<number>(shape.length).fill(0);
    for (let i = 0; i < out.length; i++) {
      const at = (strides: readonly number[]): number => strides.reduce((sum, s, d) => sum + s * (index[d] ?? 0), 0);
      out[i] = f(a.data[at(sa)] ?? NaN, b.data[at(sb)] ?? NaN);
      for (let d = shape.length - 1; d >= 0; d--) {
        index[d] = (index[d] ?? 0) + 1;
        if ((index[d] ?? 0) < (shape[d] ?? 0)) break;
        index[d] = 0;
      }
    }
    return hostTensor(a.dtype, shape, out);
  };

export const broadcastBatching: Batching<NoAttrs, 2> = { kind: "elementwise" };

export const cpuBinary = (kernel: CpuKernel): Lowering<CpuEmitter, CpuValue, NoAttrs, 2> => ({
  kind: "native",
  emit: (e, [a, b], _attrs, node) => e.instr(kernel, [a, b], node.outputs),
});

export { milBinary } from "../../backends/coreml/rules.ts";

const normal = (seed: number, shape: TensorType["shape"]): Sample<NoAttrs>["inputs"][number] => ({
  type: tensor("f32", shape),
  fill: { kind: "normal", seed },
});

export const binarySamples: readonly Sample<NoAttrs>[] = [
  { title: "same shape, odd sizes", inputs: [normal(1, [3, 5]), normal(2, [3, 5])], attrs: {} },
  { title: "broadcast both ways", inputs: [normal(3, [4, 1, 3]), normal(4, [2, 1])], attrs: {} },
  { title: "symbolic rows", inputs: [normal(5, ["T", 7]), normal(6, [7])], attrs: {}, bindings: { T: 3 } },
];
