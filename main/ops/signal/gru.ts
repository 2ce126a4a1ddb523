import { REALS, cpuKernel } from "../../backends/cpu/rules.ts";
import type { Decomposition, Op, Range } from "../defineOp.ts";
import { decomposed, defineOp } from "../defineOp.ts";
import { scalarLike } from "../families/constants.ts";
import { at } from "../families/host.ts";
import { lines } from "../families/oracle.ts";
import type { Cell, LayerAttrs } from "../families/recurrentLayers.ts";
import {
  LAYERS_ON_CORE_ML,
  LAYER_ATTRIBUTES,
  inferLayers,
  layerParams,
  layersParts,
  layersReference,
} from "../families/recurrentLayers.ts";
import { normal, sample, withDoubles } from "../families/samples.ts";
import { logistic } from "../families/unary.ts";

/** n = tanh(x + σ(r) h), h ← (1 − σ(z)) n + σ(z) h; gates in the order r, z, n. */
const CELL: Cell = {
  op: "gru",
  gates: 3,
  biases: 2,
  states: 1,
  unit: (ofInput, ofState, [before = 0]) => {
    const [reset, update] = [0, 1].map((i) => logistic(at(ofInput, i) + at(ofState, i)));
    const fresh = Math.tanh(at(ofInput, 2) + (reset ?? 0) * at(ofState, 2));
    return [(1 - (update ?? 0)) * fresh + (update ?? 0) * before];
  },
  step: (g, [xr, xz, xn], [hr, hz, hn], [before]) => {
    if (!xr || !xz || !xn || !hr || !hz || !hn || !before) return [];
    const [reset, update] = [g.sigmoid([g.add([xr, hr])]), g.sigmoid([g.add([xz, hz])])];
    const fresh = g.tanh([g.add([xn, g.mul([reset, hn])])]);
    const rest = g.sub([scalarLike(g, update, 1), update]);
    return [g.add([g.mul([rest, fresh]), g.mul([update, before])])];
  },
};

const decompose: Decomposition<LayerAttrs, Range<5, 6>> = (g, operands, attrs) => layersParts(CELL, g, operands, attrs);

/** By NumPy: layers one after the other, both directions. */
const ORACLE = `
def run(x, wih, whh, bih, bhh, h0, hidden, layers, both):
    dirs, steps = (2 if both else 1), x.shape[1]
    wih, whh = wih.ravel(), whh.ravel().reshape(-1, 3 * hidden, hidden)
    bih, bhh = bih.ravel().reshape(-1, 3 * hidden), bhh.ravel().reshape(-1, 3 * hidden)
    hs, at = [], 0
    for layer in range(layers):
        outs, width = [], x.shape[2]
        for d in range(dirs):
            i = layer * dirs + d
            w, at = wih[at : at + 3 * hidden * width].reshape(3 * hidden, width), at + 3 * hidden * width
            h, seq = h0[i], [None] * steps
            for t in range(steps)[:: -1 if d else 1]:
                xr, xz, xn = np.split(x[:, t] @ w.T + bih[i], 3, axis=1)
                hr, hz, hn = np.split(h @ whh[i].T + bhh[i], 3, axis=1)
                z = scipy.special.expit(xz + hz)
                h = (1 - z) * np.tanh(xn + scipy.special.expit(xr + hr) * hn) + z * h
                seq[t] = h
            outs.append(np.stack(seq, 1) if steps else np.zeros((x.shape[0], 0, hidden))); hs.append(h)
        x = np.concatenate(outs, 2)
    return x, np.stack(hs)
`.trim();

export const gru: Op<"gru", LayerAttrs, Range<5, 6>, "many"> = defineOp({
  name: "gru",
  summary:
    "Gated recurrent units over x [batch, steps, input]: gates in order r, z, n, with r on the state's part of n, its bias too; gives the sequence and h.",
  arity: { least: 5, most: 6 },
  operands: ["x", "input weight", "state weight", "input bias", "state bias", "first hidden"],
  outputs: "many",
  results: ["sequence", "hidden"],
  attributes: LAYER_ATTRIBUTES,
  infer: (operands, attrs) => inferLayers(CELL, operands, attrs),
  reference: (operands, attrs) => layersReference(CELL, operands, attrs),
  oracle: {
    numpy: lines(
      ORACLE,
      'zero = np.zeros((a["layers"] * (2 if a["bidirectional"] else 1), x0.shape[0], a["hidden"]))',
      'run(x0, x1, x2, x3, x4, xs[5] if len(xs) > 5 else zero, a["hidden"], a["layers"], a["bidirectional"])',
    ),
  },
  gradient: decomposed(decompose),
  batching: decomposed(decompose),
  traits: ["pure"],
  backends: {
    cpu: cpuKernel("gru", { takes: REALS, params: layerParams }),
    coreml: decomposed(decompose, LAYERS_ON_CORE_ML),
    mlx: decomposed(decompose),
    webgpu: decomposed(decompose),
  },
  samples: withDoubles<LayerAttrs>([
    sample(
      "one layer, odd sizes",
      [normal(1, [2, 3, 5]), normal(2, [9, 5], 0.5), normal(3, [9, 3], 0.5), normal(4, [9], 0.5), normal(5, [9], 0.5)],
      { hidden: 3, layers: 1, bidirectional: false },
    ),
    sample(
      "two layers, both directions",
      [
        normal(6, [1, 4, 3]),
        normal(7, [2 * 6 * 3 + 2 * 6 * 4], 0.5),
        normal(8, [4 * 6 * 2], 0.5),
        normal(9, [4 * 6], 0.5),
        normal(10, [4 * 6], 0.5),
      ],
      { hidden: 2, layers: 2, bidirectional: true },
    ),
    sample(
      "given state, symbolic batch and steps",
      [
        normal(11, ["B", "S", 2]),
        normal(12, [6, 2], 0.5),
        normal(13, [6, 2], 0.5),
        normal(14, [6], 0.5),
        normal(15, [6], 0.5),
        normal(16, [1, "B", 2]),
      ],
      { hidden: 2, layers: 1, bidirectional: false },
      { bindings: { B: 2, S: 9 } },
    ),
    sample(
      "no step",
      [
        normal(17, [2, 0, 3]),
        normal(18, [6, 3], 0.5),
        normal(19, [6, 2], 0.5),
        normal(20, [6], 0.5),
        normal(21, [6], 0.5),
        normal(22, [1, 2, 2]),
      ],
      { hidden: 2, layers: 1, bidirectional: false },
    ),
  ]),
});
