import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import { isFloat, plainDType } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import type { TensorType } from "../../ir/type.ts";
import { formatType, sameShape, tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { scalarLike } from "../families/constants.ts";
import { at } from "../families/host.ts";
import { largest } from "../families/lines.ts";
import { lines } from "../families/oracle.ts";
import { byParts } from "../families/parts.ts";
import { integers, normal, sample, uniform, values, withDoubles } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";

function infer([logits, labels]: readonly [TensorType, TensorType]): TensorType {
  const rows = logits.shape.slice(0, -1);
  const fits =
    labels.dtype === "i32"
      ? sameShape(labels.shape, rows)
      : labels.dtype === logits.dtype && sameShape(labels.shape, logits.shape);
  if (!isFloat(logits.dtype) || logits.shape.length === 0 || !fits)
    throw new WorkbenchError(
      "IR_SHAPE",
      `[softmax_cross_entropy] operands: got ${formatType(logits)} and ${formatType(labels)}; expected logits [.., C] of floats, and labels i32 [..] or shares of the logits' type`,
    );
  return tensor(plainDType(logits.dtype, "softmax_cross_entropy"), rows);
}

/** log Σ e^l − l[label], or Σ t · (log Σ e^l − l); the largest logit is taken out of both terms. */
function parts(g: OpBuilder, [logits, labels]: readonly [Value, Value]): Value {
  const { shape } = g.typeOf(logits);
  const axes = [shape.length - 1];
  const sum = (x: Value): Value => g.reduce([x], { kind: "sum", axes });
  const low = g.sub([logits, g.stop_gradient([largest(g, logits, { axes, keepDims: true }, -Infinity)])]);
  const total = g.log([sum(g.exp([low]))]);
  if (g.typeOf(labels).dtype !== "i32") {
    const column = g.reshape([total], { shape: [...shape.slice(0, -1), 1] });
    return sum(g.mul([labels, g.sub([column, low])]));
  }
  const isOwn = g.one_hot([labels], { depth: shape.at(-1) ?? 1, dtype: "bool" });
  const zero = scalarLike(g, logits, 0);
  const isClass = sum(g.cast([isOwn], { to: "i32" }));
  const lost = g.sub([total, sum(g.where([isOwn, low, zero]))]);
  return g.where([g.compare([isClass, scalarLike(g, isClass, 0)], { op: "gt" }), lost, zero]);
}

export const softmax_cross_entropy: Op<"softmax_cross_entropy", NoAttrs, 2> = defineOp({
  name: "softmax_cross_entropy",
  summary:
    "−Σ t · log softmax(logits) along the last axis. Labels are i32 [..], one class for each row (0 where it is none of them: such a row teaches nothing), or shares t of the logits' shape.",
  arity: 2,
  operands: ["logits", "labels"],
  outputs: "one",
  attributes: {},
  infer,
  reference: ([logits, labels]) => {
    const classes = at(logits.shape, logits.shape.length - 1);
    const shape = logits.shape.slice(0, -1);
    const out = new Float64Array(shape.reduce((product, size) => product * size, 1)).map((_, row) => {
      const line = logits.data.subarray(row * classes, (row + 1) * classes);
      const largest = line.reduce((a, b) => Math.max(a, b), -Infinity);
      const total = Math.log(line.reduce((sum, value) => sum + Math.exp(value - largest), 0));
      const logShare = (c: number): number => at(line, c) - largest - total;
      if (labels.dtype !== "i32")
        return line.reduce((sum, _value, c) => sum - at(labels.data, row * classes + c) * logShare(c), 0);
      const label = at(labels.data, row);
      return label >= 0 && label < classes ? -logShare(label) : 0;
    });
    return hostTensor(logits.dtype, shape, out);
  },
  oracle: {
    jax: lines(
      "hits = x1[..., None] == jnp.arange(x0.shape[-1]) if x1.ndim < x0.ndim else None",
      "logs = jax.nn.log_softmax(x0, -1)",
      "-jnp.sum(x1 * logs if hits is None else jnp.where(hits, logs, 0), -1)",
    ),
  },
  ...byParts(parts),
  traits: ["pure", "reduction", "sensitive"],
  samples: withDoubles([
    sample("classes, odd sizes, two of none", [normal(1, [5, 7]), values([0, 6, 3, -1, 7], [5], "i32")], {}),
    sample("shares", [normal(2, [3, 5]), uniform(3, [3, 5], 0, 0.4)], {}),
    sample(
      "more axes, symbolic rows",
      [normal(4, ["T", 3, 4], 3), integers(5, ["T", 3], 0, 3)],
      {},
      { bindings: { T: 2 } },
    ),
    sample("one row, large logits", [values([1000, 1001, 999, -1000]), values([2], [], "i32")], {}),
    sample(
      "minus infinity",
      [values([1, -Infinity, 2, 0], [2, 2]), values([0, 1], [2], "i32")],
      {},
      { differentiable: false },
    ),
    sample(
      "infinity of its own class",
      [values([-Infinity, 2, NaN, 0, Infinity, 0], [3, 2]), values([0, 1, 1], [3], "i32")],
      {},
      { differentiable: false },
    ),
    sample("no rows", [values([], [0, 3]), values([], [0], "i32")], {}),
    sample("no classes", [values([], [5, 0]), values([0, 1, -1, 0, 2], [5], "i32")], {}),
    sample("no classes, symbolic", [values([], [2, "T"]), values([], [2, "T"])], {}, { bindings: { T: 0 } }),
    sample("no classes, shares", [values([], [2, 0]), values([], [2, 0])], {}),
  ]),
});
