import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import type { Value } from "../../ir/graph.ts";
import type { DType } from "../../ir/dtype.ts";
import { dtypeAmong, plainDType } from "../../ir/dtype.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import type { TensorType } from "../../ir/type.ts";
import { formatType, tensor } from "../../ir/type.ts";
import { mulDims } from "../../ir/dim.ts";
import type { Op } from "../defineOp.ts";
import { decomposed, defineOp, everywhere } from "../defineOp.ts";
import { at } from "../families/host.ts";
import { lines } from "../families/oracle.ts";
import { normals, sample, withDoubles } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";

export interface AxialRopeAttrs {
  /** Columns and rows of the grid that the tokens lie in, row by row. */
  readonly width: number;
  readonly height: number;
  readonly heads: number;
  readonly base: number;
  /** Neighbouring tokens of one place. */
  readonly repeat: number;
}

const tokensOf = ({ width, height, repeat }: AxialRopeAttrs): number => width * height * repeat;

/** x [B, height · width · repeat, heads · D], D a multiple of four. */
function infer([x]: readonly [TensorType], attrs: AxialRopeAttrs): TensorType {
  dtypeAmong("floats", x.dtype, "axial_rope_2d");
  const [, tokens, features] = x.shape;
  const fits =
    x.shape.length === 3 &&
    tokens === tokensOf(attrs) &&
    typeof features === "number" &&
    features > 0 &&
    features % (4 * attrs.heads) === 0;
  if (!fits || !(attrs.base > 0))
    throw new WorkbenchError(
      "IR_SHAPE",
      `[axial_rope_2d] operand: got ${formatType(x)}, expected [batch, ${tokensOf(attrs)}, a multiple of ${4 * attrs.heads}] and a positive base`,
    );
  return tensor(plainDType(x.dtype, "axial_rope_2d"), x.shape);
}

/** Column and row of each token. */
function placesOf({ width, ...attrs }: AxialRopeAttrs): readonly (readonly [column: number, row: number])[] {
  return Array.from({ length: tokensOf({ width, ...attrs }) }, (_, token) => {
    const place = Math.floor(token / attrs.repeat);
    return [place % width, Math.floor(place / width)];
  });
}

function reference([x]: readonly [HostTensor], attrs: AxialRopeAttrs): HostTensor {
  const [batch = 0, tokens = 0, features = 0] = x.shape;
  const size = features / attrs.heads;
  const places = placesOf(attrs);
  const out = new Float64Array(x.data.length);
  for (let row = 0; row < batch * tokens; row++)
    for (let pair = 0; pair < features / 2; pair++) {
      const i = pair % (size / 2);
      const [column = 0, line = 0] = places[row % tokens] ?? [];
      const angle = (i < size / 4 ? column : line) * attrs.base ** ((-4 * (i % (size / 4))) / size);
      const [c, s] = [Math.cos(angle), Math.sin(angle)];
      const first = row * features + 2 * pair;
      const [a, b] = [at(x.data, first), at(x.data, first + 1)];
      out[first] = a * c - b * s;
      out[first + 1] = b * c + a * s;
    }
  return hostTensor(x.dtype, x.shape, out);
}

/** Cosines and sines [tokens, D/4] of the columns or of the rows; the table of other rotations is one of single floats. */
function tablesOf(g: OpBuilder, positions: HostTensor, dims: number, base: number, dtype: DType): readonly Value[] {
  if (dtype === "f64") {
    const rates = Array.from({ length: dims / 2 }, (_, i) => base ** ((-2 * i) / dims));
    const angles = g.mul([
      g.cast([g.constant({ ...positions, shape: [positions.data.length, 1] })], { to: "f64" }),
      g.constant(hostTensor("f64", [1, rates.length], rates)),
    ]);
    return [g.cos([angles]), g.sin([angles])];
  }
  const plain = {
    scaling: "none",
    factor: 1,
    originalContext: 0,
    attentionFactor: 1,
    betaFast: 32,
    betaSlow: 1,
  } as const;
  const tables = g.rope_table([g.constant(positions)], { dims, base, ...plain });
  return dtype === "f32" ? tables : tables.map((table) => g.cast([table], { to: dtype }));
}

/** A rotation by tables whose first half follows the columns, and the second the rows. */
function decompose(g: OpBuilder, [x]: readonly [Value], attrs: AxialRopeAttrs): Value {
  const { dtype, shape } = g.typeOf(x);
  const [batch = 0, tokens = 0, features] = shape;
  const size = Number(features) / attrs.heads;
  const places = placesOf(attrs);
  const sides = [0, 1].map((side) => {
    const positions = places.map((place) => place[side] ?? 0);
    const own = plainDType(dtype, "axial_rope_2d");
    return tablesOf(g, hostTensor("i32", [places.length], positions), size / 2, attrs.base, own);
  });
  const all = mulDims(batch, tokens);
  const tables = [0, 1].map((which) => {
    const table = g.concat(
      sides.flatMap((side) => side[which] ?? []),
      { axis: 1 },
    );
    return g.reshape([g.expand([table], { shape: [batch, tokens, size / 2] })], { shape: [all, size / 2] });
  });
  const [cos = x, sin = x] = tables;
  const turned = g.rope([g.reshape([x], { shape: [all, attrs.heads, size] }), cos, sin], {
    dims: size,
    style: "pairs",
  });
  return g.reshape([turned], { shape });
}

export const axial_rope_2d: Op<"axial_rope_2d", AxialRopeAttrs, 1> = defineOp({
  name: "axial_rope_2d",
  summary:
    "Turns neighbouring pairs of each head by the place of its token in a grid: x [B, height · width · repeat, heads · D]; the first half of a head by the column, the second by the row, pair i by place · base^(-4i/D).",
  arity: 1,
  operands: ["x"],
  outputs: "one",
  attributes: { width: attr.int(1), height: attr.int(1), heads: attr.int(1), base: attr.float(), repeat: attr.int(1) },
  infer,
  reference,
  oracle: {
    numpy: lines(
      "place = np.arange(x0.shape[1]) // a['repeat']",
      "size = x0.shape[2] // a['heads']",
      "rates = a['base'] ** (-np.arange(0, size, 4) / size)",
      "angles = np.concatenate([np.outer(place % a['width'], rates), np.outer(place // a['width'], rates)], 1)",
      "z = x0.reshape(*x0.shape[:2], a['heads'], size // 2, 2)",
      "w = (z[..., 0] + 1j * z[..., 1]) * np.exp(1j * angles)[:, None, :]",
      "np.stack([w.real, w.imag], -1).reshape(x0.shape)",
    ),
  },
  gradient: decomposed(decompose),
  batching: decomposed(decompose),
  traits: ["pure"],
  backends: everywhere(decompose),
  samples: withDoubles<AxialRopeAttrs>([
    sample("a grid, two heads", normals(1, [2, 6, 16]), { width: 3, height: 2, heads: 2, base: 10000, repeat: 1 }),
    sample("places that repeat", normals(2, [1, 12, 12]), { width: 2, height: 3, heads: 1, base: 100, repeat: 2 }),
    sample(
      "symbolic batch",
      normals(3, ["B", 4, 8]),
      { width: 2, height: 2, heads: 2, base: 10000, repeat: 1 },
      { bindings: { B: 3 } },
    ),
  ]),
});
