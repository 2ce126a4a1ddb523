/** `rlx advise`: what would make a model faster on a target, what it would gain, and whether it does here. */
import type { StreamInputOf } from "../../contract/contract.ts";
import type { Advice, AdviceVerdict } from "../../contract/views/advice.ts";
import { BACKENDS, RUNTIMES } from "../../contract/views/graph.ts";
import type { Backend } from "../../contract/views/graph.ts";
import type { Figure } from "../../contract/views/common.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Command, CommonOptions, ModelChoice } from "./client.ts";
import { openForTarget, orList, unfinished, wholeNumber } from "./client.ts";
import { phaseOf } from "./graph.ts";
import { phaseText } from "./output.ts";

interface AdviseOptions extends CommonOptions {
  readonly backend?: string;
  readonly measure?: string;
  readonly pairs?: string;
  readonly warn?: boolean;
}

function backendOf(text: string = RUNTIMES.coreml): Backend {
  const found = BACKENDS.find(({ backend }) => backend === text);
  if (found !== undefined) return found.backend;
  throw new WorkbenchError(
    "INPUT_ARGUMENT",
    `[rlx] --backend: got ${text}, expected ${orList(BACKENDS.map(({ backend }) => backend))}`,
  );
}

export async function advise(command: Command, choice: ModelChoice, options: AdviseOptions): Promise<undefined> {
  const { client, output, signal } = command;
  const { measure, pairs, warn } = options;
  const backend = backendOf(options.backend);
  const most = pairs === undefined ? {} : { pairs: wholeNumber("pairs", pairs, 1, 100) };
  const { model, target } = await openForTarget(command, choice, options);
  const subject = { model, target, phase: phaseOf(options), backend };
  output.progress("Looking for what would make it faster");
  if (measure === undefined) {
    const list = await client.call("advice.list", subject, { signal });
    output.value({ ...list, target, phase: subject.phase, backend });
    output.line(list.sentence);
    for (const advice of list.advices) print(command, advice);
    return undefined;
  }
  const verdict = await measured(command, {
    ...subject,
    rule: measure,
    ...most,
    conditions: warn === true ? "warn" : "wait",
  });
  output.value(verdict);
  output.line(verdict.sentence);
  for (const note of verdict.notes) output.line(note);
  return undefined;
}

async function measured(
  { client, output, signal }: Command,
  input: StreamInputOf<"advice.measure">,
): Promise<AdviceVerdict> {
  for await (const item of client.stream("advice.measure", input, { signal })) {
    if (item.kind === "phase") output.progress(phaseText(item), item.name);
    else if (item.kind === "pair") output.progress(`Pair ${item.index + 1}`, "pairs");
    else return item.verdict;
  }
  throw unfinished(signal);
}

function print({ output }: Command, advice: Advice): void {
  const { rule, title, claim, gain, before, after, flags, applies, risk, verdict } = advice;
  output.line(
    `\n${title} (${rule}): ~${range(gain)} of ~${milliseconds(before.value)}, ~${milliseconds(after.value)} are left`,
  );
  output.line(`  ${claim}`);
  output.line(`  ${flags === null ? applies : `With ${flags}`}. ${risk}`.replace("..", "."));
  if (verdict !== null) output.line(`  Measured here: ${verdict.sentence}`);
}

const milliseconds = (seconds: number): string => `${Number((seconds * 1e3).toPrecision(3))} ms`;
const range = ({ value, low, high }: Figure): string =>
  low === null || high === null
    ? milliseconds(value)
    : `${milliseconds(value)} (${milliseconds(low)} … ${milliseconds(high)})`;
