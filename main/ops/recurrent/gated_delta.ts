import { mlxCall } from "../../backends/mlx/rules.ts";
import { REALS, cpuKernel } from "../../backends/cpu/rules.ts";
import { WorkbenchError, invariant } from "../../diagnostics/errors.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import { staticDim } from "../../ir/dim.ts";
import { isFloat, plainDType } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import type { TensorType } from "../../ir/type.ts";
import { formatType, sameShape, tensor } from "../../ir/type.ts";
import type { Decomposition, InputsOf, Op } from "../defineOp.ts";
import { decomposed, defineOp } from "../defineOp.ts";
import { scalarLike } from "../families/constants.ts";
import { at } from "../families/host.ts";
import { lines } from "../families/oracle.ts";
import { normal, sample, uniform, withDoubles } from "../families/samples.ts";
import { SCAN_ON_CORE_ML, overTokens } from "../families/turns.ts";
import type { OpBuilder } from "../opBuilder.ts";

type Operands<T> = InputsOf<6, T>;

/** q, k [T, H, N], v [T, H, V], gate [T, H] or [T, H, N], beta [T, H], state [H, N, V]. */
function infer(types: Operands<TensorType>): readonly TensorType[] {
  const [q, k, v, gate, beta, state] = types;
  const [tokens = 0, heads = 0, size = 0] = q.shape;
  const valueSize = v.shape[2] ?? 0;
  const fits =
    q.shape.length === 3 &&
    sameShape(k.shape, q.shape) &&
    sameShape(v.shape, [tokens, heads, valueSize]) &&
    (sameShape(gate.shape, [tokens, heads]) || sameShape(gate.shape, q.shape)) &&
    sameShape(beta.shape, [tokens, heads]) &&
    sameShape(state.shape, [heads, size, valueSize]) &&
    typeof size === "number";
  if (!fits || !isFloat(q.dtype) || types.some(({ dtype }) => dtype !== q.dtype))
    throw new WorkbenchError(
      "IR_SHAPE",
      `[gated_delta] got ${types.map(formatType).join(", ")}; expected floats [T, H, N], [T, H, N], [T, H, V], [T, H] or [T, H, N], [T, H], [H, N, V]`,
    );
  const dtype = plainDType(q.dtype, "gated_delta");
  return [tensor(dtype, [tokens, heads, valueSize]), tensor(dtype, [heads, size, valueSize])];
}

function reference([q, k, v, gate, beta, before]: Operands<HostTensor>): readonly HostTensor[] {
  const [tokens = 0, heads = 0, size = 0] = q.shape;
  const [, , valueSize = 0] = v.shape;
  const state = before.data.slice();
  const out = new Float64Array(tokens * heads * valueSize);
  for (let t = 0; t < tokens; t++)
    for (let h = 0; h < heads; h++) {
      const row = t * heads + h;
      for (let j = 0; j < valueSize; j++) {
        const place = (i: number): number => (h * size + i) * valueSize + j;
        let known = 0;
        for (let i = 0; i < size; i++) {
          const decay = Math.exp(at(gate.data, gate.shape.length === 2 ? row : row * size + i));
          state[place(i)] = decay * at(state, place(i));
          known += at(state, place(i)) * at(k.data, row * size + i);
        }
        const step = (at(v.data, row * valueSize + j) - known) * at(beta.data, row);
        let sum = 0;
        for (let i = 0; i < size; i++) {
          state[place(i)] = at(state, place(i)) + at(k.data, row * size + i) * step;
          sum += at(state, place(i)) * at(q.data, row * size + i);
        }
        out[row * valueSize + j] = sum / Math.sqrt(size);
      }
    }
  return [hostTensor(q.dtype, v.shape, out), hostTensor(q.dtype, before.shape, state)];
}

/** One token: q, k [H, N], v [H, V], gate [H] or [H, N], beta [H]; gives the answer [H, V] and the state after. */
function step(g: OpBuilder, rows: readonly Value[], state: Value): readonly [out: Value, after: Value] {
  const [q, k, v, gate, beta] = rows;
  invariant(q && k && v && gate && beta, "[gated_delta] a token has five rows");
  const [heads = 0, size = 0, valueSize = 0] = g.typeOf(state).shape;
  const shaped = (x: Value, rows: typeof size, columns: typeof size): Value =>
    g.reshape([x], { shape: [heads, rows, columns] });
  const kept = g.exp([shaped(gate, g.typeOf(gate).shape.length === 1 ? 1 : size, 1)]);
  const decayed = g.mul([state, kept]);
  const known = g.matmul([shaped(k, 1, size), decayed]);
  const change = g.mul([g.sub([shaped(v, 1, valueSize), known]), shaped(beta, 1, 1)]);
  const after = g.add([decayed, g.mul([shaped(k, size, 1), change])]);
  const scale = scalarLike(g, q, 1 / Math.sqrt(staticDim(size, "gated_delta")));
  const out = g.matmul([g.mul([shaped(q, 1, size), scale]), after]);
  return [g.reshape([out], { shape: [heads, valueSize] }), after];
}

const decompose: Decomposition<NoAttrs, 6> = (g, [q, k, v, gate, beta, state]) =>
  overTokens(g, [q, k, v, gate, beta], state, step);

/** By NumPy, token by token. */
const ORACLE = `
def run(q, k, v, gate, beta, state):
    out = np.zeros_like(v)
    gate = gate.reshape(*gate.shape, 1) if gate.ndim == 2 else gate
    for t in range(len(q)):
        state = state * np.exp(gate[t])[:, :, None]
        change = (v[t] - np.einsum("hnv,hn->hv", state, k[t])) * beta[t][:, None]
        state = state + np.einsum("hn,hv->hnv", k[t], change)
        out[t] = np.einsum("hnv,hn->hv", state, q[t]) / np.sqrt(q.shape[2])
    return out, state
`.trim();

/** [T, H, N, V]; the last number is the size of the gate for a channel. */
const operandsOf = (
  seed: number,
  [tokens, heads, size, valueSize]: readonly [number | string, number | string, number, number],
  gates: "one a head" | "one a channel" = "one a head",
) => [
  normal(seed, [tokens, heads, size]),
  normal(seed + 1, [tokens, heads, size], 0.4),
  normal(seed + 2, [tokens, heads, valueSize]),
  uniform(seed + 3, gates === "one a head" ? [tokens, heads] : [tokens, heads, size], -1.5, 0),
  uniform(seed + 4, [tokens, heads], 0, 1),
  normal(seed + 5, [heads, size, valueSize]),
];

export const gated_delta: Op<"gated_delta", NoAttrs, 6, "many"> = defineOp({
  name: "gated_delta",
  summary:
    "Gated delta rule over tokens, with a state S [H, N, V] that stays: S decays by e^gate (one a head, or one a row: KDA), learns k for v by S += k (v - Sᵀk)ᵀ beta, and answers Sᵀq / √N. Gives the answers [T, H, V] and the state after.",
  arity: 6,
  operands: ["query", "key", "value", "gate", "beta", "state"],
  outputs: "many",
  results: ["result", "state"],
  attributes: {},
  infer,
  reference,
  oracle: { numpy: lines(ORACLE, "run(*xs)") },
  gradient: decomposed(decompose),
  batching: decomposed(decompose),
  traits: ["pure", "sensitive"],
  backends: {
    cpu: cpuKernel("gated_delta", { takes: REALS }),
    coreml: decomposed(decompose, SCAN_ON_CORE_ML),
    mlx: mlxCall("gated_delta"),
    webgpu: decomposed(decompose),
  },
  samples: withDoubles([
    sample("several tokens", operandsOf(1, [4, 2, 3, 5]), {}),
    sample("one token", operandsOf(7, [1, 3, 5, 3]), {}),
    sample("a gate for each channel", operandsOf(13, [3, 2, 3, 3], "one a channel"), {}),
    sample("more tokens than MLX takes at once", operandsOf(31, [70, 2, 4, 5]), {}, { differentiable: false }),
    sample(
      "a chunk and a part, a gate for each channel",
      operandsOf(47, [37, 1, 3, 5], "one a channel"),
      {},
      {
        differentiable: false,
      },
    ),
    sample("symbolic, wide values", operandsOf(19, ["T", 2, 4, 37]), {}, { bindings: { T: 3 }, differentiable: false }),
    sample("symbolic, one head", operandsOf(41, ["T", 1, 2, 3], "one a channel"), {}, { bindings: { T: 4 } }),
  ]),
});
