/** What element-wise ops of one operand share: all fields but those that `unaryOp` asks for, and the samples. */
import { milUnary } from "../../backends/coreml/rules.ts";
import { NUMBERS, REALS, cpuKernel } from "../../backends/cpu/rules.ts";
import type { CpuKernel } from "../../backends/cpu/kernels.ts";
import type { MlxFunction } from "../../backends/mlx/functions.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import type { AttrSchema, NoAttrs } from "../../ir/attributes.ts";
import type { DType } from "../../ir/dtype.ts";
import { dtypeAmong } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import type { Trait } from "../../ir/opTable.ts";
import type { TensorType } from "../../ir/type.ts";
import { tensor } from "../../ir/type.ts";
import type { Backends, Decomposition, Gradient, Op, Oracle, Sample, VjpContext } from "../defineOp.ts";
import { decomposed, defineOp } from "../defineOp.ts";
import { mapTensor } from "./host.ts";
import { integers, normal, sample, uniform, values, withDoubles, wrappingNumbers } from "./samples.ts";

type Takes = "floats" | "numbers" | "whole numbers" | "bool";

export const inferUnary =
  (op: string, takes: Takes = "floats") =>
  ([x]: readonly [TensorType]): TensorType =>
    tensor(dtypeAmong(takes, x.dtype, op), x.shape);

export const elementwiseBatching = { kind: "elementwise" } as const;

export type Unary<Name extends string> = Op<Name, NoAttrs, 1>;

interface UnaryFields<Attrs> {
  readonly summary: string;
  /** Element types of the operand: floats, when absent. */
  readonly takes?: Takes;
  /** Element type of the result, where it is not the operand's. */
  readonly gives?: DType;
  /** Of one element. Whole numbers may need the dtype: they wrap (main/ir/wholeNumbers.ts). */
  readonly reference: (x: number, attrs: Attrs, dtype: DType) => number;
  readonly oracle: Oracle;
  /** The operand's cotangent, or what stands for it. */
  readonly gradient: ((context: VjpContext<Attrs, 1>) => Value) | Gradient<Attrs, 1>;
  /** Beside `pure` and `elementwise`. */
  readonly traits?: readonly Trait[];
  readonly backends: Backends<Attrs, 1>;
  readonly samples: readonly Sample<Attrs>[];
}

interface TunedFields<Attrs> extends UnaryFields<Attrs> {
  readonly attributes: AttrSchema<Attrs>;
  /** Throws where the attributes do not go with one another, or with the operand. */
  readonly check?: (attrs: Attrs, x: TensorType) => void;
}

/** With attributes. */
export const tunedOp = <Name extends string, Attrs>(name: Name, fields: TunedFields<Attrs>): Op<Name, Attrs, 1> => {
  const { gradient, gives } = fields;
  return defineOp({
    name,
    summary: fields.summary,
    arity: 1,
    operands: ["x"],
    outputs: "one",
    attributes: fields.attributes,
    infer: ([x], attrs) => {
      const type = inferUnary(name, fields.takes)([x]);
      fields.check?.(attrs, x);
      return gives === undefined ? type : tensor(gives, type.shape);
    },
    reference: ([x], attrs) => mapTensor(x, (value) => fields.reference(value, attrs, x.dtype), gives),
    oracle: fields.oracle,
    gradient: typeof gradient === "function" ? { kind: "vjp", rule: (context) => [gradient(context)] } : gradient,
    batching: elementwiseBatching,
    traits: ["pure", "elementwise", ...(fields.traits ?? [])],
    backends: fields.backends,
    samples: fields.samples,
  });
};

export const unaryOp = <Name extends string>(name: Name, fields: UnaryFields<NoAttrs>): Unary<Name> =>
  tunedOp(name, { ...fields, attributes: {} });

/** Names that the CPU's kernels, Core ML's operators and MLX's functions have in common. */
type CommonName = Parameters<typeof milUnary>[0] & Parameters<typeof cpuKernel>[0] & Parameters<typeof mlxCall>[0];

/** One kernel, operator or function of the same name on every backend. */
export const unaryBackends = (name: CommonName, takes: "floats" | "numbers" = "floats"): Backends<NoAttrs, 1> => ({
  cpu: cpuKernel(name, { takes: takes === "floats" ? REALS : NUMBERS }),
  coreml: milUnary(name),
  mlx: mlxCall(name, { takes }),
});

/** One of each where they have names of their own; on Core ML its parts, where it has no operator. */
export const unaryNamed = (
  cpu: CpuKernel,
  mlx: MlxFunction,
  coreml: Parameters<typeof milUnary>[0] | Decomposition<NoAttrs, 1>,
): Backends<NoAttrs, 1> => ({
  cpu: cpuKernel(cpu, { takes: REALS }),
  coreml: typeof coreml === "function" ? decomposed(coreml) : milUnary(coreml),
  mlx: mlxCall(mlx),
});

/** 1 / (1 + e^-x) without overflow. */
export const logistic = (x: number): number => {
  const e = Math.exp(-Math.abs(x));
  return x >= 0 ? 1 / (1 + e) : e / (1 + e);
};

/** log(1 + e^x) without overflow. */
export const softplusOf = (x: number): number => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));

export const hardSigmoid = (x: number): number => Math.min(Math.max(x / 6 + 0.5, 0), 1);

export const realSamples: readonly Sample<NoAttrs>[] = withDoubles([
  sample("odd sizes", [normal(1, [3, 5])], {}),
  sample("far from zero", [values([-20, -6, -3, -1, -0.25, 0.25, 1, 3, 6, 20])], {}),
  sample("symbolic rows", [normal(2, ["T", 7])], {}, { bindings: { T: 3 } }),
  sample("scalar", [normal(3, [])], {}),
]);

export const numberSamples: readonly Sample<NoAttrs>[] = [
  ...realSamples,
  sample("whole numbers", [integers(4, [2, 7], -9, 9)], {}),
  ...wrappingNumbers,
];

export const positiveSamples: readonly Sample<NoAttrs>[] = withDoubles([
  sample("odd sizes", [uniform(1, [3, 5], 0.1, 4)], {}),
  sample("small and large", [values([0.01, 0.5, 1, 2, 100, 10000])], {}),
  sample("symbolic rows", [uniform(2, ["T", 7], 0.1, 4)], {}, { bindings: { T: 3 } }),
]);

/** For steps: ties are not differentiable. */
export const stepSamples: readonly Sample<NoAttrs>[] = withDoubles([
  sample("odd sizes", [normal(1, [3, 5], 3)], {}, { differentiable: false }),
  sample("ties", [values([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3])], {}, { differentiable: false }),
  sample("symbolic rows", [normal(2, ["T", 7], 3)], {}, { bindings: { T: 3 }, differentiable: false }),
]);

/** What every device makes the same of, and nothing at all. */
export const edgeSamples: readonly Sample<NoAttrs>[] = [
  sample("NaN, infinities, zeros", [values([NaN, Infinity, -Infinity, 0, -0, 1, -1])], {}, { differentiable: false }),
  sample("an empty axis", [values([], [0, 3])], {}),
];

/** Numbers of a range, and the edges of all. */
export const rangeSamples = (low: number, high: number): readonly Sample<NoAttrs>[] =>
  withDoubles([
    sample("odd sizes", [uniform(1, [3, 5], low, high)], {}),
    sample("symbolic rows", [uniform(2, ["T", 7], low, high)], {}, { bindings: { T: 3 } }),
    ...edgeSamples,
  ]);

/** The samples with these attributes. */
export const tuned = <Attrs>(samples: readonly Sample<NoAttrs>[], attrs: NoInfer<Attrs>): readonly Sample<Attrs>[] =>
  samples.map(({ title, inputs, attrs: _none, ...more }) => sample<Attrs>(title, inputs, attrs, more));
