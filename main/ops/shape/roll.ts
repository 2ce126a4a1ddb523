import { attr } from "../../ir/attributes.ts";
import { plainDType } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { normalizeAxis, tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { at, forEachLine } from "../families/host.ts";
import { byParts } from "../families/parts.ts";
import { inside, steps, whole } from "../families/positions.ts";
import { sizeValue } from "../families/constants.ts";
import { integers, normal, sample, values, withDoubles } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";

export interface RollAttrs {
  readonly axis: number;
  /** Towards the end; below 0 towards the front. */
  readonly shift: number;
}

/** The end in front of the rest; of a size that only the run knows, positions counted round. */
function parts(g: OpBuilder, [x]: readonly [Value], { axis, shift }: RollAttrs): Value {
  const { shape } = g.typeOf(x);
  const along = normalizeAxis(axis, shape.length, "roll");
  const size = shape[along] ?? 1;
  if (typeof size !== "number") {
    const count = sizeValue(g, [size], "i32");
    const from = g.mod([g.sub([steps(g, 0, size), whole(g, shift)]), count]);
    return g.gather([x, g.mod([g.add([from, count]), count])], { axis: along });
  }
  const cut = size === 0 ? 0 : inside(-shift, size, "circular");
  if (cut === 0) return g.reshape([x], { shape });
  const [front, back] = [
    g.narrow([x], { axis: along, start: 0, length: cut }),
    g.narrow([x], { axis: along, start: cut, length: size - cut }),
  ];
  return g.concat([back, front], { axis: along });
}

export const roll: Op<"roll", RollAttrs, 1> = defineOp({
  name: "roll",
  summary: "Every position moved along one axis; what leaves at one end comes back at the other.",
  arity: 1,
  operands: ["x"],
  outputs: "one",
  attributes: { axis: attr.int(), shift: attr.int() },
  infer: ([x], { axis }) => {
    normalizeAxis(axis, x.shape.length, "roll");
    return tensor(plainDType(x.dtype, "roll"), x.shape);
  },
  reference: ([x], { axis, shift }) => {
    const along = normalizeAxis(axis, x.shape.length, "roll");
    const size = at(x.shape, along);
    const out = new Float64Array(x.data.length);
    forEachLine(x.shape, along, (start, stride) => {
      for (let i = 0; i < size; i++)
        out[start + inside(i + shift, size, "circular") * stride] = at(x.data, start + i * stride);
    });
    return hostTensor(x.dtype, x.shape, out);
  },
  oracle: { numpy: 'np.roll(x0, a["shift"], a["axis"])' },
  ...byParts(parts),
  traits: ["pure", "movement"],
  samples: withDoubles([
    sample("last axis, odd sizes", [normal(1, [3, 5])], { axis: -1, shift: 2 }),
    sample("towards the front, more than once round", [integers(2, [5, 2], -9, 9)], { axis: 0, shift: -7 }),
    sample("symbolic rows", [normal(3, ["T", 2])], { axis: 0, shift: -4 }, { bindings: { T: 3 } }),
    sample("all the way round", [normal(4, [3])], { axis: 0, shift: 3 }),
    sample("an empty axis", [values([], [0, 3])], { axis: 0, shift: 1 }),
  ]),
});
