/**
 * The form in which each family writes its calls, as rules: the way there of what callBodies.ts
 * reads. Where a reader finds marks anywhere, texts within the arguments hold none of them.
 */
import { literal } from "../grammar/elements.ts";
import type { Element, Sequence } from "../grammar/rules.ts";
import { gemmaForm, jsonForm, PLAIN_NAME, pythonForm, spacedForm } from "../grammar/valueForm.ts";
import type { CallForm, CallWriter } from "./callGrammar.ts";
import { functionTags, glm, nameOf, NEW_LINE, tags } from "./tagForms.ts";

interface JsonKeys {
  readonly name?: string;
  readonly arguments?: string;
  readonly before?: Sequence;
  readonly behind?: Sequence;
}

/** `{"name": …, "arguments": {…}}` of one of the tools. */
function jsonCall(writer: CallWriter, keys: JsonKeys = {}): Sequence {
  const { name: nameKey = "name", arguments: argumentsKey = "arguments", before = [], behind = [] } = keys;
  const form = jsonForm(writer.builder);
  return [
    writer.each((tool) => [
      ...literal("{"),
      ...before,
      ...literal(`"${nameKey}": ${JSON.stringify(tool.name)}, "${argumentsKey}": `),
      ...writer.object(tool, form),
      ...behind,
      ...literal("}"),
    ]),
  ];
}

const listOf = (writer: CallWriter, call: Sequence): Sequence => [
  ...literal("["),
  ...writer.row(call, literal(", ")),
  ...literal("]"),
];

/** A list of JSON calls between two marks. */
const jsonList =
  (open: string, close: string, keys: JsonKeys = {}): CallForm =>
  (writer) => [...writer.mark(open), ...listOf(writer, jsonCall(writer, keys)), ...writer.mark(close)];

/** `name`, something between, and a JSON of arguments without these marks. */
function namedJson(writer: CallWriter, between: Sequence, marks: readonly string[]): Sequence {
  const form = jsonForm(writer.builder, marks);
  return [writer.each((tool) => [...nameOf(writer, tool), ...between, ...writer.object(tool, form)])];
}

const gemma =
  (open: string, close: string, quote: string): CallForm =>
  (writer) => {
    const form = gemmaForm(writer.builder, writer.mark(quote), [quote, close, open]);
    const call = writer.each((tool) => [
      ...literal("call:"),
      ...nameOf(writer, tool, PLAIN_NAME),
      ...writer.object(tool, form),
    ]);
    return writer.row([...writer.mark(open), call, ...writer.mark(close)], []);
  };

/** `[name(key="value"), …]` */
const python: CallForm = (writer) => {
  const form = pythonForm(writer.builder);
  const call = writer.each((tool) => [
    ...nameOf(writer, tool, PLAIN_NAME),
    ...literal("("),
    ...writer.pairs(tool, form.comma, (property, value) => {
      if (!PLAIN_NAME.test(property.name))
        throw writer.wrong(tool, `${property.at}: got a name that this form of call cannot write`);
      return [...literal(`${property.name}=`), ...value(form)];
    }),
    ...literal(")"),
  ]);
  return listOf(writer, [call]);
};

const framedPython =
  (open: string, close: string): CallForm =>
  (writer) => [...writer.mark(open), ...python(writer), ...writer.mark(close)];

const deepseek: CallForm = (writer) => {
  const { mark, template } = writer;
  const [open, close] = ["<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"];
  const marks = [open, close, "<｜tool▁calls▁end｜>"];
  const isBlock = template.includes("```json");
  const call = isBlock
    ? [
        ...literal("function"),
        ...mark("<｜tool▁sep｜>"),
        ...namedJson(writer, literal("\n```json\n"), marks),
        ...literal("\n```"),
      ]
    : namedJson(writer, mark("<｜tool▁sep｜>"), marks);
  return [
    ...mark("<｜tool▁calls▁begin｜>"),
    ...writer.row([...mark(open), ...call, ...mark(close)], isBlock ? NEW_LINE : []),
    ...mark("<｜tool▁calls▁end｜>"),
  ];
};

const callNumber = ({ choice }: CallWriter): Element =>
  choice(...Array.from({ length: 32 }, (_, i) => literal(String(i))));

const kimi: CallForm = (writer) => {
  const { mark } = writer;
  const [open, close] = ["<|tool_call_begin|>", "<|tool_call_end|>"];
  const marks = [open, close, "<|tool_calls_section_end|>"];
  const between = [...literal(":"), callNumber(writer), ...mark("<|tool_call_argument_begin|>")];
  return [
    ...mark("<|tool_calls_section_begin|>"),
    ...writer.row([...mark(open), ...literal("functions."), ...namedJson(writer, between, marks), ...mark(close)], []),
    ...mark("<|tool_calls_section_end|>"),
  ];
};

/** A list of JSON, or `name[ARGS]{…}`. */
const mistral: CallForm = (writer) => {
  const { mark, template, builder, choice } = writer;
  const open = mark("[TOOL_CALLS]");
  const id = builder.repeated([choice(...Array.from("abcdefghijklmnopqrstuvwxyz0123456789", literal))], 9, 9);
  if (template.includes("[ARGS]")) {
    const named = [choice([...mark("[CALL_ID]"), ...id], []), ...mark("[ARGS]")];
    const between = template.includes("[CALL_ID]") ? named : mark("[ARGS]");
    return writer.row([...open, ...namedJson(writer, between, ["[TOOL_CALLS]"])], []);
  }
  const behind = [choice([...literal(', "id": "'), ...id, ...literal('"')], [])];
  return [...open, choice(literal(" "), []), ...listOf(writer, jsonCall(writer, { behind }))];
};

const harmony: CallForm = (writer) => {
  const { mark, choice } = writer;
  const form = jsonForm(writer.builder, ["<|start|>", "<|channel|>", "<|end|>", "<|return|>", "<|call|>"]);
  const json = choice([...literal(" "), ...mark("<|constrain|>"), ...literal("json")], literal(" json"), []);
  const channel = [...mark("<|channel|>"), ...literal("commentary")];
  const call = writer.each((tool) => {
    const to = [...literal(" to=functions."), ...nameOf(writer, tool)];
    return [
      choice([...channel, ...to, json], [...to, ...channel, json]),
      ...mark("<|message|>"),
      ...writer.object(tool, form),
    ];
  });
  return [call, ...mark("<|call|>")];
};

/** `>>>name` and a JSON on the next line. */
const recipients: CallForm = (writer) => {
  const call = namedJson(writer, NEW_LINE, []);
  return [...(writer.isBegun ? [] : literal(">>>")), ...writer.row(call, literal(">>>"))];
};

const hermes: CallForm = (writer) =>
  writer.row(
    [...writer.mark("<tool_call>"), ...NEW_LINE, ...jsonCall(writer), ...NEW_LINE, ...writer.mark("</tool_call>")],
    NEW_LINE,
  );

/** JSON over several lines. */
const commandR: CallForm = (writer) => {
  const { builder, choice } = writer;
  const line = [...NEW_LINE, ...builder.repeated([...literal("    ")], 0, Infinity)];
  const form = spacedForm(jsonForm(builder), choice(line, []), choice(line, literal(" ")));
  const call = writer.each((tool) => [
    ...literal("{"),
    ...form.inside,
    ...literal(`"tool_name": ${JSON.stringify(tool.name)}`),
    ...form.comma,
    ...literal('"parameters": '),
    ...writer.object(tool, form),
    ...form.inside,
    ...literal("}"),
  ]);
  const list = [...literal("["), ...form.inside, ...writer.row([call], form.comma), ...form.inside, ...literal("]")];
  return [...literal("Action:\n```json\n"), ...list, choice(NEW_LINE, []), ...literal("```")];
};

/** By the family's name in families.ts. */
export const CALL_FORMS: Readonly<Record<string, CallForm>> = {
  "Gemma 4": gemma("<|tool_call>", "<tool_call|>", '<|"|>'),
  FunctionGemma: gemma("<start_function_call>", "<end_function_call>", "<escape>"),
  Kimi: kimi,
  DeepSeek: deepseek,
  "DeepSeek V3.2": tags({
    open: "<｜DSML｜function_calls>",
    close: "</｜DSML｜function_calls>",
    isFramePerCall: false,
    head: (name) => `<｜DSML｜invoke name="${name}">`,
    tail: "</｜DSML｜invoke>",
    parameter: (name, isText) => `<｜DSML｜parameter name="${name}" string="${isText}">`,
    parameterEnd: "</｜DSML｜parameter>",
    isOnLines: false,
    marks: ["｜DSML｜", "</parameter>", "</invoke>"],
  }),
  MiniMax: tags({
    open: "<minimax:tool_call>",
    close: "</minimax:tool_call>",
    isFramePerCall: false,
    head: (name) => `<invoke name="${name}">`,
    tail: "</invoke>",
    parameter: (name) => `<parameter name="${name}">`,
    parameterEnd: "</parameter>",
    isOnLines: false,
    marks: ["｜DSML｜"],
  }),
  Seed: functionTags("<seed:tool_call>", "</seed:tool_call>", false),
  "Qwen Coder": functionTags("<tool_call>", "</tool_call>", true),
  GLM: glm,
  LFM2: framedPython("<|tool_call_start|>", "<|tool_call_end|>"),
  Mistral: mistral,
  Nemotron: jsonList("<TOOLCALL>", "</TOOLCALL>"),
  Apriel: jsonList("<tool_calls>", "</tool_calls>"),
  Hermes: hermes,
  "Phi and Granite": (writer) => [
    ...writer.mark("<|tool_call|>"),
    ...listOf(writer, jsonCall(writer)),
    ...(writer.template.includes("<|/tool_call|>") ? writer.mark("<|/tool_call|>") : []),
  ],
  "Command R7B": (writer) =>
    jsonList("<|START_ACTION|>", "<|END_ACTION|>", {
      name: "tool_name",
      arguments: "parameters",
      before: [...literal('"tool_call_id": "'), callNumber(writer), ...literal('", ')],
    })(writer),
  "Command R": commandR,
  Firefunction: (writer) => [...literal("functools"), ...listOf(writer, jsonCall(writer))],
  GigaChat: (writer) => [
    ...writer.mark("<|function_call|>"),
    ...jsonCall(writer),
    writer.choice(writer.mark("<|message_sep|>"), []),
  ],
  "Functionary 3.2": recipients,
  Functionary: (writer) => {
    const form = jsonForm(writer.builder, ["</function>"]);
    const call = writer.each((tool) => [
      ...literal("<function="),
      ...nameOf(writer, tool),
      ...literal(">"),
      ...writer.object(tool, form),
      ...literal("</function>"),
    ]);
    return writer.row([call], []);
  },
  "Llama 4": (writer) => [writer.choice(framedPython("<|python_start|>", "<|python_end|>")(writer), python(writer))],
  "Llama 3": (writer) => jsonCall(writer, { arguments: "parameters" }),
  Harmony: harmony,
};
