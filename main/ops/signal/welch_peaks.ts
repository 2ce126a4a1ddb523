import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import { divDims } from "../../ir/dim.ts";
import { plainDType } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import type { TensorType } from "../../ir/type.ts";
import { formatType, tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { countOf } from "../families/complex.ts";
import { at } from "../families/host.ts";
import { lines } from "../families/oracle.ts";
import { byParts } from "../families/parts.ts";
import { normal, sample, withDoubles } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";
import { topk } from "../reduce/topk.ts";

export interface WelchPeaksAttrs {
  readonly k: number;
  /** Rows that are averaged, one after the other. */
  readonly segments: number;
}

const binsOf = (count: number): number => Math.floor(count / 2) + 1;
/** All but the constant part and the highest frequency of an even count stand for two frequencies. */
const weightOf = (bin: number, count: number): number => (bin === 0 || 2 * bin === count ? 1 : 2);
const weightsOf = (count: number): readonly number[] =>
  Array.from({ length: binsOf(count) }, (_, bin) => weightOf(bin, count));

function infer([spectrum]: readonly [TensorType], { k, segments }: WelchPeaksAttrs): readonly TensorType[] {
  const count = countOf("welch_peaks", spectrum);
  const bins = binsOf(count);
  const batch = spectrum.shape.length === 2 ? divDims(spectrum.shape[0] ?? 1, segments) : undefined;
  if (batch === undefined || count === 0 || k > bins)
    throw new WorkbenchError(
      "IR_SHAPE",
      `[welch_peaks] got ${formatType(spectrum)}, ${segments} segments, k ${k}; expected [batch · segments, 2N] with N from 1 and k of at most ${bins}`,
    );
  return [tensor(plainDType(spectrum.dtype, "welch_peaks"), [batch, k]), tensor("i32", [batch, k])];
}

function parts(g: OpBuilder, [spectrum]: readonly [Value], { k, segments }: WelchPeaksAttrs): readonly Value[] {
  const { shape, dtype } = g.typeOf(spectrum);
  const count = Number(shape[1] ?? 2) / 2;
  const bins = (start: number): Value => g.narrow([spectrum], { axis: 1, start, length: binsOf(count) });
  const power = g.add([g.square([bins(0)]), g.square([bins(count)])]);
  const batch = divDims(shape[0] ?? 1, segments) ?? 1;
  const mean = g.reduce([g.reshape([power], { shape: [batch, segments, binsOf(count)] })], { kind: "mean", axes: [1] });
  const weights = g.constant(hostTensor(plainDType(dtype, "welch_peaks"), [binsOf(count)], weightsOf(count)));
  return g.topk([g.mul([mean, weights])], { k });
}

export const welch_peaks: Op<"welch_peaks", WelchPeaksAttrs, 1, "many"> = defineOp({
  name: "welch_peaks",
  summary:
    "The k strongest frequencies by Welch's method: |spectrum|² averaged over the segments of each signal, both sides in one, largest first; the powers, and their bins as i32.",
  arity: 1,
  operands: ["spectrum"],
  outputs: "many",
  results: ["powers", "bins"],
  attributes: { k: attr.int(1), segments: attr.int(1) },
  infer,
  reference: ([spectrum], { k, segments }, types) => {
    const width = at(spectrum.shape, 1);
    const [count, bins, batch] = [width / 2, binsOf(width / 2), at(spectrum.shape, 0) / segments];
    const means = new Float64Array(batch * bins).map((_, i) => {
      const [signal, bin] = [Math.floor(i / bins), i % bins];
      let sum = 0;
      for (let s = 0; s < segments; s++) {
        const row = (signal * segments + s) * width + bin;
        sum += at(spectrum.data, row) ** 2 + at(spectrum.data, row + count) ** 2;
      }
      return (weightOf(bin, count) * sum) / segments;
    });
    return topk.reference([hostTensor(spectrum.dtype, [batch, bins], means)], { k }, types);
  },
  oracle: {
    numpy: lines(
      "n = x0.shape[1] // 2",
      "power = np.abs(x0[:, : n // 2 + 1] + 1j * x0[:, n : n + n // 2 + 1]) ** 2",
      "mean = np.mean(np.reshape(power, (-1, a['segments'], n // 2 + 1)), axis=1)",
      "mean = mean * np.array([1 if b == 0 or 2 * b == n else 2 for b in range(n // 2 + 1)])",
      "order = np.argsort(-mean, axis=-1, kind='stable')[:, : a['k']]",
      "(np.take_along_axis(mean, order, -1), order.astype(np.int32))",
    ),
  },
  ...byParts(parts),
  traits: ["pure", "sensitive"],
  samples: withDoubles([
    sample("three segments, an odd count", [normal(1, [6, 14])], { k: 2, segments: 3 }),
    sample("an even count, all bins", [normal(2, [2, 16])], { k: 5, segments: 2 }),
    sample("one segment, symbolic signals", [normal(3, ["T", 12])], { k: 3, segments: 1 }, { bindings: { T: 3 } }),
    sample("symbolic signals of two", [normal(4, ["2*T", 10])], { k: 1, segments: 2 }, { bindings: { T: 2 } }),
  ]),
});
