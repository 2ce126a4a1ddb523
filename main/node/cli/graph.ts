/** `rlx graph` and `rlx passes`. */
import type { Stage } from "../../contract/views/graph.ts";
import type { Phase, TargetSpec } from "../../contract/views/common.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Command, CommonOptions, ModelChoice } from "./client.ts";
import { openModel, targetOf, wholeNumber } from "./client.ts";
import { figureText } from "./output.ts";

interface GraphOptions extends CommonOptions {
  readonly stage: string;
}

export function phaseOf(options: CommonOptions): Phase {
  const phase: string = options.phase ?? "decode";
  if (phase === "decode" || phase === "prefill") return phase;
  throw new WorkbenchError("INPUT_ARGUMENT", `[rlx] --phase: got ${phase}, expected decode or prefill`);
}

function stageOf(text: string, target: TargetSpec): Stage {
  if (text === "initial") return { kind: "initial" };
  if (text === "legal") return { kind: "legal", target };
  if (/^\d+$/.test(text)) return { kind: "pass", index: wholeNumber("stage", text, 0, 1000) };
  throw new WorkbenchError(
    "INPUT_ARGUMENT",
    `[rlx] --stage: got ${text}, expected initial, legal or the number of passes applied`,
  );
}

export async function graph(command: Command, choice: ModelChoice, options: GraphOptions): Promise<undefined> {
  const { model } = await openModel(command, choice);
  const target = await targetOf(command, options);
  const key = { model, stage: stageOf(options.stage, target), phase: phaseOf(options) };
  const signal = { signal: command.signal };
  if (command.output.json) command.output.value(await command.client.call("graph.get", key, signal));
  else
    for (let firstLine = 0; ;) {
      const page = await command.client.call("text.page", { key, language: "rlx-ir", target, firstLine }, signal);
      command.output.line(page.text);
      firstLine += page.nodes.length;
      if (firstLine >= page.totalLines || page.nodes.length === 0) break;
    }
  return undefined;
}

export async function passes(command: Command, choice: ModelChoice, options: CommonOptions): Promise<undefined> {
  const { model } = await openModel(command, choice);
  const target = await targetOf(command, options);
  const list = await command.client.call(
    "passes.list",
    { model, phase: phaseOf(options), target },
    { signal: command.signal },
  );
  command.output.value(list);
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
