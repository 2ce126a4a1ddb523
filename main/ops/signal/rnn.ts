import { REALS, cpuKernel } from "../../backends/cpu/rules.ts";
import { attr } from "../../ir/attributes.ts";
import type { Decomposition, Op, Range } from "../defineOp.ts";
import { decomposed, defineOp } from "../defineOp.ts";
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

export interface RnnAttrs extends LayerAttrs {
  readonly activation: "tanh" | "relu";
}

const SIZES = { gates: 1, biases: 1, states: 1 } as const;

/** h ← activation(x W + h U + b). NaN stays NaN, as in Math.max. */
const cellOf = ({ activation }: RnnAttrs): Cell => ({
  op: "rnn",
  ...SIZES,
  unit: (ofInput, ofState) => {
    const sum = at(ofInput, 0) + at(ofState, 0);
    return [activation === "tanh" ? Math.tanh(sum) : Math.max(sum, 0)];
  },
  step: (g, [input], [state]) => {
    if (!input || !state) return [];
    const sum = g.add([input, state]);
    return [activation === "tanh" ? g.tanh([sum]) : g.relu([sum])];
  },
});

const decompose: Decomposition<RnnAttrs, Range<4, 5>> = (g, operands, attrs) =>
  layersParts(cellOf(attrs), g, operands, attrs);

/** By NumPy. */
const STEP = 'cell = lambda x, h, before: [np.tanh(x + h) if a["activation"] == "tanh" else np.maximum(x + h, 0)]';

export const rnn: Op<"rnn", RnnAttrs, Range<4, 5>, "many"> = defineOp({
  name: "rnn",
  summary:
    "A plain recurrent layer over x [batch, steps, input]: h ← activation(x Wᵀ + h Uᵀ + bias); gives the sequence and h.",
  arity: { least: 4, most: 5 },
  operands: ["x", "input weight", "state weight", "bias", "first hidden"],
  outputs: "many",
  results: ["sequence", "hidden"],
  attributes: { ...LAYER_ATTRIBUTES, activation: attr.oneOf(["tanh", "relu"]) },
  infer: (operands, attrs) => inferLayers(cellOf(attrs), operands, attrs),
  reference: (operands, attrs) => layersReference(cellOf(attrs), operands, attrs),
  oracle: layersOracle(SIZES, STEP),
  gradient: decomposed(decompose),
  batching: decomposed(decompose),
  traits: ["pure"],
  backends: {
    cpu: cpuKernel("rnn", {
      takes: REALS,
      params: (attrs) => ({ ...layerParams(attrs), relu: attrs.activation === "relu" }),
    }),
    coreml: decomposed(decompose, LAYERS_ON_CORE_ML),
    mlx: decomposed(decompose),
    webgpu: decomposed(decompose),
  },
  samples: withDoubles<RnnAttrs>([
    sample(
      "one layer, odd sizes",
      [normal(1, [2, 3, 5]), normal(2, [3, 5], 0.5), normal(3, [3, 3], 0.5), normal(4, [3], 0.5)],
      { hidden: 3, layers: 1, bidirectional: false, activation: "tanh" },
    ),
    sample(
      "two layers, both directions, relu",
      [
        normal(5, [1, 4, 3]),
        normal(6, [2 * 2 * 3 + 2 * 2 * 4], 0.5),
        normal(7, [4 * 2 * 2], 0.5),
        normal(8, [4 * 2], 0.5, 0.5),
      ],
      { hidden: 2, layers: 2, bidirectional: true, activation: "relu" },
    ),
    sample(
      "given state, symbolic batch and steps",
      [
        normal(9, ["B", "S", 2]),
        normal(10, [2, 2], 0.5),
        normal(11, [2, 2], 0.5),
        normal(12, [2], 0.5),
        normal(13, [1, "B", 2]),
      ],
      { hidden: 2, layers: 1, bidirectional: false, activation: "tanh" },
      { bindings: { B: 2, S: 9 } },
    ),
    sample("no step", [normal(14, [2, 0, 3]), normal(15, [2, 3], 0.5), normal(16, [2, 2], 0.5), normal(17, [2], 0.5)], {
      hidden: 2,
      layers: 1,
      bidirectional: false,
      activation: "tanh",
    }),
  ]),
});
