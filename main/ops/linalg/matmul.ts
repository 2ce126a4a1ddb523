import { milNative } from "../../backends/coreml/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import type { Shape } from "../../ir/dim.ts";
import type { Value } from "../../ir/graph.ts";
import { hostTensor, sizeOf } from "../../ir/hostTensor.ts";
import type { TensorType } from "../../ir/type.ts";
import { broadcastShapes, formatType, tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { alignRank } from "../families/batching.ts";
import { commonDType } from "../families/binary.ts";
import { REALS, cpuKernel } from "../../backends/cpu/rules.ts";
import { at, broadcastData, numbersOf } from "../families/host.ts";
import { normals, sample, withDoubles } from "../families/samples.ts";
import { unbroadcast } from "../families/unbroadcast.ts";
import type { OpBuilder } from "../opBuilder.ts";

/** The last two axes swapped. */
export function swapLast(g: OpBuilder, x: Value): Value {
  const rank = g.typeOf(x).shape.length;
  const perm = Array.from({ length: rank }, (_, i) => (i < rank - 2 ? i : 2 * rank - 3 - i));
  return g.transpose([x], { perm });
}

function inferMatmul([a, b]: readonly [TensorType, TensorType]): TensorType {
  const dtype = commonDType("matmul", "floats", a, b);
  const [m, k] = a.shape.slice(-2);
  const [k2, n] = b.shape.slice(-2);
  if (m === undefined || k === undefined || k !== k2 || n === undefined)
    throw new WorkbenchError("IR_SHAPE", `[matmul] inner sizes differ: got ${formatType(a)} and ${formatType(b)}`);
  return tensor(dtype, [...broadcastShapes(a.shape.slice(0, -2), b.shape.slice(0, -2), "matmul"), m, n]);
}

/** out[m,n] += a[m,k] · b[k,n] at the given places. */
function multiply(
  a: Float64Array,
  b: Float64Array,
  out: Float64Array,
  places: readonly [number, number, number],
  [m, k, n]: readonly [number, number, number],
): void {
  const [pa, pb, po] = places;
  for (let i = 0; i < m; i++)
    for (let l = 0; l < k; l++) {
      const x = at(a, pa + i * k + l);
      for (let j = 0; j < n; j++) out[po + i * n + j] = at(out, po + i * n + j) + x * at(b, pb + l * n + j);
    }
}

export const matmul: Op<"matmul", NoAttrs, 2> = defineOp({
  name: "matmul",
  summary: "Matrix product of the last two axes; the axes before them broadcast.",
  arity: 2,
  operands: ["left", "right"],
  outputs: "one",
  attributes: {},
  infer: inferMatmul,
  reference: ([a, b]) => {
    const batch: Shape = broadcastShapes(a.shape.slice(0, -2), b.shape.slice(0, -2), "matmul");
    const lead = numbersOf(batch, "matmul");
    const [m, k, n] = [a.shape.at(-2) ?? 1, a.shape.at(-1) ?? 1, b.shape.at(-1) ?? 1];
    const [x, y] = [broadcastData(a, [...lead, m, k]), broadcastData(b, [...lead, k, n])];
    const out = new Float64Array(sizeOf(lead) * m * n);
    for (let i = 0; i < sizeOf(lead); i++) multiply(x, y, out, [i * m * k, i * k * n, i * m * n], [m, k, n]);
    return hostTensor(a.dtype, [...lead, m, n], out);
  },
  oracle: { numpy: "x0 @ x1" },
  // d(AB) = dA B + A dB
  gradient: {
    kind: "vjp",
    rule: ({ g, ct, inputs: [a, b] }) => [
      unbroadcast(g, g.matmul([ct, swapLast(g, b)]), a),
      unbroadcast(g, g.matmul([swapLast(g, a), ct]), b),
    ],
  },
  batching: {
    kind: "rule",
    rule: ({ g, inputs: [a, b], batched, node }) => {
      const rank = Math.max(...node.inputs.map((type) => type.shape.length));
      return g.matmul([alignRank(g, a, batched[0] === true, rank), alignRank(g, b, batched[1] === true, rank)]);
    },
  },
  traits: ["pure"],
  backends: {
    cpu: cpuKernel("matmul", { takes: REALS, params: () => ({ transposeA: false, transposeB: false }) }),
    coreml: milNative((e, [x, y]) => e.op("matmul", { x, y, transpose_x: false, transpose_y: false })),
    mlx: mlxCall("matmul"),
  },
  samples: withDoubles([
    sample("odd sizes", normals(1, [3, 5], [5, 7]), {}),
    sample("batch axes broadcast", normals(3, [2, 1, 3, 4], [3, 4, 2]), {}),
    sample("symbolic rows", normals(5, ["T", 4], [4, 3]), {}, { bindings: { T: 3 } }),
    sample("symbolic inner size", normals(7, [2, "T"], ["T", 3]), {}, { bindings: { T: 5 } }),
    sample("one row, one column", normals(9, [1, 9], [9, 1]), {}),
  ]),
});
