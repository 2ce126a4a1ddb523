/** `rlx graph` and `rlx passes`. */
import type { Input } from "../../contract/contract.ts";
import type { Backend, Precision, Stage, TextPage } from "../../contract/views/graph.ts";
import { BACKENDS, isRouted, ROUTED, stageOn } from "../../contract/views/graph.ts";
import type { Phase, TargetSpec } from "../../contract/views/common.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { blocksOf, printBlocks } from "./blocks.ts";
import type { Command, CommonOptions, ModelChoice } from "./client.ts";
import { openForTarget } from "./client.ts";
import { figureText } from "./output.ts";

interface PassesOptions extends CommonOptions {
  readonly backend?: string;
  readonly precision: string;
}

interface GraphOptions extends PassesOptions {
  readonly stage: string;
  readonly mil?: boolean;
}

export function phaseOf(options: CommonOptions): Phase {
  const phase: string = options.phase ?? "decode";
  if (phase === "decode" || phase === "prefill") return phase;
  throw new WorkbenchError("INPUT_ARGUMENT", `[rlx] --phase: got ${phase}, expected decode or prefill`);
}

function backendOf({ backend = ROUTED.backend }: PassesOptions): Backend {
  const found = BACKENDS.find((each) => each.backend === backend);
  if (found !== undefined) return found.backend;
  const names = BACKENDS.map((each) => each.backend).join(", ");
  throw new WorkbenchError("INPUT_ARGUMENT", `[rlx] --backend: got ${backend}, expected one of ${names}`);
}

function precisionOf({ precision }: PassesOptions, backend: Backend): Precision {
  if (precision !== "f32" && precision !== "mixed" && precision !== "f16")
    throw new WorkbenchError("INPUT_ARGUMENT", `[rlx] --precision: got ${precision}, expected f32, mixed or f16`);
  if (precision !== "f32" && backend !== "cpu")
    throw new WorkbenchError("INPUT_ARGUMENT", `[rlx] --precision: got ${precision} for ${backend}, expected f32`, {
      hint: "Name --backend cpu. For Core ML the form of the weights decides: --profile exact is f32, the others f16.",
    });
  return precision;
}

function stageOf({ stage, ...options }: GraphOptions, target: TargetSpec): Stage {
  const backend = backendOf(options);
  const precision = precisionOf(options, backend);
  return backend === "cpu" ? { backend, step: stage, precision } : stageOn(backend, stage, target);
}

export async function graph(command: Command, choice: ModelChoice, options: GraphOptions): Promise<undefined> {
  const { client, output, signal } = command;
  const at = { backend: backendOf(options), step: options.stage };
  if (options.mil === true && !isRouted(at))
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[rlx] --mil: got --backend ${at.backend} --stage ${at.step}, expected neither`,
      { hint: "MIL is made of the graph that is legal for Core ML." },
    );
  const { model, target, canGraph } = await openForTarget(command, choice, options);
  if (!canGraph.ok && options.mil !== true && hasOnlyBlocks(canGraph)) {
    const blocks = await blocksOf(command, model);
    output.note(canGraph.sentence);
    output.value(blocks);
    printBlocks(command, blocks);
    return undefined;
  }
  const key = { model, stage: stageOf(options, target), phase: phaseOf(options) };
  if (options.mil === true) {
    const pages = [];
    for await (const page of textPages(command, { key, target, language: "mil" })) pages.push(page);
    const mil = pages.map(({ text }) => text).join("\n");
    output.value({ title: pages[0]?.title ?? "", mil });
    output.line(mil);
  } else if (output.json) output.value(await client.call("graph.get", key, { signal }));
  else for await (const { text } of textPages(command, { key, target, language: "rlx-ir" })) output.line(text);
  return undefined;
}

/** True for a valid file whose graph cannot be built here. A broken file is an error. */
const hasOnlyBlocks = ({ code }: { readonly code: string }): boolean =>
  code === "UNSUPPORTED_ARCHITECTURE" || code === "UNSUPPORTED_TENSOR_TYPE";

/** The pages of a program's text. */
async function* textPages(
  { client, signal }: Command,
  asked: Omit<Input<"text.page">, "firstLine">,
): AsyncGenerator<TextPage, void> {
  for (let firstLine = 0; ;) {
    const page = await client.call("text.page", { ...asked, firstLine }, { signal });
    yield page;
    firstLine += page.nodes.length;
    if (firstLine >= page.totalLines || page.nodes.length === 0) return;
  }
}

export async function passes(command: Command, choice: ModelChoice, options: PassesOptions): Promise<undefined> {
  const backend = backendOf(options);
  const precision = precisionOf(options, backend);
  const { model, target } = await openForTarget(command, choice, options);
  const list = await command.client.call(
    "passes.list",
    { model, backend, phase: phaseOf(options), target, precision },
    { signal: command.signal },
  );
  command.output.value({ ...list, precision });
  const title = BACKENDS.find((each) => each.backend === backend)?.title ?? backend;
  command.output.line(`Passes for ${title}, ${list.phase}.`);
  const rows = list.passes.map((pass, i) => [
    String(i + 1),
    pass.name,
    `${pass.nodesBefore} → ${pass.nodesAfter}`,
    String(pass.hits),
    String(pass.misses.length),
    figureText(pass.time),
    pass.reason,
  ]);
  command.output.table(["", "pass", "ops", "hits", "misses", "time", "why it is here"], rows, {
    right: [0, 2, 3, 4, 5],
    yields: 6,
    by: "wrap",
  });
  for (const pass of list.passes)
    for (const miss of pass.misses.slice(0, 5))
      command.output.line(`  ${pass.name}: not at ${miss.where}: ${miss.why}`);
  return undefined;
}
