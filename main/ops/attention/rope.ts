import { mlxCall } from "../../backends/mlx/rules.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import type { Value } from "../../ir/graph.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { formatType, tensor } from "../../ir/type.ts";
import { dtypeAmong } from "../../ir/dtype.ts";
import type { TensorType } from "../../ir/type.ts";
import type { Op, VjpContext } from "../defineOp.ts";
import { decomposed, defineOp } from "../defineOp.ts";
import { eachItem } from "../families/batching.ts";
import { cpuKernel } from "../../backends/cpu/rules.ts";
import { at } from "../families/host.ts";
import type { RopeStyle } from "../families/rotary.ts";
import { joinHalves, splitHalves } from "../families/rotary.ts";
import { normals, sample, withDoubles } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";
import { lines } from "../families/oracle.ts";

export interface RopeAttrs {
  /** Rotated dimensions of each head (even); the rest stay. */
  readonly dims: number;
  readonly style: RopeStyle;
}

/** x [T, H, D] floats, tables [T, dims/2] of the same dtype. */
export function inferRope(
  op: string,
  [x, cos, sin]: readonly [TensorType, TensorType, TensorType],
  dims: number,
): TensorType {
  dtypeAmong("floats", x.dtype, op);
  const [tokens, , size] = x.shape;
  if (x.shape.length !== 3 || typeof size !== "number" || size < dims || dims % 2 !== 0)
    throw new WorkbenchError(
      "IR_SHAPE",
      `[${op}] operand: got ${formatType(x)}, expected [T, heads, at least ${dims}]`,
    );
  for (const table of [cos, sin])
    if (table.dtype !== x.dtype || table.shape.length !== 2 || table.shape[0] !== tokens || table.shape[1] !== dims / 2)
      throw new WorkbenchError(
        "IR_SHAPE",
        `[${op}] table: got ${formatType(table)}, expected ${x.dtype}[${tokens ?? "T"},${dims / 2}]`,
      );
  return x;
}

/** Places of the two members of pair i. */
export const pairPlaces = (i: number, { dims, style }: RopeAttrs): readonly [number, number] =>
  style === "neox" ? [i, i + dims / 2] : [2 * i, 2 * i + 1];

/** Tables with a unit axis for the heads. */
const perHead = (g: OpBuilder, table: Value): Value => {
  const [tokens = 0, half = 0] = g.typeOf(table).shape;
  return g.reshape([table], { shape: [tokens, 1, half] });
};

function turn(g: OpBuilder, [x, cos, sin]: readonly [Value, Value, Value], { dims, style }: RopeAttrs): Value {
  const { first, second, rest } = splitHalves(g, x, dims, style);
  const [c, s] = [perHead(g, cos), perHead(g, sin)];
  return joinHalves(
    g,
    {
      first: g.sub([g.mul([first, c]), g.mul([second, s])]),
      second: g.add([g.mul([second, c]), g.mul([first, s])]),
      rest,
    },
    style,
  );
}

/** dx turns back; dcos = Σ over heads (ct₁x₁ + ct₂x₂), dsin = Σ (ct₂x₁ - ct₁x₂). */
function gradient({ g, ct, inputs: [x, cos, sin], attrs }: VjpContext<RopeAttrs, 3>): readonly Value[] {
  const a = splitHalves(g, x, attrs.dims, attrs.style);
  const b = splitHalves(g, ct, attrs.dims, attrs.style);
  const heads = (v: Value): Value => g.reduce([v], { kind: "sum", axes: [1] });
  return [
    g.rope([ct, cos, g.neg([sin])], attrs),
    heads(g.add([g.mul([b.first, a.first]), g.mul([b.second, a.second])])),
    heads(g.sub([g.mul([b.second, a.first]), g.mul([b.first, a.second])])),
  ];
}

/** By NumPy: pairs as complex numbers. */
export const TURN = `
def turn(x, c, s, dims, style):
    z = x.copy()
    first, second = (slice(0, dims // 2), slice(dims // 2, dims)) if style == "neox" else (slice(0, dims, 2), slice(1, dims, 2))
    w = (x[..., first] + 1j * x[..., second]) * (c + 1j * s)[:, None, :]
    z[..., first], z[..., second] = w.real, w.imag
    return z
`.trim();

export const rope: Op<"rope", RopeAttrs, 3> = defineOp({
  name: "rope",
  summary: "Turns pairs of each head by the angles of its token: x [T, H, D], cos and sin [T, dims/2].",
  arity: 3,
  operands: ["x", "cosines", "sines"],
  outputs: "one",
  attributes: { dims: attr.int(2), style: attr.oneOf(["neox", "pairs"]) },
  infer: (inputs, { dims }) => tensor(inferRope("rope", inputs, dims).dtype, inputs[0].shape),
  reference: ([x, cos, sin], attrs) => {
    const [tokens = 0, heads = 0, size = 0] = x.shape;
    const half = attrs.dims / 2;
    const out = x.data.slice();
    for (let row = 0; row < tokens * heads; row++)
      for (let i = 0; i < half; i++) {
        const place = Math.floor(row / heads) * half + i;
        const [c, s] = [at(cos.data, place), at(sin.data, place)];
        const [p, q] = pairPlaces(i, attrs).map((offset) => row * size + offset) as [number, number];
        out[p] = at(x.data, p) * c - at(x.data, q) * s;
        out[q] = at(x.data, q) * c + at(x.data, p) * s;
      }
    return hostTensor(x.dtype, x.shape, out);
  },
  oracle: { numpy: lines(TURN, 'turn(x0, x1, x2, a["dims"], a["style"])') },
  gradient: { kind: "vjp", rule: gradient },
  batching: eachItem("rope"),
  traits: ["pure"],
  backends: {
    cpu: cpuKernel("rope", { params: ({ dims, style }) => ({ interleaved: style === "pairs", rotary: dims }) }),
    coreml: decomposed(turn),
    mlx: mlxCall("rope", { attrs: ({ dims, style }) => ({ dims, pairs: style === "pairs" }) }),
  },
  samples: withDoubles([
    sample("halves, odd number of heads", normals(1, [3, 3, 8], [3, 4], [3, 4]), {
      dims: 8,
      style: "neox",
    }),
    sample(
      "pairs, symbolic",
      normals(4, ["T", 2, 6], ["T", 3], ["T", 3]),
      { dims: 6, style: "pairs" },
      { bindings: { T: 3 } },
    ),
    sample("part of the head, halves", normals(7, [2, 1, 7], [2, 2], [2, 2]), {
      dims: 4,
      style: "neox",
    }),
    sample("part of the head, pairs", normals(10, [2, 3, 7], [2, 2], [2, 2]), {
      dims: 4,
      style: "pairs",
    }),
  ]),
});
