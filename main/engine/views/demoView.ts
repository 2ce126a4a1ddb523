/** The overview of the demo graph: it has no file, only a graph. */
import type { Ability, TargetSpec } from "../../contract/views/common.ts";
import type { Overview } from "../../contract/views/model.ts";
import type { OpenModel } from "../models/openModel.ts";
import { CAN, cannot } from "./overviewView.ts";

/** `runs`: host parts run on the native engine. */
export const DEMO_EXPORT = cannot(
  "INPUT_ARGUMENT",
  "A graph with host segments is several programs, not one package.",
  "Open a model to export it.",
);

export function demoOverview(model: OpenModel, target: TargetSpec, runs: Ability): Overview {
  return {
    model: model.id,
    kind: "demo-graph",
    title: "A graph with host segments",
    variant: "demo",
    sentence:
      "Linear layers with a Fourier transform, an LSTM and a custom function between them. Its weights are seeded constants.",
    architecture: "demo",
    file: null,
    parameters: 0,
    bitsPerWeight: null,
    mix: [],
    mixSentence: null,
    facts: [
      { label: "host functions", value: "fft, lstm, soft_threshold" },
      { label: "runs through", value: "simulated Core ML segments and host segments" },
    ],
    context: { trained: null, chosen: target.context },
    hasChatTemplate: false,
    samplingHints: { values: {}, notes: [] },
    forecasts: [],
    profiles: [],
    canGraph: CAN,
    canRun: runs,
    canMeasure: runs,
    reference: null,
    canExport: DEMO_EXPORT,
    warnings: [],
    target,
    argument: model.argument,
  };
}
