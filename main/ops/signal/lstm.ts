import { mlxCall } from "../../backends/mlx/rules.ts";
import { REALS, cpuKernel } from "../../backends/cpu/rules.ts";
import type { Decomposition, Op, Range } from "../defineOp.ts";
import { decomposed, defineOp } from "../defineOp.ts";
import type { Cell, LayerAttrs } from "../families/recurrentLayers.ts";
import {
  LAYER_ATTRIBUTES,
  inferLayers,
  layerParams,
  layersOracle,
  layersParts,
  layersReference,
} from "../families/recurrentLayers.ts";
import { normal, sample, withDoubles } from "../families/samples.ts";
import { at } from "../families/host.ts";
import { MOST_UNROLLED_TURNS } from "../families/turns.ts";
import { logistic } from "../families/unary.ts";

export type LstmAttrs = LayerAttrs;

/** c = σ(f) c + σ(i) tanh(g), h = σ(o) tanh(c); gates in the order i, f, g, o. */
const CELL: Cell = {
  op: "lstm",
  gates: 4,
  biases: 1,
  states: 2,
  unit: (ofInput, ofState, [, cell = 0]) => {
    const [input, forget, fresh, output] = [0, 1, 2, 3].map((i) => at(ofInput, i) + at(ofState, i));
    const c = logistic(forget ?? 0) * cell + logistic(input ?? 0) * Math.tanh(fresh ?? 0);
    return [logistic(output ?? 0) * Math.tanh(c), c];
  },
  step: (g, ofInput, ofState, [, cell]) => {
    const gates = ofInput.flatMap((gate, i) => (ofState[i] ? [g.add([gate, ofState[i]])] : []));
    const [input, forget, fresh, output] = gates;
    if (!input || !forget || !fresh || !output || !cell) return [];
    const c = g.add([g.mul([g.sigmoid([forget]), cell]), g.mul([g.sigmoid([input]), g.tanh([fresh])])]);
    return [g.mul([g.sigmoid([output]), g.tanh([c])]), c];
  },
};

const decompose: Decomposition<LstmAttrs, Range<4, 6>> = (g, operands, attrs) => layersParts(CELL, g, operands, attrs);

/** By NumPy. */
const STEP = `
def cell(x, h, before, c):
    i, f, g, o = np.split(x + h, 4, axis=1)
    after = scipy.special.expit(f) * c + scipy.special.expit(i) * np.tanh(g)
    return [scipy.special.expit(o) * np.tanh(after), after]
`;

export const lstm: Op<"lstm", LstmAttrs, Range<4, 6>, "many"> = defineOp({
  name: "lstm",
  summary:
    "Long short-term memory over x [batch, steps, input]: gates in order i, f, g, o; gives the sequence, h and c.",
  arity: { least: 4, most: 6 },
  operands: ["x", "input weight", "state weight", "bias", "first hidden", "first cell"],
  outputs: "many",
  results: ["sequence", "hidden", "cell"],
  attributes: LAYER_ATTRIBUTES,
  infer: (operands, attrs) => inferLayers(CELL, operands, attrs),
  reference: (operands, attrs) => layersReference(CELL, operands, attrs),
  oracle: layersOracle(CELL, STEP),
  gradient: decomposed(decompose),
  batching: decomposed(decompose),
  traits: ["pure", "host"],
  backends: {
    cpu: cpuKernel("lstm", { takes: REALS, params: layerParams }),
    coreml: {
      ...decomposed(
        decompose,
        `up to ${MOST_UNROLLED_TURNS} steps are products one after the other: Core ML's own lstm wants its weights at compile time and runs on the CPU alone`,
      ),
      when: ({ inputs: [x] }) => {
        const steps = x?.shape[1];
        if (typeof steps === "number" && steps <= MOST_UNROLLED_TURNS) return true;
        return `Core ML's lstm wants its weights at compile time, one layer at a time, and no compute unit but the CPU runs it, nor a loop over more than ${MOST_UNROLLED_TURNS} steps, got ${steps ?? "none"}: it is a host segment between Core ML models`;
      },
    },
    mlx: mlxCall("lstm", { attrs: layerParams }),
  },
  samples: withDoubles([
    sample(
      "one layer, odd sizes",
      [normal(1, [2, 3, 5]), normal(2, [12, 5], 0.5), normal(3, [12, 3], 0.5), normal(4, [12], 0.5)],
      { hidden: 3, layers: 1, bidirectional: false },
    ),
    sample(
      "two layers, both directions",
      [
        normal(5, [1, 4, 3]),
        normal(6, [2 * 8 * 3 + 2 * 8 * 4], 0.5),
        normal(7, [4 * 8 * 2], 0.5),
        normal(8, [4 * 8], 0.5),
      ],
      { hidden: 2, layers: 2, bidirectional: true },
    ),
    sample(
      "given states, symbolic batch",
      [
        normal(9, ["B", 2, 2]),
        normal(10, [8, 2], 0.5),
        normal(11, [8, 2], 0.5),
        normal(12, [8], 0.5),
        normal(13, [1, "B", 2]),
        normal(14, [1, "B", 2]),
      ],
      { hidden: 2, layers: 1, bidirectional: false },
      { bindings: { B: 2 } },
    ),
    sample(
      "symbolic steps, both directions",
      [normal(15, [2, "S", 3]), normal(16, [48], 0.5), normal(17, [32], 0.5), normal(18, [16], 0.5)],
      { hidden: 2, layers: 1, bidirectional: true },
      { bindings: { S: 9 } },
    ),
  ]),
});
