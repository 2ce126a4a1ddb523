import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import { addDims } from "../../ir/dim.ts";
import { isContinuous, plainDType } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostTensor, sizeOf, stridesOf } from "../../ir/hostTensor.ts";
import { formatType, tensor } from "../../ir/type.ts";
import { wholeRange } from "../../ir/wholeNumbers.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { moveParts } from "../complexParts.ts";
import { bordered } from "../families/constants.ts";
import { at, boundShape } from "../families/host.ts";
import { lines } from "../families/oracle.ts";
import { byParts } from "../families/parts.ts";
import type { Outside } from "../families/positions.ts";
import { inside, laidInside } from "../families/positions.ts";
import { integers, normal, sample, values, withDoubles } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";

export interface PadAttrs {
  /** For each axis. */
  readonly before: readonly number[];
  readonly after: readonly number[];
  readonly mode: "constant" | Outside;
  /** Of the mode "constant": 0, when absent. */
  readonly value?: number;
}

function parts(g: OpBuilder, [x]: readonly [Value], { before, after, mode, value = 0 }: PadAttrs): Value {
  const { shape } = g.typeOf(x);
  let padded = x;
  for (const [axis, size] of shape.entries()) {
    const [front, back] = [at(before, axis), at(after, axis)];
    if (front === 0 && back === 0) continue;
    padded =
      mode === "constant"
        ? bordered(g, padded, axis, [front, back], value)
        : g.gather([padded, laidInside(g, size, front, back, mode)], { axis });
  }
  return padded === x ? g.reshape([x], { shape }) : padded;
}

function padded(x: HostTensor, { before, mode, value = 0 }: PadAttrs, shape: readonly number[]): HostTensor {
  const [from, to] = [stridesOf(x.shape), stridesOf(shape)];
  const out = new Float64Array(sizeOf(shape)).map((_, i) => {
    let place = 0;
    for (const [axis, size] of shape.entries()) {
      const position = (Math.floor(i / at(to, axis)) % size) - at(before, axis);
      const own = at(x.shape, axis);
      if (mode === "constant" && (position < 0 || position >= own)) return value;
      place += (mode === "constant" ? position : inside(position, own, mode)) * at(from, axis);
    }
    return at(x.data, place);
  });
  return hostTensor(x.dtype, shape, out);
}

export const pad: Op<"pad", PadAttrs, 1> = defineOp({
  name: "pad",
  summary:
    "Positions before and after those of each axis: of one value, mirrored without the edge (reflect), the edge again (replicate), or from the other end (circular).",
  arity: 1,
  operands: ["x"],
  outputs: "one",
  attributes: {
    before: attr.ints(),
    after: attr.ints(),
    mode: attr.oneOf(["constant", "reflect", "replicate", "circular"]),
    value: attr.optional(attr.float()),
  },
  infer: ([x], { before, after, mode, value = 0 }) => {
    const dtype = plainDType(x.dtype, "pad");
    const sizes = [...before, ...after];
    if (before.length !== x.shape.length || after.length !== x.shape.length || sizes.some((size) => size < 0))
      throw new WorkbenchError(
        "IR_SHAPE",
        `[pad] before and after: got ${before.join(",")} and ${after.join(",")}, expected a size from 0 for each axis of ${formatType(x)}`,
      );
    const [least, most] = dtype === "bool" ? [0, 1] : (wholeRange(dtype) ?? [-Infinity, Infinity]);
    if ((!isContinuous(dtype) && !Number.isInteger(value)) || value < least || value > most)
      throw new WorkbenchError("IR_ATTRIBUTE", `[pad] value: got ${value}, expected one of ${dtype}`);
    const empty = x.shape.findIndex((size, axis) => size === 0 && at(before, axis) + at(after, axis) > 0);
    if (mode !== "constant" && empty >= 0)
      throw new WorkbenchError("IR_SHAPE", `[pad] axis ${empty} is empty: expected an element for the mode ${mode}`);
    return tensor(
      dtype,
      x.shape.map((size, axis) => addDims(size, at(before, axis) + at(after, axis))),
    );
  },
  // A border of a number is that number in the real parts, and 0 in the imaginary ones.
  reference: ([x], attrs, types) => {
    const [made] = moveParts([x], types, ([part = x], plain, which) => [
      padded(part, which === "real" ? attrs : { ...attrs, value: 0 }, boundShape(plain[0], "pad")),
    ]);
    return made ?? x;
  },
  oracle: {
    numpy: lines(
      'mode = {"replicate": "edge", "circular": "wrap"}.get(a["mode"], a["mode"])',
      'more = {"constant_values": a.get("value", 0)} if mode == "constant" else {}',
      'np.pad(x0, list(zip(a["before"], a["after"])), mode, **more)',
    ),
  },
  ...byParts(parts),
  traits: ["pure"],
  samples: withDoubles([
    sample("a value, odd sizes", [normal(1, [3, 5])], { before: [1, 0], after: [0, 2], mode: "constant", value: -1.5 }),
    sample("mirrored, there and back", [normal(2, [3, 2])], { before: [4, 0], after: [5, 1], mode: "reflect" }),
    sample("the edge again", [normal(3, [2, 3])], { before: [2, 1], after: [0, 3], mode: "replicate" }),
    sample("round and round", [normal(4, [3])], { before: [4], after: [7], mode: "circular" }),
    sample(
      "symbolic size",
      [normal(5, ["T", 2])],
      { before: [2, 0], after: [1, 0], mode: "reflect" },
      { bindings: { T: 3 } },
    ),
    sample("one element", [integers(6, [1], -9, 9)], { before: [2], after: [1], mode: "reflect" }),
    sample("around nothing", [values([], [0, 3])], { before: [1, 0], after: [1, 0], mode: "constant", value: 2 }),
    sample("no border: a copy", [normal(7, [2, 2])], { before: [0, 0], after: [0, 0], mode: "circular" }),
  ]),
});
