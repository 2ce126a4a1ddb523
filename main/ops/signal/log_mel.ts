import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import type { Value } from "../../ir/graph.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import type { TensorType } from "../../ir/type.ts";
import { formatType, sameShape, tensor } from "../../ir/type.ts";
import { plainDType } from "../../ir/dtype.ts";
import type { Op } from "../defineOp.ts";
import { decomposed, defineOp, unsupported } from "../defineOp.ts";
import { COMPLEX_ORACLE, countOf } from "../families/complex.ts";
import { scalarLike } from "../families/constants.ts";
import { at } from "../families/host.ts";
import { largest } from "../families/lines.ts";
import { lines } from "../families/oracle.ts";
import { normal, sample, uniform, values, withDoubles } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";

export interface LogMelAttrs {
  /** What the loudest mel is taken of: each frame, or all of the last two axes, as Whisper does it. */
  readonly loudest: "frame" | "all";
}

const [LEAST, DECADES] = [1e-10, 8];
const binsOf = (count: number): number => Math.floor(count / 2) + 1;

function infer([spectrum, filters]: readonly [TensorType, TensorType], { loudest }: LogMelAttrs): TensorType {
  const count = countOf("log_mel", spectrum);
  const bins = binsOf(count);
  const mels = filters.shape[0] ?? 1;
  const fits = filters.dtype === spectrum.dtype && sameShape(filters.shape, [mels, bins]);
  if (!fits || count === 0 || spectrum.shape.length < (loudest === "all" ? 2 : 1))
    throw new WorkbenchError(
      "IR_SHAPE",
      `[log_mel] got ${formatType(spectrum)} and ${formatType(filters)}, expected a spectrum [${loudest === "all" ? ".., frames" : ".."}, 2N] with N from 1 and filters [mels, ${bins}]`,
    );
  return tensor(plainDType(spectrum.dtype, "log_mel"), [...spectrum.shape.slice(0, -1), mels]);
}

function parts(g: OpBuilder, [spectrum, filters]: readonly [Value, Value], { loudest }: LogMelAttrs): Value {
  const { shape } = g.typeOf(spectrum);
  const [axis, count] = [shape.length - 1, Number(shape.at(-1) ?? 2) / 2];
  const bins = (start: number): Value => g.narrow([spectrum], { axis, start, length: binsOf(count) });
  const number = (value: number): Value => scalarLike(g, spectrum, value);
  const power = g.add([g.square([bins(0)]), g.square([bins(count)])]);
  const logs = g.log([g.maximum([g.linear([power, filters]), number(LEAST)])]);
  const mels = g.mul([logs, number(1 / Math.LN10)]);
  const axes = loudest === "frame" ? [axis] : [axis - 1, axis];
  const least = g.sub([largest(g, mels, { axes, keepDims: true }, -Infinity), number(DECADES)]);
  return g.mul([g.add([g.maximum([mels, least]), number(4)]), number(1 / 4)]);
}

export const log_mel: Op<"log_mel", LogMelAttrs, 2> = defineOp({
  name: "log_mel",
  summary:
    "Mel features of a spectrum as fft gives it: log10 of filters · power, at least 1e-10, no more than 8 below the loudest of its frame or of all frames, plus 4, over 4.",
  arity: 2,
  operands: ["spectrum", "filters"],
  outputs: "one",
  attributes: { loudest: attr.oneOf(["frame", "all"]) },
  infer,
  reference: ([spectrum, filters], { loudest }, [type]) => {
    const width = at(spectrum.shape, spectrum.shape.length - 1);
    const [count, bins, mels] = [width / 2, binsOf(width / 2), at(filters.shape, 0)];
    const frames = spectrum.data.length / width;
    const made = new Float64Array(frames * mels).map((_, i) => {
      const [row, mel] = [Math.floor(i / mels) * width, i % mels];
      let energy = 0;
      for (let k = 0; k < bins; k++)
        energy +=
          at(filters.data, mel * bins + k) *
          (at(spectrum.data, row + k) ** 2 + at(spectrum.data, row + count + k) ** 2);
      return Math.log10(Math.max(energy, LEAST));
    });
    const group = loudest === "frame" ? mels : mels * at(spectrum.shape, spectrum.shape.length - 2);
    const most = (i: number): number => {
      const start = Math.floor(i / group) * group;
      return made.subarray(start, start + group).reduce((a, b) => Math.max(a, b), -Infinity);
    };
    const shape = [...spectrum.shape.slice(0, -1), mels];
    return hostTensor(
      type?.dtype === "f64" ? "f64" : spectrum.dtype,
      shape,
      made.map((value, i) => (Math.max(value, most(i) - DECADES) + 4) / 4),
    );
  },
  oracle: {
    numpy: lines(
      COMPLEX_ORACLE,
      "power = x0[..., : x1.shape[1]] ** 2 + x0[..., x0.shape[-1] // 2 :][..., : x1.shape[1]] ** 2",
      "mels = np.log10(np.maximum(power @ np.swapaxes(x1, 0, 1), 1e-10))",
      "most = np.max(mels, axis=-1 if a['loudest'] == 'frame' else (-2, -1), keepdims=True, initial=-np.inf)",
      "(np.maximum(mels, most - 8) + 4) / 4",
    ),
  },
  gradient: decomposed(parts),
  batching: decomposed(parts),
  traits: ["pure", "sensitive"],
  backends: {
    cpu: decomposed(parts),
    coreml: unsupported(
      "Core ML may compute in half precision, in which 1e-10 is 0 and its logarithm no number: it runs as a host segment between Core ML models",
    ),
    mlx: decomposed(parts),
  },
  samples: withDoubles([
    sample("frames of ten, odd sizes", [normal(1, [3, 20]), uniform(2, [5, 6], 0, 1)], { loudest: "frame" }),
    sample(
      "the loudest of all, symbolic frames",
      [normal(3, ["T", 14], 2), uniform(4, [3, 4], 0, 1)],
      { loudest: "all" },
      { bindings: { T: 3 } },
    ),
    sample("no frames", [values([], [0, 20]), uniform(5, [5, 6], 0, 1)], { loudest: "all" }),
    sample("no filters", [normal(7, [3, 20]), values([], [0, 6])], { loudest: "frame" }),
    sample(
      "more than eight below the loudest, and less than 1e-10",
      [
        values([900, -800, 700, 0, 600, 0, -500, 0, 1e-3, 0, 2e-3, 0, 0, 1e-3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], [3, 8]),
        uniform(6, [4, 3], 0.5, 1),
      ],
      { loudest: "all" },
      { differentiable: false },
    ),
  ]),
});
