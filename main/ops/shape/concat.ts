import { milNative } from "../../backends/coreml/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import type { Dim } from "../../ir/dim.ts";
import { addDims } from "../../ir/dim.ts";
import { plainDType } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import { hostTensor, sizeOf } from "../../ir/hostTensor.ts";
import { formatType, normalizeAxis, tensor } from "../../ir/type.ts";
import type { AnyNumber, Op } from "../defineOp.ts";
import { ANY_NUMBER, defineOp } from "../defineOp.ts";
import { axisParam, rankOf, shiftAxis } from "../families/axes.ts";
import { asBatched } from "../families/batching.ts";
import { MOVABLE, cpuKernel } from "../../backends/cpu/rules.ts";
import { axisWalk, boundShape } from "../families/host.ts";
import { integers, normals, sample, withDoubles } from "../families/samples.ts";

export interface ConcatAttrs {
  readonly axis: number;
}

export const concat: Op<"concat", ConcatAttrs, AnyNumber> = defineOp({
  name: "concat",
  summary: "Joins tensors along one axis.",
  arity: ANY_NUMBER,
  operands: [],
  outputs: "one",
  attributes: { axis: attr.int() },
  infer: (inputs, { axis }) => {
    const [first] = inputs;
    if (!first) throw new WorkbenchError("IR_STRUCTURE", "[concat] inputs: got 0, expected at least 1");
    const along = normalizeAxis(axis, first.shape.length, "concat");
    let size: Dim = 0;
    for (const x of inputs) {
      if (
        x.dtype !== first.dtype ||
        x.shape.length !== first.shape.length ||
        x.shape.some((d, i) => i !== along && d !== first.shape[i])
      )
        throw new WorkbenchError(
          "IR_SHAPE",
          `[concat] operands differ beside axis ${along}: got ${inputs.map(formatType).join(", ")}`,
        );
      size = addDims(size, x.shape[along] ?? 0);
    }
    return tensor(
      plainDType(first.dtype, "concat"),
      first.shape.map((dim, i) => (i === along ? size : dim)),
    );
  },
  reference: (inputs, { axis }, [type]) => {
    const shape = boundShape(type, "concat");
    const { outer, size, inner } = axisWalk(shape, normalizeAxis(axis, shape.length, "concat"));
    const out = new Float64Array(sizeOf(shape));
    let done = 0;
    for (const x of inputs) {
      const run = outer === 0 ? 0 : x.data.length / outer;
      for (let o = 0; o < outer; o++) out.set(x.data.subarray(o * run, (o + 1) * run), o * size * inner + done);
      done += run;
    }
    return hostTensor(type?.dtype === undefined ? "f32" : plainDType(type.dtype, "concat"), shape, out);
  },
  oracle: { numpy: 'np.concatenate(list(xs), a["axis"])' },
  gradient: {
    kind: "vjp",
    rule: ({ g, ct, inputs, attrs: { axis } }) => {
      let start: Dim = 0;
      return inputs.map((x): Value => {
        const { shape } = g.typeOf(x);
        const along = normalizeAxis(axis, shape.length, "concat");
        const length = shape[along] ?? 0;
        const part = g.narrow([ct], { axis: along, start, length });
        start = addDims(start, length);
        return part;
      });
    },
  },
  batching: {
    kind: "rule",
    rule: ({ g, inputs, batched, size, attrs: { axis }, node }) =>
      g.concat(
        inputs.map((x, i) => asBatched(g, x, batched[i] === true, size)),
        { axis: shiftAxis(axis, rankOf(node)) },
      ),
  },
  traits: ["pure", "movement"],
  backends: {
    cpu: cpuKernel("concat", {
      takes: MOVABLE,
      params: axisParam("concat"),
    }),
    coreml: milNative((e, values, { axis }) => e.op("concat", { values, axis })),
    mlx: mlxCall("concatenate", {
      takes: "any",
      attrs: axisParam("concat"),
    }),
  },
  samples: withDoubles([
    sample("two, odd sizes", normals(1, [3, 5], [3, 2]), { axis: 1 }),
    sample("three along the first axis", normals(3, [1, 3], [2, 3], [4, 3]), { axis: 0 }),
    sample("symbolic lengths", normals(6, ["T", 3], [2, 3]), { axis: 0 }, { bindings: { T: 3 } }),
    sample("middle axis counted from the end", normals(8, [2, 1, 3], [2, 3, 3]), { axis: -2 }),
    sample("one operand", [integers(10, [4], -9, 9)], { axis: 0 }),
  ]),
});
