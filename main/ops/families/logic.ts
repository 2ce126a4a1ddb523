/** What ops on truth values and on the bits of whole numbers share. */
import { TRUTH, WHOLE, cpuKernel } from "../../backends/cpu/rules.ts";
import { milBinary } from "../../backends/coreml/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import type { CpuKernel } from "../../backends/cpu/kernels.ts";
import type { MlxFunction } from "../../backends/mlx/functions.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import type { DType } from "../../ir/dtype.ts";
import type { Decomposed, Oracle, Sample } from "../defineOp.ts";
import { decomposed, nondifferentiable, unsupported } from "../defineOp.ts";
import type { Decomposition } from "../defineOp.ts";
import type { Binary } from "./binary.ts";
import { binaryOp } from "./binary.ts";
import { integers, sample, values, wrappingPairs } from "./samples.ts";

export const noDerivative = nondifferentiable("its operands are no real numbers: there is nothing to differentiate by");

const truth = (seed: number, shape: readonly (number | string)[]): Sample<NoAttrs>["inputs"][number] =>
  integers(seed, shape, 0, 1, "bool");

/** The first operands of `truthPairs` are all of one operand's. */
export const truthPairs: readonly Sample<NoAttrs>[] = [
  sample("odd sizes", [truth(1, [3, 5]), truth(2, [3, 5])], {}),
  sample("all pairs, broadcast", [values([0, 1], [2, 1], "bool"), values([0, 1], [2], "bool")], {}),
  sample("symbolic rows", [truth(3, ["T", 7]), truth(4, [7])], {}, { bindings: { T: 3 } }),
  sample("an empty axis", [values([], [0, 3], "bool"), truth(5, [3])], {}),
];

type LogicName = "logical_and" | "logical_or" | "logical_xor";
interface LogicFields {
  readonly summary: string;
  readonly reference: (a: number, b: number) => number;
  readonly oracle: Oracle;
  readonly mlx: MlxFunction | Decomposition<NoAttrs, 2>;
}

/** Of two truth values. */
export const logicOp = <Name extends LogicName>(name: Name, { mlx, ...fields }: LogicFields): Binary<Name> =>
  binaryOp(name, {
    ...fields,
    takes: "bool",
    gradient: noDerivative,
    traits: ["commutative"],
    backends: {
      cpu: cpuKernel<NoAttrs>(name, { takes: TRUTH }),
      coreml: milBinary(name),
      mlx: typeof mlx === "function" ? decomposed(mlx) : mlxCall<NoAttrs>(mlx, { takes: "any" }),
    },
    samples: truthPairs,
  });

const ON_HOST = unsupported(
  "Core ML has no operators on the bits of whole numbers: it runs as a host segment between Core ML models",
);

interface BitFields {
  readonly summary: string;
  readonly operands?: readonly [string, string];
  /** Of the bits with their sign; what it gives wraps. */
  readonly reference: (a: bigint, b: bigint, bits: number) => bigint;
  readonly oracle: Oracle;
  readonly mlx: MlxFunction;
  readonly traits?: readonly "commutative"[];
  readonly coreml?: Decomposed<NoAttrs, 2>;
  readonly samples: readonly Sample<NoAttrs>[];
}

const BITS: { readonly [D in DType]?: number } = { u8: 8, i8: 8, i16: 16, u32: 32, i32: 32, i64: 64 };

/** Of two whole numbers, bit by bit. */
export const bitOp = <Name extends CpuKernel & `${string}_${string}`>(
  name: Name,
  { mlx, coreml = ON_HOST as never, reference, ...fields }: BitFields,
): Binary<Name> =>
  binaryOp(name, {
    ...fields,
    takes: "whole numbers",
    reference: (a, b, dtype) => {
      const bits = BITS[dtype] ?? 64;
      const made = reference(BigInt(a), BigInt(b), bits);
      return Number(dtype.startsWith("u") ? BigInt.asUintN(bits, made) : BigInt.asIntN(bits, made));
    },
    gradient: noDerivative,
    backends: {
      cpu: cpuKernel<NoAttrs>(name, { takes: WHOLE }),
      coreml,
      mlx: mlxCall<NoAttrs>(mlx, { takes: "whole" }),
    },
  });

export const bitPairs: readonly Sample<NoAttrs>[] = [
  sample("odd sizes", [integers(1, [3, 5], -99, 99), integers(2, [3, 5], -99, 99)], {}),
  sample("broadcast both ways", [integers(3, [4, 1, 3], -99, 99), integers(4, [2, 1], -99, 99)], {}),
  sample("symbolic rows", [integers(5, ["T", 7], -99, 99), integers(6, [7], -99, 99)], {}, { bindings: { T: 3 } }),
  sample("an empty axis", [values([], [0, 3], "i32"), values([1, 2, 3], [3], "i32")], {}),
  ...wrappingPairs,
];

const COUNTS = [0, 1, 5, 7, 8, 31, 32, 63, 64, 100];
const NUMBERS = [1, -1, -77, 100, 127];

/** Every count, those that no bit outlasts and those below 0 too. */
export const shiftPairs: readonly Sample<NoAttrs>[] = [
  sample("odd sizes", [integers(1, [3, 5], -99, 99), integers(2, [3, 5], 0, 9)], {}),
  sample("symbolic rows", [integers(5, ["T", 7], -99, 99), integers(6, [7], 0, 9)], {}, { bindings: { T: 3 } }),
  sample("an empty axis", [values([], [0, 3], "i32"), values([1, 2, 3], [3], "i32")], {}),
  ...Object.keys(BITS).map((dtype): Sample<NoAttrs> => {
    const signed = !dtype.startsWith("u");
    const numbers = NUMBERS.map((x) => (signed ? x : Math.abs(x)));
    const counts = signed ? [...COUNTS, -1, -100] : COUNTS;
    const of = (data: readonly number[], shape: readonly number[]): Sample<NoAttrs>["inputs"][number] =>
      values(data, shape, dtype as DType);
    return sample(`counts of ${dtype}`, [of(numbers, [numbers.length, 1]), of(counts, [counts.length])], {});
  }),
];
