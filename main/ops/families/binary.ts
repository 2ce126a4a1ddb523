/** What element-wise binary ops share: inference, reference loop, gradient reduction, backend rules, samples. */
import type { CoremlEmitter, MilValue } from "../../backends/coreml/emitter.ts";
import { milBinary as milRule } from "../../backends/coreml/rules.ts";
import type { CpuEmitter, CpuValue } from "../../backends/cpu/emitter.ts";
import type { CpuKernel } from "../../backends/cpu/kernels.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import type { DType } from "../../ir/dtype.ts";
import { dtypeAmong } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import type { TensorType } from "../../ir/type.ts";
import { broadcastShapes, tensor } from "../../ir/type.ts";
import type { Batching, Lowering, Sample, VjpContext } from "../defineOp.ts";
import { scalarLike } from "./constants.ts";
import { NUMBERS, cpuKernel } from "../../backends/cpu/rules.ts";
import { at, broadcastData, numbersOf } from "./host.ts";
import { integers, normal, sample, uniform, withDoubles, wrappingPairs } from "./samples.ts";
import { unbroadcast } from "./unbroadcast.ts";

type Two<T> = readonly [T, T];

/** Both operands have one dtype (casts are explicit in the IR); shapes broadcast. */
export const inferBinary =
  (who: string) =>
  ([a, b]: Two<TensorType>): TensorType => {
    if (dtypeAmong("numbers", a.dtype, who) !== dtypeAmong("numbers", b.dtype, who))
      throw new WorkbenchError(
        "IR_TYPE",
        `[${who}] operand types differ: got ${a.dtype} and ${b.dtype}, expected one dtype`,
        {
          hint: "Insert a cast.",
        },
      );
    return tensor(a.dtype, broadcastShapes(a.shape, b.shape, who));
  };

/** `f` is told the dtype where whole numbers need more than float64 has (main/ir/wholeNumbers.ts); the result wraps by itself. */
export const referenceBinary =
  (f: (a: number, b: number, dtype: DType) => number) =>
  ([a, b]: Two<HostTensor>): HostTensor => {
    const shape = numbersOf(broadcastShapes(a.shape, b.shape, "reference"), "reference");
    const [x, y] = [broadcastData(a, shape), broadcastData(b, shape)];
    return hostTensor(
      a.dtype,
      shape,
      x.map((value, i) => f(value, at(y, i), a.dtype)),
    );
  };

export const broadcastBatching: Batching<NoAttrs, 2> = { kind: "elementwise" };

export const cpuBinary = (kernel: CpuKernel): Lowering<CpuEmitter, CpuValue, NoAttrs, 2> =>
  cpuKernel(kernel, { takes: NUMBERS });

/** The operator of that name on floats, `whole` on whole numbers where MIL's own rules for them are not ours. */
export const milBinary = (
  op: Parameters<typeof milRule>[0],
  whole?: (e: CoremlEmitter, x: MilValue, y: MilValue) => MilValue,
): Lowering<CoremlEmitter, MilValue, NoAttrs, 2> => {
  const rule = milRule(op);
  return whole === undefined
    ? rule
    : { ...rule, emit: (e, [x, y]) => (x.type.dtype === "int32" ? whole(e, x, y) : e.op(op, { x, y })) };
};

/** Gradient of max and min: the chosen operand gets the cotangent; where both are equal, half each. */
export function selectGradient(
  { g, ct, inputs: [a, b] }: VjpContext<NoAttrs, 2>,
  op: "gt" | "lt",
): readonly [Value, Value] {
  const [one, half, zero] = [1, 0.5, 0].map((v) => scalarLike(g, ct, v)) as [Value, Value, Value];
  const share = (x: Value, y: Value): Value =>
    g.where([g.compare([x, y], { op }), one, g.where([g.compare([x, y], { op: "eq" }), half, zero])]);
  return [unbroadcast(g, g.mul([ct, share(a, b)]), a), unbroadcast(g, g.mul([ct, share(b, a)]), b)];
}

export const binarySamples: readonly Sample<NoAttrs>[] = withDoubles([
  sample("same shape, odd sizes", [normal(1, [3, 5]), normal(2, [3, 5])], {}),
  sample("broadcast both ways", [normal(3, [4, 1, 3]), normal(4, [2, 1])], {}),
  sample("symbolic rows", [normal(5, ["T", 7]), normal(6, [7])], {}, { bindings: { T: 3 } }),
  sample("scalar operand", [normal(7, [5]), normal(8, [])], {}),
  sample("whole numbers", [integers(9, [2, 3], -9, 9), integers(10, [3], 1, 5)], {}),
  ...wrappingPairs,
]);

/** As above with operands away from zero and from each other, for ops with a pole or a kink. */
export const positiveBinarySamples: readonly Sample<NoAttrs>[] = withDoubles([
  sample("same shape, odd sizes", [uniform(1, [3, 5], 0.5, 3), uniform(2, [3, 5], 0.5, 3)], {}),
  sample("broadcast both ways", [uniform(3, [4, 1, 3], 0.5, 3), uniform(4, [2, 1], 0.5, 3)], {}),
  sample("symbolic rows", [uniform(5, ["T", 7], 0.5, 3), uniform(6, [7], 0.5, 3)], {}, { bindings: { T: 3 } }),
  sample("whole numbers", [integers(7, [2, 3], 1, 9), integers(8, [3], 1, 4)], {}),
]);
