/** `rlx template`: a chat template looked at. Ends with 1 where a call is not read back as it was written. */
import type { TemplateAbilityView, TemplateReportView, TemplateSample } from "../../contract/views/template.ts";
import { TEMPLATE_SAMPLES } from "../../contract/views/template.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { counted } from "../../engine/words.ts";
import type { Command, CommonOptions, ModelChoice } from "./client.ts";
import { oneOf, openModel } from "./client.ts";
import { readText } from "./text.ts";
import type { ToldOptions } from "./told.ts";
import { toldOf } from "./told.ts";

interface TemplateOptions extends CommonOptions, Pick<ToldOptions, "tools" | "template" | "templateVar"> {
  readonly conversation?: string;
  readonly messages?: string;
  readonly against?: string;
  readonly tokens?: boolean;
  /** False with --no-generation-prompt. */
  readonly generationPrompt: boolean;
}

const STATES: Readonly<Record<TemplateAbilityView["state"], string>> = {
  written: "written",
  "left-out": "left out",
  refused: "refused",
  failed: "fails",
};

export async function inspectTemplate(
  command: Command,
  choice: ModelChoice,
  options: TemplateOptions,
): Promise<number> {
  const { output, signal } = command;
  oneOf("the conversation", { "--conversation": options.conversation, "--messages": options.messages });
  const id = sampleOf(options.conversation ?? "system");
  const json = options.messages === undefined ? undefined : await readText(options.messages, command);
  const against = options.against === undefined ? null : await readText(options.against, command);
  const told = await toldOf(options, command);
  const { model } = await openModel(command, choice, "sample");
  const conversation = json === undefined ? { kind: "sample" as const, id } : { kind: "messages" as const, json };
  const report = await command.client.call(
    "template.inspect",
    { model, conversation, ...told, generationPrompt: options.generationPrompt, against },
    { signal },
  );
  output.value(report);
  const title =
    json === undefined ? report.samples.find((sample) => sample.id === id)?.title : "The conversation given";
  print(command, report, { title: title ?? id, showsTokens: options.tokens === true });
  return report.roundTrip.state === "different" ? 1 : 0;
}

function sampleOf(text: string): TemplateSample {
  const found = TEMPLATE_SAMPLES.find((name) => name === text);
  if (found !== undefined) return found;
  throw new WorkbenchError(
    "INPUT_ARGUMENT",
    `[rlx] --conversation: got ${JSON.stringify(text)}, expected one of ${TEMPLATE_SAMPLES.join(", ")}`,
    { hint: "--messages takes a conversation of your own, as JSON." },
  );
}

interface Shown {
  readonly title: string;
  readonly showsTokens: boolean;
}

function print(
  { output }: Command,
  { about, text, refusal, tokens, brokenMarks, abilities, roundTrip, against }: TemplateReportView,
  { title, showsTokens }: Shown,
): void {
  output.line(about.sentence);
  if (about.names.length > 0) output.line(`Named templates beside it: ${about.names.join(", ")}.`);
  if (about.switches.length > 0) output.line(`Variables that it looks at: ${about.switches.join(", ")}.`);
  output.line(`\n${title}, ${text === null ? "refused" : counted(tokens.length, "token")}:\n`);
  output.line(text ?? `The template says: ${refusal ?? ""}`);
  if (brokenMarks.length > 0)
    output.line(`\nNo tokens of this vocabulary, so the model reads them as letters: ${brokenMarks.join(" ")}`);
  if (showsTokens && text !== null) {
    output.line("");
    output.table(
      ["id", "piece", "special"],
      tokens.map(({ id, text: piece, isSpecial }) => [String(id), JSON.stringify(piece), isSpecial ? "special" : ""]),
      { right: [0], yields: 1 },
    );
  }
  output.line("");
  const others = new Map(against?.abilities.map((each) => [each.id, each]));
  output.table(
    ["what", "here", ...(against === null ? [] : ["there"]), "so"],
    abilities.map(({ id, title: what, state, sentence }) => [
      ...[what, STATES[state]],
      ...(against === null ? [] : [STATES[others.get(id)?.state ?? "failed"]]),
      [state === "refused" ? `It says: ${sentence}` : sentence, otherWords(others.get(id))].join(" ").trim(),
    ]),
    { yields: against === null ? 2 : 3 },
  );
  output.line(`\nCalls there and back: ${roundTrip.sentence}`);
  for (const difference of roundTrip.differences) output.line(`  ${difference}`);
  if (roundTrip.written && roundTrip.state !== "same") output.line(`  written: ${roundTrip.written}`);
  if (against !== null) printAgainst(output, against);
}

const otherWords = (other: TemplateAbilityView | undefined): string =>
  other?.state === "refused" ? `The other says: ${other.sentence}` : "";

const SIGNS = { same: " ", removed: "-", added: "+" } as const;

function printAgainst(output: Command["output"], against: NonNullable<TemplateReportView["against"]>): void {
  output.line(`\nAgainst the other template (calls: ${against.roundTrip.sentence})`);
  if (against.isSameSource) output.line("It is the same, letter by letter.");
  else if (against.lines === null)
    output.line(
      against.text === null ? `It says: ${against.refusal ?? ""}` : "Only the other one writes this conversation.",
    );
  else if (against.lines.every(({ kind }) => kind === "same")) output.line("It writes the same text.");
  else for (const { kind, text } of against.lines) output.line(`${SIGNS[kind]} ${text}`);
}
