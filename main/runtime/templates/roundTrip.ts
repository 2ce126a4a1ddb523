/**
 * There and back: a call as this template writes it into an answer, read again as answers are read. Where the two are not
 * the same, a conversation with tools goes wrong without an error: the call stays text, or has other arguments.
 */
import type { ChatMessage, ChatTemplate, RenderOptions } from "../../chatTemplate/chatTemplate.ts";
import type { Json } from "../../diagnostics/errors.ts";
import { marksOf, replyStyle } from "../../replies/families.ts";
import { ReplyReader } from "../../replies/reader.ts";
import type { Reply, ToolCall } from "../../replies/reply.ts";
import { parameterTypes, toolNames } from "../../replies/reply.ts";
import { rendered } from "./abilities.ts";
import { SAMPLE_TOOLS, sampleCall } from "./samples.ts";

/** Quotation marks, letters beyond ASCII, numbers and a list: what forms of calls get wrong. */
const CALLS: readonly Pick<ToolCall, "name" | "arguments">[] = [
  { name: "get_weather", arguments: { city: 'Köln "a"', days: 2, hours: [1, 2] } },
  { name: "clock", arguments: { city: "42" } },
];

export interface RoundTrip {
  /** `unknown`: it is not known in which form this model calls tools. */
  readonly state: "same" | "different" | "refused" | "left-out" | "unknown";
  readonly family: string | null;
  readonly sentence: string;
  /** The answer as the template writes it; null where it writes none. */
  readonly written: string | null;
  readonly differences: readonly string[];
}

/** `endings`: texts of the tokens that end an answer. */
export function callRoundTrip(
  template: ChatTemplate,
  endings: readonly string[],
  variables: RenderOptions["variables"] = {},
): RoundTrip {
  const { source } = template;
  const style = replyStyle(source);
  const family = style.calls?.family ?? null;
  // Some templates write one call only.
  const trips = [CALLS, CALLS.slice(0, 1)].map((calls) => {
    const answer = answerOf(template, calls, endings, variables);
    if (answer.text === null) return { ...answer, differences: [answer.refusal] };
    const isNamed = calls.some(({ name }) => answer.text.includes(name));
    const reply = readAnswer(style, answer);
    return { ...answer, isNamed, differences: differencesOf(calls, reply) };
  });
  const trip = trips.find((each) => each.differences.length === 0) ?? trips[1];
  const isOne = trip === trips[1];
  if (trip === undefined || trip.text === null)
    return {
      ...{ state: "refused", family, written: null, differences: [] },
      sentence: `The template writes no call: ${trip?.refusal ?? ""}`,
    };
  const of = { family, written: trip.text, differences: trip.differences };
  if (!trip.isNamed) return { ...of, differences: [], state: "left-out", sentence: "The template leaves calls out." };
  if (family === null)
    return {
      ...of,
      state: "unknown",
      sentence: "The form in which this model calls tools is not known: a call stays text.",
    };
  if (trip.differences.length > 0)
    return { ...of, state: "different", sentence: "What the template writes for a call is not read as the same call." };
  const count = isOne ? "One call is" : "Two calls are";
  return { ...of, state: "same", sentence: `${count} written in the form of ${family} and read back as the same.` };
}

type Answer =
  | { readonly text: string; readonly prompt: string; readonly refusal: null }
  | { readonly text: null; readonly refusal: string };

/** What the template adds behind the beginning of the turn, up to what ends it: what the model was trained to write. */
function answerOf(
  template: ChatTemplate,
  calls: readonly Pick<ToolCall, "name" | "arguments">[],
  endings: readonly string[],
  variables: RenderOptions["variables"] = {},
): Answer {
  const before: readonly ChatMessage[] = [{ role: "user", content: "Weather?" }];
  const message: ChatMessage = {
    role: "assistant",
    content: "",
    tool_calls: calls.map(({ name, arguments: given }, i) => sampleCall(`call0000${i + 1}`, name, given as Json)),
  };
  const told = { tools: SAMPLE_TOOLS, variables };
  const asked = rendered(template, before, told);
  const turn = rendered(template, [...before, message], { ...told, addGenerationPrompt: false });
  if (asked.text === null) return { text: null, refusal: asked.refusal };
  if (turn.text === null) return { text: null, refusal: turn.refusal };
  const from = beginningIn(turn.text, asked.text, marksOf(replyStyle(template.source)));
  const rest = turn.text.slice(from);
  const ends = endings.map((text) => (text === "" ? -1 : rest.indexOf(text))).filter((at) => at >= 0);
  return { text: rest.slice(0, Math.min(rest.length, ...ends)), prompt: turn.text.slice(0, from), refusal: null };
}

/** Where the answer begins in the whole turn: behind what it shares with the prompt, but never within a mark. */
function beginningIn(turn: string, prompt: string, marks: readonly string[]): number {
  let shared = 0;
  while (shared < prompt.length && prompt[shared] === turn[shared]) shared += 1;
  for (const mark of marks) {
    const at = turn.indexOf(mark, Math.max(0, shared - mark.length + 1));
    if (at >= 0 && at < shared && at + mark.length > shared) shared = at;
  }
  return shared;
}

function readAnswer(
  style: ReturnType<typeof replyStyle>,
  { text, prompt }: Extract<Answer, { readonly refusal: null }>,
): Reply {
  const reader = new ReplyReader(style, {
    ...{ prompt, hasTools: true, types: parameterTypes(SAMPLE_TOOLS), toolNames: toolNames(SAMPLE_TOOLS) },
    earlierCalls: 0,
  });
  reader.push(text);
  return reader.finish().reply;
}

function differencesOf(calls: readonly Pick<ToolCall, "name" | "arguments">[], reply: Reply): readonly string[] {
  const found: string[] = [];
  if (reply.calls.length !== calls.length)
    found.push(`${counted(calls.length)} written, ${counted(reply.calls.length)} read`);
  calls.forEach(({ name, arguments: given }, i) => {
    const read = reply.calls[i];
    if (read === undefined) return;
    if (read.name !== name) found.push(`call ${i + 1}: ${name} is read as ${read.name}`);
    for (const key of new Set([...Object.keys(given), ...Object.keys(read.arguments)])) {
      const [wanted, got] = [JSON.stringify(given[key]), JSON.stringify(read.arguments[key])];
      if (wanted !== got) found.push(`call ${i + 1}, ${key}: ${wanted ?? "nothing"} is read as ${got ?? "nothing"}`);
    }
  });
  if (found.length > 0 && reply.content.trim() !== "")
    found.push(`read as text: ${JSON.stringify(reply.content.trim().slice(0, 200))}`);
  return [...found, ...reply.notes];
}

const counted = (count: number): string => (count === 1 ? "1 call" : `${count} calls`);
