/** What element-wise ops of one operand share: all fields but those that `unaryOp` asks for, and the samples. */
import { milUnary } from "../../backends/coreml/rules.ts";
import { NUMBERS, REALS, cpuKernel } from "../../backends/cpu/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import { dtypeAmong } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import type { Trait } from "../../ir/opTable.ts";
import type { TensorType } from "../../ir/type.ts";
import { tensor } from "../../ir/type.ts";
import type { Backends, Op, Oracle, Sample, VjpContext } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { mapTensor } from "./host.ts";
import { integers, normal, sample, uniform, values, withDoubles, wrappingNumbers } from "./samples.ts";

type Takes = "floats" | "numbers";

export const inferUnary =
  (op: string, takes: Takes = "floats") =>
  ([x]: readonly [TensorType]): TensorType =>
    tensor(dtypeAmong(takes, x.dtype, op), x.shape);

export const elementwiseBatching = { kind: "elementwise" } as const;

export type Unary<Name extends string> = Op<Name, NoAttrs, 1>;

interface UnaryFields {
  readonly summary: string;
  /** Element types of the operand: floats, when absent. */
  readonly takes?: Takes;
  /** Of one element. */
  readonly reference: (x: number) => number;
  readonly oracle: Oracle;
  /** The operand's cotangent. */
  readonly gradient: (context: VjpContext<NoAttrs, 1>) => Value;
  /** Beside `pure` and `elementwise`. */
  readonly traits?: readonly Trait[];
  readonly backends: Backends<NoAttrs, 1>;
  readonly samples: readonly Sample<NoAttrs>[];
}

export const unaryOp = <Name extends string>(name: Name, fields: UnaryFields): Unary<Name> =>
  defineOp({
    name,
    summary: fields.summary,
    arity: 1,
    operands: ["x"],
    outputs: "one",
    attributes: {},
    infer: inferUnary(name, fields.takes),
    reference: ([x]) => mapTensor(x, fields.reference),
    oracle: fields.oracle,
    gradient: { kind: "vjp", rule: (context) => [fields.gradient(context)] },
    batching: elementwiseBatching,
    traits: ["pure", "elementwise", ...(fields.traits ?? [])],
    backends: fields.backends,
    samples: fields.samples,
  });

/** Names that the CPU's kernels, Core ML's operators and MLX's functions have in common. */
type CommonName = Parameters<typeof milUnary>[0] & Parameters<typeof cpuKernel>[0] & Parameters<typeof mlxCall>[0];

/** One kernel, operator or function of the same name on every backend. */
export const unaryBackends = (name: CommonName, takes: Takes = "floats"): Backends<NoAttrs, 1> => ({
  cpu: cpuKernel(name, { takes: takes === "floats" ? REALS : NUMBERS }),
  coreml: milUnary(name),
  mlx: mlxCall(name, { takes }),
});

/** 1 / (1 + e^-x) without overflow. */
export const logistic = (x: number): number => {
  const e = Math.exp(-Math.abs(x));
  return x >= 0 ? 1 / (1 + e) : e / (1 + e);
};

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
