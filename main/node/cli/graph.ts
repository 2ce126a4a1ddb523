/** `rlx graph` and `rlx passes`. */
import type { Input } from "../../contract/contract.ts";
import type { Precision, Stage, TextPage } from "../../contract/views/graph.ts";
import type { Phase, TargetSpec } from "../../contract/views/common.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { pipelineFor } from "../../passes/pipeline.ts";
import { blocksOf, printBlocks } from "./blocks.ts";
import type { Command, CommonOptions, ModelChoice } from "./client.ts";
import { openForTarget, wholeNumber } from "./client.ts";
import { figureText } from "./output.ts";

interface PassesOptions extends CommonOptions {
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

function precisionOf({ precision }: PassesOptions): Precision {
  if (precision === "f32" || precision === "mixed" || precision === "f16") return precision;
  throw new WorkbenchError("INPUT_ARGUMENT", `[rlx] --precision: got ${precision}, expected f32, mixed or f16`);
}

function stageOf(text: string, target: TargetSpec, precision: Precision): Stage {
  if (text === "initial") return { kind: "initial", precision };
  if (text === "legal" && precision === "f32") return { kind: "legal", target };
  if (text === "legal")
    throw new WorkbenchError("INPUT_ARGUMENT", `[rlx] --precision: got ${precision}, but a legal graph is Core ML's`, {
      hint: "There the form of the weights decides: --profile exact is f32, the others f16. Or name a --stage before it: initial, or the number of passes applied.",
    });
  if (/^\d+$/.test(text)) return { kind: "pass", index: wholeNumber("stage", text, 0, 1000), precision };
  throw new WorkbenchError(
    "INPUT_ARGUMENT",
    `[rlx] --stage: got ${text}, expected initial, legal or the number of passes applied`,
  );
}

export async function graph(command: Command, choice: ModelChoice, options: GraphOptions): Promise<undefined> {
  const { client, output, signal } = command;
  const precision = precisionOf(options);
  if (options.mil === true && options.stage !== "legal")
    throw new WorkbenchError("INPUT_ARGUMENT", `[rlx] --mil: got --stage ${options.stage}, expected none`, {
      hint: "MIL is made of the legal graph.",
    });
  const { model, target, canGraph } = await openForTarget(command, choice, options);
  if (!canGraph.ok && options.mil !== true && hasOnlyBlocks(canGraph)) {
    const blocks = await blocksOf(command, model);
    output.note(canGraph.sentence);
    output.value(blocks);
    printBlocks(command, blocks);
    return undefined;
  }
  const key = { model, stage: stageOf(options.stage, target, precision), phase: phaseOf(options) };
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

/** Files that are whole but cannot be built here; a broken one is an error. */
const hasOnlyBlocks = ({ code }: { readonly code: string }): boolean =>
  code === "UNSUPPORTED_ARCHITECTURE" || code === "UNSUPPORTED_TENSOR_TYPE";

/** A program, page by page. */
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
  const precision = precisionOf(options);
  const { model, target } = await openForTarget(command, choice, options);
  const list = await command.client.call(
    "passes.list",
    { model, phase: phaseOf(options), target, precision },
    { signal: command.signal },
  );
  command.output.value({ ...list, precision });
  const shared = pipelineFor("coreml").length;
  command.output.line(
    `The passes of the CPU engine. What is for Core ML or MLX goes through the first ${shared}, and is made legal then (rlx graph).`,
  );
  const rows = list.passes.map((pass) => [
    String(pass.index),
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
