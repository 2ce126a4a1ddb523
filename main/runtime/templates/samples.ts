/** Conversations to look at a template with: short, and with everything that templates treat differently. */
import type { ChatMessage } from "../../chatTemplate/chatTemplate.ts";
import type { Json } from "../../diagnostics/errors.ts";

export interface SampleConversation {
  readonly id: string;
  readonly title: string;
  readonly messages: readonly ChatMessage[];
  readonly hasTools?: boolean;
}

/** What templates may ask of a schema: a description of each parameter, and types of several kinds. */
export const SAMPLE_TOOLS: readonly Json[] = ["get_weather", "clock"].map((name) => ({
  type: "function",
  function: {
    name,
    description: name === "clock" ? "Tells the time in a city." : "Tells the weather in a city.",
    parameters: {
      type: "object",
      properties: {
        city: { type: "string", description: "The city." },
        days: { type: "integer", description: "How many days ahead." },
        hours: { type: "array", items: { type: "integer" }, description: "Hours of the day." },
      },
      required: ["city"],
    },
  },
}));

/** Ids of nine letters and digits: Mistral's templates refuse others. */
export const sampleCall = (id: string, name: string, given: Json): Json => ({
  id,
  type: "function",
  function: { name, arguments: given },
});

const user = (content: string): ChatMessage => ({ role: "user", content });
const system: ChatMessage = { role: "system", content: "You are brief." };
const QUESTION = user("What is the weather in Rome?");
const calling: ChatMessage = {
  role: "assistant",
  content: "",
  tool_calls: [sampleCall("call00001", "get_weather", { city: "Rome", days: 2 })],
};
const result: ChatMessage = {
  role: "tool",
  tool_call_id: "call00001",
  name: "get_weather",
  content: '{"sky": "clear", "degrees": 21}',
};

export const SAMPLE_CONVERSATIONS: readonly SampleConversation[] = [
  { id: "user", title: "One question", messages: [user("Hello!")] },
  { id: "system", title: "System and user", messages: [system, user("Hello!")] },
  {
    id: "turns",
    title: "Several turns",
    messages: [system, user("Hello!"), { role: "assistant", content: "Hi." }, user("Name a colour.")],
  },
  { id: "tools", title: "Tools", messages: [system, QUESTION], hasTools: true },
  { id: "tool-result", title: "A call and its result", messages: [QUESTION, calling, result], hasTools: true },
  {
    id: "developer",
    title: "Developer role",
    messages: [{ role: "developer", content: "You are brief." }, user("Hello!")],
  },
  {
    id: "reasoning",
    title: "Reasoning in an earlier turn",
    messages: [
      user("What is 2 + 2?"),
      { role: "assistant", content: "4.", reasoning_content: "Two and two make four." },
      user("And 3 + 3?"),
    ],
  },
];
