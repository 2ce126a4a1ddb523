/** Graphs as text: read, formatted, derived and run. */
import type { EngineHandlers } from "../../contract/contract.ts";
import type { TextDiagnostic, TextReport } from "../../contract/views/text.ts";
import { gradient, mapped } from "../text/derive.ts";
import type { Graph, Node } from "../../ir/graph.ts";
import { isLeaf } from "../../ir/graph.ts";
import { graphHash } from "../../ir/hash.ts";
import { parseGraph, readGraph } from "../../ir/text/build.ts";
import type { Diagnostic } from "../../ir/text/diagnostics.ts";
import { formatText } from "../../ir/text/format.ts";
import { printWhole } from "../../ir/text/print.ts";
import { formatType } from "../../ir/type.ts";
import { opTable } from "../../ops/index.ts";
import type { EngineDevice, EngineDevices } from "../devices.ts";
import type { Jobs } from "../jobs.ts";
import type { ModelFiles } from "../services.ts";
import { bisectText } from "../text/bisectText.ts";
import { runText } from "../text/runText.ts";

export interface TextParts {
  readonly devices: EngineDevices;
  readonly files: ModelFiles;
  readonly jobs: Jobs;
  readonly threads: number;
}

export function textHandlers({
  devices,
  files,
  jobs,
  threads,
}: TextParts): Pick<EngineHandlers["calls"], "text.read" | "text.format" | "text.derive" | "text.run" | "text.bisect"> {
  /** On a device that runs graphs, as a job. */
  const onDevice = async <Result>(
    device: string,
    graph: Graph,
    work: (able: EngineDevice) => Promise<Result>,
  ): Promise<Result> => {
    const able = devices.running(devices.able(device, "graphs", "run"));
    const job = jobs.start("run", graph.name);
    try {
      return await work(able);
    } finally {
      job.end();
    }
  };
  return {
    "text.read": ({ text }) => {
      const { graph, diagnostics } = readGraph(opTable, text);
      return { diagnostics: diagnostics.map(told), graph: graph === undefined ? null : describe(graph) };
    },
    "text.format": ({ text }) => {
      const formatted = formatText(text);
      return "text" in formatted
        ? { text: formatted.text, diagnostics: [] }
        : { text: null, diagnostics: formatted.diagnostics.map(told) };
    },
    "text.derive": ({ text, how }) => {
      const graph = parseGraph(opTable, text);
      return { text: printWhole(how.kind === "grad" ? gradient(graph, how) : mapped(graph, how)) };
    },
    "text.run": ({ text, device, ...asked }, { signal }) => {
      const graph = parseGraph(opTable, text);
      return onDevice(device, graph, (able) => runText({ files, device: able, threads }, graph, asked, signal));
    },
    "text.bisect": ({ text, device, ...asked }, { signal }) => {
      const graph = parseGraph(opTable, text);
      return onDevice(device, graph, (able) => bisectText({ files, device: able, threads }, graph, asked, signal));
    },
  };
}

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
