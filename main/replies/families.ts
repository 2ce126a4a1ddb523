/**
 * How each family of models marks what it thinks and the tools that it calls. The family is known by its template: the
 * marks that it must have to write such an answer back into a conversation. The first row that fits counts.
 */
import type { CallBody } from "./callBodies.ts";
import {
  argumentTags,
  bareJson,
  deepseek,
  functools,
  functionTags,
  gemma,
  invokeTags,
  jsonCalls,
  kimi,
  mistral,
  pythonCalls,
} from "./callBodies.ts";

/** Marks around a part of an answer. */
export interface Marks {
  readonly open: string;
  /** Any of these ends it; without one it goes on to the end of the answer. */
  readonly close: readonly string[];
  /** Only where nothing but marks and reasoning stands before: the text itself may speak of such a mark. */
  readonly isFirst?: boolean;
  /** Its end alone tells that everything before was such a part: the prompt may hold the beginning. */
  readonly mayLackOpen?: boolean;
}

export interface CallMarks extends Marks {
  readonly body: CallBody;
  /** The opening is a part of the call itself. */
  readonly isPart?: boolean;
  /** Such text is a call only where tools are given. */
  readonly needsTools?: boolean;
}

export interface CallStyle {
  readonly family: string;
  readonly marks: readonly CallMarks[];
}

export interface ReplyStyle {
  /**
   * Marks for parts of an answer; `channels`: headers say what each part is (Harmony);
   * `recipients`: each part begins with a line that says whom it is for (Functionary 3.2).
   */
  readonly kind: "marks" | "channels" | "recipients";
  readonly reasoning: readonly Marks[];
  readonly calls: CallStyle | null;
  /** Text that is shown nowhere. */
  readonly silent: readonly string[];
  /** The answer begins with reasoning that no mark opens. */
  readonly beginsThinking: boolean;
}

interface Row<T> {
  /** All of them stand in the template. */
  readonly signs: readonly string[];
  readonly value: T;
}

const pair = (open: string, close: string): Row<Marks> => ({
  signs: [open],
  value: { open, close: [close], isFirst: true },
});

const REASONING: readonly Row<Marks>[] = [
  { signs: ["<|channel>", "<channel|>"], value: { open: "<|channel>thought", close: ["<channel|>"] } },
  pair("[THINK]", "[/THINK]"),
  pair("<seed:think>", "</seed:think>"),
  pair("<|START_THINKING|>", "<|END_THINKING|>"),
  pair("<thought>", "</thought>"),
  pair("<thinking>", "</thinking>"),
  pair("Here is my thought process:", "Here is my response:"),
  pair("<|begin_of_thought|>", "<|end_of_thought|>"),
  { signs: ["</think>"], value: { open: "<think>", close: ["</think>"], isFirst: true, mayLackOpen: true } },
];
/** Many models think this way whose templates do not show it. */
const USUAL: Marks = { open: "<think>", close: ["</think>"], isFirst: true };

const calls = (
  family: string,
  signs: readonly string[],
  body: CallBody,
  ...marks: readonly Omit<CallMarks, "body">[]
): Row<CallStyle> => ({ signs, value: { family, marks: marks.map((each) => ({ ...each, body })) } });

const TOOL_TAGS: Marks = { open: "<tool_call>", close: ["</tool_call>"] };
/** Without the frame around it: some models leave its opening out. */
const FUNCTION_TAGS = { open: "<function=", close: ["</function>"], isPart: true };
const BARE_JSON = { open: "{", close: [], isFirst: true, isPart: true, needsTools: true };

const CALLS: readonly Row<CallStyle>[] = [
  calls("Gemma 4", ["<|tool_call>"], gemma, { open: "<|tool_call>", close: ["<tool_call|>"] }),
  calls("FunctionGemma", ["<start_function_call>"], gemma, {
    open: "<start_function_call>",
    close: ["<end_function_call>"],
  }),
  calls("Kimi", ["<|tool_calls_section_begin|>"], kimi, {
    open: "<|tool_calls_section_begin|>",
    close: ["<|tool_calls_section_end|>"],
  }),
  calls("DeepSeek", ["<｜tool▁calls▁begin｜>"], deepseek, {
    open: "<｜tool▁calls▁begin｜>",
    close: ["<｜tool▁calls▁end｜>"],
  }),
  calls("DeepSeek V3.2", ["｜DSML｜"], invokeTags, {
    open: "<｜DSML｜function_calls>",
    close: ["</｜DSML｜function_calls>"],
  }),
  calls("MiniMax", ["<minimax:tool_call>"], invokeTags, {
    open: "<minimax:tool_call>",
    close: ["</minimax:tool_call>"],
  }),
  calls("Seed", ["<seed:tool_call>"], functionTags, { open: "<seed:tool_call>", close: ["</seed:tool_call>"] }),
  calls("Qwen Coder", ["<tool_call>", "<function=", "<parameter="], functionTags, TOOL_TAGS, FUNCTION_TAGS),
  calls("GLM", ["<arg_key>"], argumentTags, TOOL_TAGS),
  calls("LFM2", ["<|tool_call_start|>"], pythonCalls, { open: "<|tool_call_start|>", close: ["<|tool_call_end|>"] }),
  calls("Mistral", ["[TOOL_CALLS]"], mistral, { open: "[TOOL_CALLS]", close: [] }),
  calls("Nemotron", ["<TOOLCALL>"], jsonCalls, { open: "<TOOLCALL>", close: ["</TOOLCALL>"] }),
  calls("Apriel", ["<tool_calls>["], jsonCalls, { open: "<tool_calls>", close: ["</tool_calls>"] }),
  calls("Hermes", ["<tool_call>"], jsonCalls, TOOL_TAGS),
  calls("Phi and Granite", ["<|tool_call|>"], jsonCalls, {
    open: "<|tool_call|>",
    close: ["<|/tool_call|>", "</tool_call>"],
  }),
  calls("Command R7B", ["<|START_ACTION|>"], jsonCalls, { open: "<|START_ACTION|>", close: ["<|END_ACTION|>"] }),
  calls("Command R", ["Action:", "tool_name"], jsonCalls, { open: "Action:\n```json", close: ["```"] }),
  calls("Firefunction", ["functools"], functools, { open: "functools[", close: [], isPart: true }),
  calls("GigaChat", ["<|function_call|>"], jsonCalls, { open: "<|function_call|>", close: ["<|message_sep|>"] }),
  calls("Functionary", ["<function=", "</function>"], functionTags, FUNCTION_TAGS),
  calls(
    "Llama 4",
    ["<|python_start|>"],
    pythonCalls,
    { open: "<|python_start|>", close: ["<|python_end|>"] },
    {
      open: "[",
      close: [],
      isFirst: true,
      isPart: true,
      needsTools: true,
    },
  ),
  calls("Llama 3", ['{"name":', '"parameters":'], bareJson, { ...BARE_JSON, open: "<|python_tag|>" }, BARE_JSON),
  calls("Llama 3", ["<|python_tag|>"], bareJson, { ...BARE_JSON, open: "<|python_tag|>" }, BARE_JSON),
];

/** Marks around an answer that mean nothing to its reader. */
const SILENT: readonly string[] = [
  "<|START_RESPONSE|>",
  "<|END_RESPONSE|>",
  "[END FINAL RESPONSE]",
  "<response>",
  "</response>",
];
const FINAL_RESPONSE = "[BEGIN FINAL RESPONSE]";

export function replyStyle(template: string): ReplyStyle {
  const holds = (sign: string): boolean => template.includes(sign);
  const fits = <T>(row: Row<T>): boolean => row.signs.every(holds);
  if (["<|channel|>", "<|message|>", "<|start|>"].every(holds))
    return {
      kind: "channels",
      reasoning: [],
      calls: { family: "Harmony", marks: [] },
      silent: [],
      beginsThinking: false,
    };
  if (RECIPIENT_SIGNS.some(holds))
    return {
      kind: "recipients",
      reasoning: [],
      calls: { family: "Functionary 3.2", marks: [] },
      silent: [],
      beginsThinking: false,
    };
  const beginsThinking = holds(FINAL_RESPONSE);
  const named = REASONING.filter(fits).map(({ value }) => value);
  const reasoning = named.some(({ open }) => open === USUAL.open) ? named : [...named, USUAL];
  return {
    kind: "marks",
    reasoning: beginsThinking ? [{ open: "[BEGIN REASONING]", close: [FINAL_RESPONSE] }] : reasoning,
    calls: CALLS.find(fits)?.value ?? null,
    silent: SILENT.filter(holds),
    beginsThinking,
  };
}

/** Text alone: nothing in it is a mark. */
export const PLAIN_STYLE: ReplyStyle = {
  kind: "marks",
  reasoning: [],
  calls: null,
  silent: [],
  beginsThinking: false,
};

/** Every mark of a style. */
export const marksOf = (style: ReplyStyle): readonly string[] =>
  style.kind === "channels"
    ? CHANNEL_MARKS
    : [
        ...[...style.reasoning, ...(style.calls?.marks ?? [])].flatMap(({ open, close }) => [open, ...close]),
        ...style.silent,
      ];

export const CHANNEL_OPENS: readonly string[] = ["<|start|>", "<|channel|>"];
export const CHANNEL_ENDS: readonly string[] = ["<|end|>", "<|return|>", "<|call|>", ...CHANNEL_OPENS];
export const HEADER_ENDS: readonly string[] = ["<|message|>"];
export const CHANNEL_MARKS: readonly string[] = [...HEADER_ENDS, ...CHANNEL_ENDS, "<|constrain|>"];

export const RECIPIENT_OPEN = ">>>";
/** Whom words are for. */
export const EVERYONE = "all";
const RECIPIENT_SIGNS: readonly string[] = [`${RECIPIENT_OPEN}${EVERYONE}`, `${RECIPIENT_OPEN}\${recipient}`];
