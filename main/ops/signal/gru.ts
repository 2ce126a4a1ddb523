import { REALS, cpuKernel } from "../../backends/cpu/rules.ts";
import type { Decomposition, Op, Range } from "../defineOp.ts";
import { decomposed, defineOp } from "../defineOp.ts";
import { scalarLike } from "../families/constants.ts";
import { at } from "../families/host.ts";
import type { Cell, LayerAttrs } from "../families/recurrentLayers.ts";
import {
  LAYERS_ON_CORE_ML,
  LAYER_ATTRIBUTES,
  inferLayers,
  layerParams,
  layersOracle,
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

/** By NumPy. */
const STEP = `
def cell(x, h, before):
    (xr, xz, xn), (hr, hz, hn) = np.split(x, 3, axis=1), np.split(h, 3, axis=1)
    z = scipy.special.expit(xz + hz)
    return [(1 - z) * np.tanh(xn + scipy.special.expit(xr + hr) * hn) + z * before]
`;

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
  oracle: layersOracle(CELL, STEP),
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
