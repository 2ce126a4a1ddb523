/** Graphs as text: read, formatted, derived and run. */
import type { EngineHandlers } from "../../contract/contract.ts";
import type { TargetSpec } from "../../contract/views/common.ts";
import type { TextDiagnostic, TextReport } from "../../contract/views/text.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { CpuAccess } from "../../runtime/devices/cpu.ts";
import { gradient, mapped } from "../text/derive.ts";
import type { Graph, Node } from "../../ir/graph.ts";
import { isLeaf } from "../../ir/graph.ts";
import { graphHash } from "../../ir/hash.ts";
import { parseGraph, readGraphSteps } from "../../ir/text/build.ts";
import type { Diagnostic } from "../../ir/text/diagnostics.ts";
import { formatText } from "../../ir/text/format.ts";
import { printWhole } from "../../ir/text/print.ts";
import { formatType } from "../../ir/type.ts";
import { opTable } from "../../ops/index.ts";
import type { EngineDevices } from "../devices.ts";
import type { Jobs } from "../jobs.ts";
import { inSlices } from "../models/taskCache.ts";
import type { ModelStore } from "../models/modelStore.ts";
import type { ModelFiles, PackageFiles, TrainingFiles } from "../services.ts";
import { GALLERY } from "../../gallery/gallery.ts";
import { bisectText } from "../text/bisectText.ts";
import type { TextRunParts } from "../text/runText.ts";
import { runText } from "../text/runText.ts";
import { saveText } from "../text/textFile.ts";
import type { ArrayFiles } from "../text/values.ts";

export interface TextParts {
  readonly store: Pick<ModelStore, "get">;
  readonly devices: EngineDevices;
  readonly cpu: CpuAccess;
  readonly packages: PackageFiles;
  readonly files: ModelFiles;
  readonly trainingFiles: Pick<TrainingFiles, "inflate">;
  readonly jobs: Jobs;
  readonly threads: number;
  readonly initialTarget: TargetSpec;
}

type TextCalls =
  | "text.read"
  | "text.format"
  | "text.derive"
  | "text.run"
  | "text.bisect"
  | "text.source"
  | "text.save"
  | "text.gallery";

export function textHandlers(parts: TextParts): Pick<EngineHandlers["calls"], TextCalls> {
  const { devices, files, jobs } = parts;
  const arrays: ArrayFiles = { files, inflate: (bytes, most) => parts.trainingFiles.inflate(bytes, most) };
  /** A device that compiles graphs, or runs their parts. */
  const runner = (device: string, target: TargetSpec): TextRunParts => {
    const { segments } = devices.get(device, "run").capabilities;
    const chosen = segments === true ? devices.get(device, "run") : devices.able(device, "graphs", "run");
    return { ...parts, arrays, device: devices.running(chosen), target };
  };
  const asJob = async <Result>(graph: Graph, work: () => Promise<Result>): Promise<Result> => {
    const job = jobs.start("run", graph.name);
    try {
      return await work();
    } finally {
      job.end();
    }
  };
  return {
    "text.source": ({ model }) => {
      const { text } = parts.store.get(model);
      if (text !== undefined) return { name: text.name, file: text.file, text: text.text };
      throw new WorkbenchError("INPUT_ARGUMENT", "[text] got a model, expected a graph that was opened as text", {
        hint: "rlx graph prints the graph of a model.",
      });
    },
    "text.save": (asked, { signal }) => saveText(files, asked, signal),
    "text.gallery": () => ({ graphs: [...GALLERY] }),
    "text.read": async ({ text, types: asked }, { signal }) => {
      const { graph, diagnostics, types } = await inSlices(readGraphSteps(opTable, text), signal);
      const typed = [...(asked ? types() : [])].map(([start, each]) => ({ start, types: each.map(formatType) }));
      return { diagnostics: diagnostics.map(told), types: typed, graph: graph === undefined ? null : describe(graph) };
    },
    "text.format": ({ text }) => {
      const formatted = formatText(text);
      return "text" in formatted
        ? { text: formatted.text, diagnostics: [] }
        : { text: null, diagnostics: formatted.diagnostics.map(told) };
    },
    "text.derive": ({ text, name, how }) => {
      const graph = graphOf(text, name);
      return { text: printWhole(how.kind === "grad" ? gradient(graph, how) : mapped(graph, how)) };
    },
    "text.run": ({ text, name, device, target, ...asked }, { signal }) => {
      const graph = graphOf(text, name);
      const able = runner(device, target ?? parts.initialTarget);
      return asJob(graph, () => runText(able, graph, asked, signal));
    },
    "text.bisect": ({ text, name, device, ...asked }, { signal }) => {
      const graph = graphOf(text, name);
      const able = runner(device, parts.initialTarget);
      return asJob(graph, () => bisectText(able, graph, asked, signal));
    },
  };
}

const graphOf = (text: string, name: string | undefined): Graph =>
  parseGraph(opTable, text, name === undefined ? {} : { name });

const told = ({ code, message, span, line, column, fix }: Diagnostic): TextDiagnostic => ({
  ...{ code, message, ...span, line, column },
  fix: fix === undefined ? null : { title: fix.title, ...fix.span, text: fix.text },
});

function describe(graph: Graph): NonNullable<TextReport["graph"]> {
  const leaves = (op: string): { name: string; type: string }[] =>
    graph.nodes
      .filter((node) => node.op === op)
      .map((node) => ({ name: String(node.attrs["name"]), type: typeOf(node) }));
  return {
    name: graph.name,
    hash: graphHash(graph),
    operations: graph.nodes.filter((node) => !isLeaf(node)).length,
    inputs: leaves("input"),
    params: leaves("param"),
    states: leaves("state"),
    outputs: graph.outputs.map(({ name, value }) => ({ name, type: typeOf(graph.nodes[value.node], value.output) })),
  };
}

function typeOf(node: Node | undefined, output = 0): string {
  const type = node?.outputs[output];
  return type === undefined ? "" : formatType(type);
}
