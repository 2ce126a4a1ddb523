/** What element-wise ops of two operands share: all fields but those that `binaryOp` asks for, and the samples. */
import type { CoremlEmitter, MilValue } from "../../backends/coreml/emitter.ts";
import { milBinary as milRule } from "../../backends/coreml/rules.ts";
import type { CpuEmitter, CpuValue } from "../../backends/cpu/emitter.ts";
import type { CpuKernel } from "../../backends/cpu/kernels.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import type { DType } from "../../ir/dtype.ts";
import { dtypeAmong } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import type { Trait } from "../../ir/opTable.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import type { TensorType } from "../../ir/type.ts";
import { broadcastShapes, tensor } from "../../ir/type.ts";
import type { Backends, Gradient, Lowering, Op, Oracle, Sample, VjpContext } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { scalarLike } from "./constants.ts";
import { NUMBERS, cpuKernel } from "../../backends/cpu/rules.ts";
import { at, broadcastData, numbersOf } from "./host.ts";
import { integers, normals, sample, uniform, values, withDoubles, wrappingPairs } from "./samples.ts";
import { unbroadcast } from "./unbroadcast.ts";

type Two<T> = readonly [T, T];

/** The one dtype of both operands: casts are explicit in the IR. */
export function commonDType(op: string, kinds: Parameters<typeof dtypeAmong>[0], a: TensorType, b: TensorType): DType {
  const dtype = dtypeAmong(kinds, a.dtype, op);
  if (dtype !== dtypeAmong(kinds, b.dtype, op))
    throw new WorkbenchError(
      "IR_TYPE",
      `[${op}] operand types differ: got ${a.dtype} and ${b.dtype}, expected one dtype`,
      { hint: "Insert a cast." },
    );
  return dtype;
}

/**
 * It gets the dtype, because whole numbers need more than float64 has (main/ir/wholeNumbers.ts).
 * The result wraps later.
 */
type ElementFunction = (a: number, b: number, dtype: DType) => number;

/** `dtype` is the result's, where it is not that of the operands. */
export const referenceBinary =
  (f: ElementFunction) =>
  ([a, b]: Two<HostTensor>, dtype = a.dtype): HostTensor => {
    const shape = numbersOf(broadcastShapes(a.shape, b.shape, "reference"), "reference");
    const [x, y] = [broadcastData(a, shape), broadcastData(b, shape)];
    const data = x.map((value, i) => f(value, at(y, i), a.dtype));
    return hostTensor(dtype, shape, data);
  };

export type Binary<Name extends string> = Op<Name, NoAttrs, 2>;

interface BinaryFields {
  readonly summary: string;
  /** Element types of both operands: numbers, when absent. */
  readonly takes?: Parameters<typeof dtypeAmong>[0];
  readonly operands?: readonly [string, string];
  readonly reference: ElementFunction;
  readonly oracle: Oracle;
  /** The cotangents of both operands, of the shape of the result; they are summed to the operands' own. */
  readonly gradient: ((context: VjpContext<NoAttrs, 2>) => Two<Value>) | Gradient<NoAttrs, 2>;
  /** Beside `pure` and `elementwise`. */
  readonly traits?: readonly Trait[];
  readonly backends: Backends<NoAttrs, 2>;
  readonly samples: readonly Sample<NoAttrs>[];
}

export const binaryOp = <Name extends string>(name: Name, fields: BinaryFields): Binary<Name> => {
  const { gradient } = fields;
  return defineOp({
    name,
    summary: fields.summary,
    arity: 2,
    operands: fields.operands ?? ["left", "right"],
    outputs: "one",
    attributes: {},
    infer: ([a, b]) =>
      tensor(commonDType(name, fields.takes ?? "numbers", a, b), broadcastShapes(a.shape, b.shape, name)),
    reference: (inputs) => referenceBinary(fields.reference)(inputs),
    oracle: fields.oracle,
    gradient:
      typeof gradient === "function"
        ? {
            kind: "vjp",
            rule: (context) => gradient(context).map((ct, i) => unbroadcast(context.g, ct, context.inputs[i] ?? ct)),
          }
        : gradient,
    batching: { kind: "elementwise" },
    traits: ["pure", "elementwise", ...(fields.traits ?? [])],
    backends: fields.backends,
    samples: fields.samples,
  });
};

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
export function selectGradient({ g, ct, inputs: [a, b] }: VjpContext<NoAttrs, 2>, op: "gt" | "lt"): Two<Value> {
  const [one, half, zero] = [1, 0.5, 0].map((v) => scalarLike(g, ct, v)) as [Value, Value, Value];
  const share = (x: Value, y: Value): Value =>
    g.where([g.compare([x, y], { op }), one, g.where([g.compare([x, y], { op: "eq" }), half, zero])]);
  return [g.mul([ct, share(a, b)]), g.mul([ct, share(b, a)])];
}

export const binarySamples: readonly Sample<NoAttrs>[] = withDoubles([
  sample("same shape, odd sizes", normals(1, [3, 5], [3, 5]), {}),
  sample("broadcast both ways", normals(3, [4, 1, 3], [2, 1]), {}),
  sample("symbolic rows", normals(5, ["T", 7], [7]), {}, { bindings: { T: 3 } }),
  sample("scalar operand", normals(7, [5], []), {}),
  sample("whole numbers", [integers(9, [2, 3], -9, 9), integers(10, [3], 1, 5)], {}),
  ...wrappingPairs,
]);

/** Without the whole numbers. */
export const floatPairs: readonly Sample<NoAttrs>[] = binarySamples.filter(({ inputs }) =>
  inputs.every(({ type }) => type.dtype.startsWith("f")),
);

/** As above with operands away from zero and from each other, for ops with a pole or a kink. */
export const positiveBinarySamples: readonly Sample<NoAttrs>[] = withDoubles([
  sample("same shape, odd sizes", [uniform(1, [3, 5], 0.5, 3), uniform(2, [3, 5], 0.5, 3)], {}),
  sample("broadcast both ways", [uniform(3, [4, 1, 3], 0.5, 3), uniform(4, [2, 1], 0.5, 3)], {}),
  sample("symbolic rows", [uniform(5, ["T", 7], 0.5, 3), uniform(6, [7], 0.5, 3)], {}, { bindings: { T: 3 } }),
  sample("whole numbers", [integers(7, [2, 3], 1, 9), integers(8, [3], 1, 4)], {}),
]);

/** Every pair of a NaN, infinities and zeros, and nothing at all. */
const EDGES = [NaN, Infinity, -Infinity, 0, -0, 1.5, -2];
export const edgePairs: readonly Sample<NoAttrs>[] = [
  sample("NaN, infinities, zeros", [values(EDGES, [7, 1]), values(EDGES)], {}, { differentiable: false }),
  sample("an empty axis", [values([], [0, 3]), values([1, 2, 3])], {}),
];
