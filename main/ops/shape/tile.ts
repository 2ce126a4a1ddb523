import { milNative } from "../../backends/coreml/rules.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import { mulDims } from "../../ir/dim.ts";
import { plainDType } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import { hostTensor, sizeOf, stridesOf } from "../../ir/hostTensor.ts";
import { formatType, tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { at, boundShape } from "../families/host.ts";
import { byParts } from "../families/parts.ts";
import { integers, normal, sample, values, withDoubles } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";

export interface TileAttrs {
  /** For each axis. */
  readonly reps: readonly number[];
}

/** A unit axis in front of each that is repeated, stretched, and laid into one with it. */
function parts(g: OpBuilder, [x]: readonly [Value], { reps }: TileAttrs): Value {
  const { shape } = g.typeOf(x);
  const pairs = shape.map((size, i) => ({ size, rep: at(reps, i) }));
  const split = pairs.flatMap(({ size, rep }) => (rep === 1 ? [size] : [1, size]));
  const stretched = pairs.flatMap(({ size, rep }) => (rep === 1 ? [size] : [rep, size]));
  const copies = g.expand([g.reshape([x], { shape: split })], { shape: stretched });
  return g.reshape([copies], { shape: pairs.map(({ size, rep }) => mulDims(size, rep)) });
}

const own = byParts<TileAttrs, 1>(parts);

export const tile: Op<"tile", TileAttrs, 1> = defineOp({
  name: "tile",
  summary: "The whole tensor again and again along each axis.",
  arity: 1,
  operands: ["x"],
  outputs: "one",
  attributes: { reps: attr.ints() },
  infer: ([x], { reps }) => {
    if (reps.length !== x.shape.length || reps.some((rep) => rep < 1))
      throw new WorkbenchError(
        "IR_SHAPE",
        `[tile] reps: got ${reps.join(", ")}, expected a count from 1 for each axis of ${formatType(x)}`,
      );
    return tensor(
      plainDType(x.dtype, "tile"),
      x.shape.map((size, i) => mulDims(size, at(reps, i))),
    );
  },
  reference: ([x], _attrs, [type]) => {
    const shape = boundShape(type, "tile");
    const [from, to] = [stridesOf(x.shape), stridesOf(shape)];
    const out = new Float64Array(sizeOf(shape)).map((_, i) =>
      at(
        x.data,
        shape.reduce(
          (place, _size, axis) => place + (Math.floor(i / at(to, axis)) % at(x.shape, axis)) * at(from, axis),
          0,
        ),
      ),
    );
    return hostTensor(x.dtype, shape, out);
  },
  oracle: { numpy: 'np.tile(x0, a["reps"])' },
  ...own,
  traits: ["pure", "movement"],
  backends: { ...own.backends, coreml: milNative((e, [x], { reps }) => e.op("tile", { x, reps })) },
  samples: withDoubles([
    sample("both axes, odd sizes", [normal(1, [3, 5])], { reps: [2, 3] }),
    sample("the middle of three", [integers(2, [2, 3, 2], -9, 9)], { reps: [1, 2, 1] }),
    sample("symbolic rows", [normal(3, ["T", 2])], { reps: [2, 1] }, { bindings: { T: 3 } }),
    sample("an empty axis", [values([], [0, 3])], { reps: [2, 2] }),
  ]),
});
