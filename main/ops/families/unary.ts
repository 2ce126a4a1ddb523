/** What element-wise unary ops share: inference, reference loop, samples. */
import type { NoAttrs } from "../../ir/attributes.ts";
import { dtypeAmong } from "../../ir/dtype.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import type { TensorType } from "../../ir/type.ts";
import { tensor } from "../../ir/type.ts";
import type { Sample } from "../defineOp.ts";
import { mapTensor } from "./host.ts";
import { integers, normal, sample, uniform, values, withDoubles, wrappingNumbers } from "./samples.ts";

export const inferUnary =
  (who: string, takes: "floats" | "numbers" = "floats") =>
  ([x]: readonly [TensorType]): TensorType => {
    return tensor(dtypeAmong(takes, x.dtype, who), x.shape);
  };

export const referenceUnary =
  (f: (x: number) => number) =>
  ([x]: readonly [HostTensor]): HostTensor =>
    mapTensor(x, f);

export const elementwiseBatching = { kind: "elementwise" } as const;

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
