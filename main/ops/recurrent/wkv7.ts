import { mlxCall } from "../../backends/mlx/rules.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import { isFloat, plainDType } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import type { TensorType } from "../../ir/type.ts";
import { formatType, sameShape, tensor } from "../../ir/type.ts";
import { REALS, cpuKernel } from "../../backends/cpu/rules.ts";
import type { Decomposition, InputsOf, Op, Sample } from "../defineOp.ts";
import { decomposed, defineOp } from "../defineOp.ts";
import { eachItem } from "../families/batching.ts";
import { SCAN_ON_CORE_ML, overTokens } from "../families/turns.ts";
import { at } from "../families/host.ts";
import { lines } from "../families/oracle.ts";
import { normal, sample, uniform, withDoubles } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";

type Operands<T> = InputsOf<7, T>;

/** r, decay, k, v, a, b [T, H, N], state [H, N, N]: a row for each element of v, a column for each of k. */
function infer(inputs: Operands<TensorType>): readonly TensorType[] {
  const [r, , , , , , state] = inputs;
  const [tokens = 0, heads = 0, size = 0] = r.shape;
  const fits =
    r.shape.length === 3 &&
    inputs.slice(0, 6).every(({ shape }) => sameShape(shape, r.shape)) &&
    sameShape(state.shape, [heads, size, size]);
  if (!fits || !isFloat(r.dtype) || inputs.some(({ dtype }) => dtype !== r.dtype))
    throw new WorkbenchError(
      "IR_SHAPE",
      `[wkv7] got ${inputs.map(formatType).join(", ")}; expected six times floats [T, H, N], and [H, N, N]`,
    );
  const dtype = plainDType(r.dtype, "wkv7");
  return [tensor(dtype, [tokens, heads, size]), tensor(dtype, state.shape)];
}

function reference([r, decay, k, v, a, b, state]: Operands<HostTensor>): readonly HostTensor[] {
  const [tokens = 0, heads = 0, size = 0] = r.shape;
  const y = new Float64Array(r.data.length);
  const after = state.data.slice();
  for (let t = 0; t < tokens; t++)
    for (let h = 0; h < heads; h++) {
      const token = (t * heads + h) * size;
      for (let row = 0; row < size; row++) {
        const line = (h * size + row) * size;
        let held = 0;
        for (let n = 0; n < size; n++) held += at(after, line + n) * at(a.data, token + n);
        for (let n = 0; n < size; n++) {
          const kept = at(after, line + n) * at(decay.data, token + n);
          const fresh = kept + held * at(b.data, token + n) + at(v.data, token + row) * at(k.data, token + n);
          after[line + n] = fresh;
          y[token + row] = at(y, token + row) + fresh * at(r.data, token + n);
        }
      }
    }
  return [hostTensor(r.dtype, r.shape, y), hostTensor(r.dtype, state.shape, after)];
}

/** One token: y [H, N] and the state after, of rows [H, N]. */
function turn(g: OpBuilder, rows: readonly Value[], state: Value): readonly [Value, Value] {
  const [heads = 0, size = 0] = g.typeOf(state).shape;
  const line = (x: Value | undefined): Value => g.reshape([x ?? state], { shape: [heads, 1, size] });
  const column = (x: Value | undefined): Value => g.reshape([x ?? state], { shape: [heads, size, 1] });
  const [r, decay, k, v, a, b] = rows;
  const held = g.matmul([state, column(a)]);
  const kept = g.add([g.mul([state, line(decay)]), g.mul([held, line(b)])]);
  const after = g.add([kept, g.mul([column(v), line(k)])]);
  return [g.reshape([g.matmul([after, column(r)])], { shape: [heads, size] }), after];
}

const decompose: Decomposition<NoAttrs, 7> = (g, [r, decay, k, v, a, b, state]) =>
  overTokens(g, [r, decay, k, v, a, b], state, turn);

/** Sizes [T, H, N]. */
const wkv = (
  title: string,
  seed: number,
  [tokens, heads, size]: readonly [number | string, number, number],
  more: Partial<Sample<NoAttrs>> = {},
): Sample<NoAttrs> => {
  const shape = [tokens, heads, size];
  const [r, k, v, a, b] = [0, 1, 2, 3, 4].map((i) => normal(seed + i, shape, 0.5));
  const inputs = [r, uniform(seed + 5, shape, 0.4, 1), k, v, a, b, normal(seed + 6, [heads, size, size])];
  return sample(
    title,
    inputs.filter((input) => input !== undefined),
    {},
    more,
  );
};

export const wkv7: Op<"wkv7", NoAttrs, 7, "many"> = defineOp({
  name: "wkv7",
  summary:
    "The recurrence of RWKV 7 for each head: state ← state · (diag(decay) + a bᵀ) + v kᵀ, y = state r. Gives y [T, H, N] and the state [H, N, N] behind the last token. Decays are above 0.",
  arity: 7,
  operands: ["r", "decay", "k", "v", "a", "b", "state"],
  outputs: "many",
  results: ["y", "state after"],
  attributes: {},
  infer,
  reference,
  oracle: {
    jax: lines(
      `
def turn(state, token):
    r, decay, k, v, a, b = token
    moved = jax.vmap(lambda d, a, b: jnp.diag(d) + jnp.outer(a, b))(decay, a, b)
    after = jnp.einsum("hij,hjk->hik", state, moved) + v[:, :, None] * k[:, None, :]
    return after, jnp.einsum("hij,hj->hi", after, r)
`.trim(),
      "after, y = jax.lax.scan(turn, x6, (x0, x1, x2, x3, x4, x5))",
      "(y, after)",
    ),
  },
  gradient: decomposed(decompose),
  batching: eachItem("wkv7"),
  traits: ["pure", "sensitive"],
  backends: {
    cpu: cpuKernel("wkv7", { takes: REALS }),
    coreml: decomposed(decompose, SCAN_ON_CORE_ML),
    mlx: mlxCall("wkv7"),
  },
  samples: withDoubles([
    wkv("several tokens", 1, [5, 2, 3]),
    wkv("one token, odd sizes", 11, [1, 3, 5]),
    wkv("more tokens than MLX takes at once", 31, [37, 2, 6], { differentiable: false }),
    wkv("symbolic", 21, ["T", 2, 3], { bindings: { T: 4 } }),
  ]),
});
