/** `rlx check`: is this file, or this graph in text, broken? A verdict that names tensor, row and expert, and says what to do. */
import { resolve } from "node:path";
import type { StreamItemOf } from "../../contract/contract.ts";
import type { Command, CommonOptions, ModelChoice } from "./client.ts";
import { openModel, unfinished } from "./client.ts";
import { checkText, isGraphText } from "./graphText.ts";
import { bytesText, figureText } from "./output.ts";
import { numberText, percent } from "./tensors.ts";
import { percentDone } from "./writing.ts";

interface CheckOptions extends CommonOptions {
  readonly against?: string;
}

type Done = Extract<StreamItemOf<"tensors.check">, { readonly kind: "done" }>;

export async function check(command: Command, choice: ModelChoice, options: CheckOptions): Promise<number> {
  if (isGraphText(choice.file)) return checkText(command, choice.file);
  const { client, output, signal } = command;
  const { model } = await openModel(command, choice);
  const input = { model, against: options.against === undefined ? null : resolve(options.against) };
  for await (const item of client.stream("tensors.check", input, { signal })) {
    if (item.kind === "done") {
      report(command, item);
      return item.verdict === "broken" ? 1 : 0;
    }
    if (item.kind === "finding") continue;
    output.progress(`${percentDone(item)}  ${item.tensor}`, "checking");
  }
  throw unfinished(signal);
}

/** Differences that are listed. */
const WORST = 10;

function report({ output }: Command, done: Done): void {
  output.value(done);
  output.line(done.sentence);
  if (done.advice !== null) output.line(done.advice);
  output.line(`${bytesText(done.bytes)} in ${figureText(done.seconds)}`);
  if (done.findings.length > 0) {
    output.line();
    output.table(
      ["tensor", "", "what"],
      done.findings.map(({ tensor, kind, sentence }) => [tensor, kind, sentence]),
      { yields: 2 },
    );
    if (done.moreFindings > 0) output.line(`and ${done.moreFindings} more`);
  }
  const apart = done.compared.filter(({ relative }) => relative !== 0).slice(0, WORST);
  if (apart.length === 0) return;
  output.line("\nLargest differences:");
  output.table(
    ["tensor", "type", "other", "error", "cosine", "worst row"],
    apart.map(({ tensor, type, theirs, relative, cosine, worst }) => [
      ...[tensor, type, theirs, percent(relative), numberText(cosine)],
      worst === null
        ? ""
        : `${worst.place.row}${worst.place.expert === null ? "" : ` of expert ${worst.place.expert}`}: ${percent(worst.relative)}`,
    ]),
    { right: [3, 4], yields: 0 },
  );
}
