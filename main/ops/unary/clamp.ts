import type { MilValue } from "../../backends/coreml/emitter.ts";
import { milNative } from "../../backends/coreml/rules.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import type { DType } from "../../ir/dtype.ts";
import { isFloat, plainDType } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import type { TensorType } from "../../ir/type.ts";
import { wholeRange } from "../../ir/wholeNumbers.ts";
import type { Op } from "../defineOp.ts";
import { decomposed, everywhere } from "../defineOp.ts";
import { scalarLike } from "../families/constants.ts";
import { integers, sample, values } from "../families/samples.ts";
import { rangeSamples, tuned, tunedOp } from "../families/unary.ts";
import type { OpBuilder } from "../opBuilder.ts";

export interface ClampAttrs {
  readonly low?: number;
  readonly high?: number;
}

const EVERYTHING = [-Infinity, Infinity] as const;

/** Bounds that lie outside of whole numbers hold nothing back on their side; as constants they would be other numbers. */
function boundsIn(dtype: DType, { low, high }: ClampAttrs): ClampAttrs {
  const [least, most] = wholeRange(dtype) ?? EVERYTHING;
  return {
    ...(low !== undefined && low >= least && { low }),
    ...(high !== undefined && high <= most && { high }),
  };
}

function check({ low, high }: ClampAttrs, { dtype }: TensorType): void {
  const given = [low, high].filter((bound) => bound !== undefined);
  const [least, most] = wholeRange(plainDType(dtype, "clamp")) ?? EVERYTHING;
  const fit = isFloat(plainDType(dtype, "clamp")) || given.every(Number.isInteger);
  const reaches = (low ?? -Infinity) <= most && (high ?? Infinity) >= least;
  if (given.length > 0 && (low ?? -Infinity) <= (high ?? Infinity) && fit && reaches) return;
  throw new WorkbenchError(
    "IR_ATTRIBUTE",
    `[clamp] low and high: got ${low ?? "none"} and ${high ?? "none"}, expected one of them at least, in order, of ${dtype}`,
  );
}

function parts(g: OpBuilder, [x]: readonly [Value], attrs: ClampAttrs): Value {
  const { low, high } = boundsIn(plainDType(g.typeOf(x).dtype, "clamp"), attrs);
  const above = low === undefined ? x : g.maximum([x, scalarLike(g, x, low)]);
  return high === undefined ? above : g.minimum([above, scalarLike(g, x, high)]);
}

export const clamp: Op<"clamp", ClampAttrs, 1> = tunedOp("clamp", {
  summary: "The number held between low and high, of which one may be absent.",
  takes: "numbers",
  attributes: { low: attr.optional(attr.float()), high: attr.optional(attr.float()) },
  check,
  reference: (x, { low = -Infinity, high = Infinity }) => Math.min(Math.max(x, low), high),
  oracle: {
    numpy: 'np.clip(x0.astype(float), a.get("low"), a.get("high")).astype(x0.dtype)',
  },
  gradient: decomposed(parts),
  traits: ["idempotent"],
  backends: {
    ...everywhere(parts),
    coreml: milNative((e, [x]: readonly [MilValue], attrs) => {
      const { low, high } = boundsIn(x.type.dtype === "int32" ? "i32" : "f32", attrs);
      // Its bounds have to differ.
      if (low !== undefined && high !== undefined && low < high && x.type.dtype !== "int32")
        return e.op("clip", { x, alpha: low, beta: high });
      const above = low === undefined ? x : e.op("maximum", { x, y: low });
      return high === undefined ? above : e.op("minimum", { x: above, y: high });
    }),
  },
  samples: [
    ...tuned<ClampAttrs>(rangeSamples(-5, 5), { low: -1.5, high: 2 }),
    sample("from below", [integers(7, [5], -9, 9)], { low: -2 }),
    sample("to one number", [integers(9, [5], -9, 9, "f16")], { low: 2, high: 2 }, { differentiable: false }),
    sample(
      "bounds outside of the type",
      [values([-128, 3, 127], [3], "i8")],
      { low: -200, high: 300 },
      { differentiable: false },
    ),
    sample("no bound but one that the type has", [integers(10, [5], 0, 255, "u8")], { low: -1, high: 200 }),
    sample("from above", [integers(8, [5], 0, 99, "u8")], { high: 50 }),
  ],
});
