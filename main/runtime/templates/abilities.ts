/**
 * What a template does with each role and each thing that a conversation may hold: it writes it, leaves it out without a
 * word, or refuses it. Each is found by a conversation with a mark in the place in question: is the mark in the text?
 */
import { TEMPLATE_LIMITS } from "../../chatTemplate/budget.ts";
import type { ChatMessage, ChatTemplate, RenderOptions } from "../../chatTemplate/chatTemplate.ts";
import { writeConversation } from "../../chatTemplate/conversation.ts";
import { REFUSAL } from "../../chatTemplate/sandbox.ts";
import type { Json } from "../../diagnostics/errors.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Steps } from "../../ir/steps.ts";
import { SAMPLE_TOOLS, sampleCall } from "./samples.ts";

export type AbilityState = "written" | "left-out" | "refused" | "failed";

export interface TemplateAbility {
  readonly id: string;
  readonly title: string;
  readonly state: AbilityState;
  /** What the template says where it refuses, or how it fails. */
  readonly sentence: string;
}

const MARK = "RlxMark";
const user = (content = "Hello"): ChatMessage => ({ role: "user", content });
const assistant = (content: string, more: Partial<ChatMessage> = {}): ChatMessage => ({
  role: "assistant",
  content,
  ...more,
});
const calling = (name: string, more: Partial<ChatMessage> = {}): ChatMessage =>
  assistant("", { tool_calls: [sampleCall("call00001", name, { city: "Rome" })], ...more });
const result = (content: string): ChatMessage => ({
  role: "tool",
  content,
  tool_call_id: "call00001",
  name: "get_weather",
});
const markedTool: Json = {
  type: "function",
  function: { name: MARK, description: "A tool.", parameters: { type: "object", properties: {}, required: [] } },
};

interface Probe {
  readonly id: string;
  readonly title: string;
  readonly messages: readonly ChatMessage[];
  readonly tools?: readonly Json[];
  /** What it means where the template leaves it out. */
  readonly without: string;
}

const PROBES: readonly Probe[] = [
  {
    id: "system",
    title: "System message",
    messages: [{ role: "system", content: MARK }, user()],
    without: "The model never reads a system message.",
  },
  {
    id: "late-system",
    title: "System message between turns",
    messages: [user(), assistant("Hi."), { role: "system", content: MARK }, user("Go on")],
    without: "Only the first message is read as system message.",
  },
  {
    id: "developer",
    title: "Developer message",
    messages: [{ role: "developer", content: MARK }, user()],
    without: "Send instructions as a system message.",
  },
  {
    id: "parts",
    title: "Content in parts",
    messages: [{ role: "user", content: [{ type: "text", text: MARK }] }],
    without: "The text of a message in parts is lost.",
  },
  {
    id: "two-users",
    title: "Two user messages in a row",
    messages: [user("Hello"), user(MARK)],
    without: "Of two user messages in a row one is lost.",
  },
  {
    id: "tools",
    title: "Tools",
    messages: [user()],
    tools: [markedTool],
    without: "The model is not told of its tools, so it cannot call them.",
  },
  {
    id: "calls",
    title: "Calls in earlier turns",
    messages: [user(), calling(MARK), result("1"), assistant("One."), user("Go on")],
    tools: [...SAMPLE_TOOLS, markedTool],
    without: "The model does not see what it has called.",
  },
  {
    id: "results",
    title: "Results of calls",
    messages: [user(), calling("get_weather"), result(MARK)],
    tools: SAMPLE_TOOLS,
    without: "The model does not see what a tool gave.",
  },
  {
    id: "reasoning",
    title: "Reasoning of earlier turns",
    messages: [user(), assistant("Hi.", { reasoning_content: MARK }), user("Go on")],
    without: "Usual: what was thought in earlier turns is not read again.",
  },
  {
    id: "reasoning-calls",
    title: "Reasoning before a call",
    messages: [user(), calling("get_weather", { reasoning_content: MARK }), result("1")],
    tools: SAMPLE_TOOLS,
    without: "Behind a call the model does not read why it called.",
  },
];

export type Rendered =
  | { readonly text: string; readonly refusal: null }
  /** `said`: by the template itself; else the template failed. */
  | { readonly text: null; readonly refusal: string; readonly said: boolean };

/** The text, or why there is none. */
export function rendered(
  template: ChatTemplate,
  messages: readonly ChatMessage[],
  options: RenderOptions = {},
): Rendered {
  try {
    return { text: writeConversation(template, messages, options), refusal: null };
  } catch (error) {
    if (!(error instanceof WorkbenchError) || error.code !== "INPUT_TEMPLATE") throw error;
    const at = error.message.indexOf(REFUSAL);
    const said = at >= 0;
    const refusal = said ? error.message.slice(at + REFUSAL.length) : error.message.replace("[chat template] ", "");
    return { text: null, refusal, said };
  }
}

/** For the probes: many small renderings, which a slow template must not make long. */
export const PROBE_LIMITS = { ...TEMPLATE_LIMITS, work: 200_000, milliseconds: 150 };
const MOST_MILLISECONDS = 2000;

/** Pauses between the conversations: the template may be anybody's, and slow. */
export function* templateAbilities(
  template: ChatTemplate,
  variables: RenderOptions["variables"] = {},
): Steps<readonly TemplateAbility[]> {
  const found: TemplateAbility[] = [];
  const begun = performance.now();
  for (const { id, title, messages, tools = null, without } of PROBES) {
    yield;
    if (performance.now() - begun > MOST_MILLISECONDS) {
      found.push({ id, title, state: "failed", sentence: "Not tried: the template is too slow." });
      continue;
    }
    const result = rendered(template, messages, { tools, variables });
    if (result.text === null)
      found.push({ id, title, state: result.said ? "refused" : "failed", sentence: result.refusal });
    else if (result.text.includes(MARK)) found.push({ id, title, state: "written", sentence: "" });
    else found.push({ id, title, state: "left-out", sentence: without });
  }
  yield;
  found.push(beginningOf(template, variables));
  return found;
}

/** Whether the beginning of the answer is written when it is asked for. */
function beginningOf(template: ChatTemplate, variables: RenderOptions["variables"] = {}): TemplateAbility {
  const of = { id: "generation-prompt", title: "Beginning of the answer" };
  const [on, off] = [true, false].map((addGenerationPrompt) =>
    rendered(template, [user()], { addGenerationPrompt, variables }),
  );
  if (on === undefined || off === undefined || on.text === null || off.text === null)
    return { ...of, state: "failed", sentence: "A plain question is not written." };
  if (on.text !== off.text) return { ...of, state: "written", sentence: "" };
  return {
    ...of,
    state: "left-out",
    sentence: "The template looks not at add_generation_prompt: the model has to begin its turn itself.",
  };
}
