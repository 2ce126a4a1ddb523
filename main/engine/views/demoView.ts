/** The overview of a graph without a model: the demo graph, or one that was read from a text. */
import type { Ability, TargetSpec } from "../../contract/views/common.ts";
import type { Overview } from "../../contract/views/model.ts";
import { isLeaf } from "../../ir/graph.ts";
import { formatType } from "../../ir/type.ts";
import type { OpenModel } from "../models/openModel.ts";
import type { TextSubject } from "../text/subject.ts";
import { faultsSentence } from "../text/subject.ts";
import { counted } from "../words.ts";
import { CAN, cannot } from "./overviewView.ts";

export const DEMO_EXPORT = cannot(
  "INPUT_ARGUMENT",
  "A graph with host segments is several programs, not one package.",
  "Open a model to export it.",
);

const NO_LANGUAGE = cannot("INPUT_ARGUMENT", "This is a graph without a language model: it reads no texts.");

/** What no graph alone has. */
const NOTHING_OF_A_MODEL = {
  ...{ file: null, parameters: 0, bitsPerWeight: null, mix: [], mixSentence: null },
  ...{ hasChatTemplate: false, samplingHints: { values: {}, notes: [] }, forecasts: [], profiles: [] },
  ...{ canEmbed: NO_LANGUAGE, embedder: null, reference: null, warnings: [] },
};

export const noGraph = (text: TextSubject): Ability =>
  cannot("INPUT_ARGUMENT", `This text is no graph yet. ${faultsSentence(text)}`, "Mend it in the tab Text.");

/** A graph of a text: what it takes and gives, or what is wrong with the text. */
export function textOverview(model: OpenModel, text: TextSubject, target: TargetSpec, runs: Ability): Overview {
  const { graph } = text;
  const can = graph === undefined ? noGraph(text) : CAN;
  const leaves = (op: string): string =>
    (graph?.nodes ?? [])
      .filter((node) => node.op === op)
      .map(({ attrs, outputs: [type] }) => `${String(attrs["name"])}: ${type === undefined ? "" : formatType(type)}`)
      .join(", ");
  const outputs = (graph?.outputs ?? []).map(({ name, value }) => {
    const type = graph?.nodes[value.node]?.outputs[value.output];
    return `${name}: ${type === undefined ? "" : formatType(type)}`;
  });
  const operations = graph?.nodes.filter((node) => !isLeaf(node)).length ?? 0;
  const facts = [
    { label: "inputs", value: leaves("input") },
    { label: "parameters", value: leaves("param") },
    { label: "states", value: leaves("state") },
    { label: "outputs", value: outputs.join(", ") },
  ];
  return {
    ...NOTHING_OF_A_MODEL,
    model: model.id,
    kind: "text",
    title: model.title,
    variant: text.name,
    sentence:
      graph === undefined
        ? faultsSentence(text)
        : `A graph of ${counted(operations, "operation")}, read from ${text.name}.`,
    architecture: "graph",
    facts: facts.filter(({ value }) => value !== ""),
    context: { trained: null, chosen: target.context },
    canGraph: can,
    canRun: can.ok ? runs : can,
    canMeasure: can.ok ? runs : can,
    canExport: can,
    target,
    argument: model.argument,
  };
}

/** `runs`: host parts run on the native engine. */
export function demoOverview(model: OpenModel, target: TargetSpec, runs: Ability): Overview {
  return {
    ...NOTHING_OF_A_MODEL,
    model: model.id,
    kind: "demo-graph",
    title: "A graph with host segments",
    variant: "demo",
    sentence:
      "Linear layers with a Fourier transform, an LSTM and a custom function between them. Its weights are seeded constants.",
    architecture: "demo",
    facts: [
      { label: "host functions", value: "fft, lstm, soft_threshold" },
      { label: "runs through", value: "simulated Core ML segments and host segments" },
    ],
    context: { trained: null, chosen: target.context },
    canGraph: CAN,
    canRun: runs,
    canMeasure: runs,
    canExport: DEMO_EXPORT,
    target,
    argument: model.argument,
  };
}
