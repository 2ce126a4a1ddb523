import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import { staticDim } from "../../ir/dim.ts";
import { isFloat, plainDType } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import type { TensorType } from "../../ir/type.ts";
import { formatType, tensor } from "../../ir/type.ts";
import { REALS, cpuKernel } from "../../backends/cpu/rules.ts";
import type { InputsOf, Op, Range } from "../defineOp.ts";
import { decomposed, defineOp, everywhere } from "../defineOp.ts";
import { at } from "../families/host.ts";
import { lines } from "../families/oracle.ts";
import { normal, normals, sample, withDoubles } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";

type Arity = Range<3, 4>;
type Operands<T> = InputsOf<Arity, T>;

/** x [T, C], before [k - 1, C], weight [C, k], bias [C]. */
function infer([x, before, weight, bias]: Operands<TensorType>): readonly TensorType[] {
  const [tokens = 0, channels = 0] = x.shape;
  const taps = weight.shape[1];
  const fits =
    x.shape.length === 2 &&
    weight.shape.length === 2 &&
    weight.shape[0] === channels &&
    typeof taps === "number" &&
    taps > 1 &&
    before.shape.length === 2 &&
    before.shape[0] === taps - 1 &&
    before.shape[1] === channels &&
    (bias === undefined || (bias.shape.length === 1 && bias.shape[0] === channels));
  const given = [x, before, weight, ...(bias === undefined ? [] : [bias])];
  if (!fits || !isFloat(x.dtype) || given.some(({ dtype }) => dtype !== x.dtype))
    throw new WorkbenchError(
      "IR_SHAPE",
      `[short_conv_cached] got ${given.map(formatType).join(", ")}; expected floats [T, C], [k - 1, C], [C, k] and a bias [C], with k above 1`,
    );
  const dtype = plainDType(x.dtype, "short_conv_cached");
  return [tensor(dtype, [tokens, channels]), tensor(dtype, [taps - 1, channels])];
}

function reference([x, before, weight, bias]: Operands<HostTensor>): readonly HostTensor[] {
  const [tokens = 0, channels = 0] = x.shape;
  const [kept = 0] = before.shape;
  const row = (r: number, c: number): number =>
    r < kept ? at(before.data, r * channels + c) : at(x.data, (r - kept) * channels + c);
  const y = new Float64Array(tokens * channels);
  for (let t = 0; t < tokens; t++)
    for (let c = 0; c < channels; c++) {
      let sum = bias === undefined ? 0 : at(bias.data, c);
      for (let j = 0; j <= kept; j++) sum += at(weight.data, c * (kept + 1) + j) * row(t + j, c);
      y[t * channels + c] = sum;
    }
  const after = Float64Array.from({ length: kept * channels }, (_, i) =>
    row(tokens + Math.floor(i / channels), i % channels),
  );
  return [hostTensor(x.dtype, x.shape, y), hostTensor(x.dtype, before.shape, after)];
}

/** A sum over the taps of the rows that stand so far back. */
function decompose(g: OpBuilder, [x, before, weight, bias]: Operands<Value>): readonly Value[] {
  const [tokens = 0, channels = 0] = g.typeOf(x).shape;
  const kept = staticDim(g.typeOf(before).shape[0] ?? 0, "short_conv_cached");
  const rows = g.concat([before, x], { axis: 0 });
  const taps = g.transpose([weight], { perm: [1, 0] });
  const term = (j: number): Value =>
    g.mul([
      g.narrow([rows], { axis: 0, start: j, length: tokens }),
      g.narrow([taps], { axis: 0, start: j, length: 1 }),
    ]);
  let sum = term(0);
  for (let j = 1; j <= kept; j++) sum = g.add([sum, term(j)]);
  if (bias !== undefined) sum = g.add([sum, g.reshape([bias], { shape: [1, channels] })]);
  return [sum, g.narrow([rows], { axis: 0, start: tokens, length: kept })];
}

export const short_conv_cached: Op<"short_conv_cached", NoAttrs, Arity, "many"> = defineOp({
  name: "short_conv_cached",
  summary:
    "Causal convolution of each channel of x [T, C] over a few tokens: token t gives the sum over j of weight[c, j] · row t + j of `before` [k - 1, C] followed by x. Also gives the last k - 1 of these rows, which stand before the next tokens.",
  arity: { least: 3, most: 4 },
  operands: ["x", "before", "weight", "bias"],
  outputs: "many",
  results: ["result", "last rows"],
  attributes: {},
  infer,
  reference,
  oracle: {
    numpy: lines(
      "rows = np.concatenate([x1, x0])",
      "seen = np.lib.stride_tricks.sliding_window_view(rows, x2.shape[1], axis=0)",
      "(np.einsum('tcj,cj->tc', seen, x2) + (xs[3] if len(xs) > 3 else 0), rows[len(x0):])",
    ),
  },
  gradient: decomposed(decompose),
  batching: decomposed(decompose),
  traits: ["pure"],
  backends: {
    ...everywhere(decompose),
    cpu: cpuKernel("short_conv", { takes: REALS }),
  },
  samples: withDoubles([
    sample("several tokens", normals(1, [5, 3], [3, 3], [3, 4]), {}),
    sample("one token, with a bias", normals(5, [1, 7], [2, 7], [7, 3], [7]), {}),
    sample("fewer tokens than rows before", normals(9, [2, 5], [4, 5], [5, 5]), {}),
    sample("symbolic", [normal(13, ["T", 70]), normal(14, [2, 70]), normal(15, [70, 3])], {}, { bindings: { T: 6 } }),
  ]),
});
