/**
 * Calls under a grammar: whatever a model would say, its answer is read as calls of the tools, with arguments that their
 * schemas take. Texts are drawn by chance, over vocabularies with and without tokens for the marks; a small validator of
 * schemas, which knows nothing of grammars, judges the arguments.
 */
import { describe, expect, it, test } from "vitest";
import type { Json } from "../diagnostics/errors.ts";
import { GrammarAutomaton } from "../grammar/automaton.ts";
import { ConstrainedTokens, TokenMasks } from "../grammar/constraint.ts";
import { vocabularyTrie } from "../grammar/vocabularyTrie.ts";
import { finish } from "../ir/steps.ts";
import type { Random } from "../testing/random.ts";
import { seededRandom } from "../testing/random.ts";
import type { CallRequest } from "./callGrammar.ts";
import { callGrammar } from "./callGrammar.ts";
import { answerGrammar, hasBefore } from "./answerGrammar.ts";
import { CALL_FORMS } from "./callForms.ts";
import { marksOf, replyStyle } from "./families.ts";
import { ReplyReader } from "./reader.ts";
import type { Reply } from "./reply.ts";
import { parameterTypes, toolNames } from "./reply.ts";

const WEATHER = {
  type: "object",
  properties: {
    city: { type: "string" },
    days: { type: "integer", minimum: 0, maximum: 14 },
    unit: { type: "string", enum: ["C", "F <warm>", "</p>"] },
    place: {
      type: "object",
      properties: {
        name: { type: "string" },
        at: { type: "array", items: { type: "number" }, minItems: 2, maxItems: 2 },
      },
      required: ["at"],
    },
    codes: { type: "array", items: { type: "string" } },
    short: { type: "string", maxLength: 6, minLength: 2 },
    key: { type: "string", pattern: "^[a-z<]{2}\\d$" },
    from: { type: "string", format: "date" },
    note: { anyOf: [{ type: "string" }, { type: "null" }] },
    exact: { type: "boolean" },
  },
  required: ["city", "days", "short"],
} as const;
const TREE = {
  type: "object",
  properties: { root: { $ref: "#/$defs/node" } },
  required: ["root"],
  $defs: {
    node: {
      type: "object",
      properties: { value: { type: "integer" }, left: { $ref: "#/$defs/node" } },
      required: ["value"],
    },
  },
} as const;
const TOOLS: readonly Json[] = [
  { type: "function", function: { name: "get_weather", description: "w", parameters: WEATHER } },
  { type: "function", function: { name: "clock", description: "c" } },
  { type: "function", function: { name: "tree", description: "t", parameters: TREE } },
];

/** As JSON Schema says, for the words that are used here. What is wrong, and where. */
function misfit(schema: Record<string, unknown>, value: unknown, root: unknown, at = "$"): string | undefined {
  const inner = (next: unknown, item: unknown, where: string) =>
    misfit(next as Record<string, unknown>, item, root, `${at}${where}`);
  if (typeof schema["$ref"] === "string")
    return inner(
      (root as { $defs: Record<string, unknown> }).$defs[schema["$ref"].slice("#/$defs/".length)],
      value,
      "",
    );
  if (Array.isArray(schema["anyOf"])) {
    const all = (schema["anyOf"] as unknown[]).map((each) => inner(each, value, ""));
    return all.includes(undefined) ? undefined : all[0];
  }
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  const types: Record<string, boolean> = {
    object: isObject,
    array: Array.isArray(value),
    string: typeof value === "string",
    number: typeof value === "number",
    integer: Number.isInteger(value),
    boolean: typeof value === "boolean",
    null: value === null,
  };
  const { type = "object" } = schema as { readonly type?: string };
  if (types[type] !== true) return `${at}: ${JSON.stringify(value)} is of another type`;
  const wrong = `${at}: ${JSON.stringify(value)} against ${JSON.stringify(schema)}`;
  if (Array.isArray(schema["enum"]) && !schema["enum"].includes(value)) return wrong;
  const {
    minimum = -Infinity,
    maximum = Infinity,
    minLength = 0,
    maxLength = Infinity,
  } = schema as Record<string, number>;
  if (typeof value === "number") return value < minimum || value > maximum ? wrong : undefined;
  if (typeof value === "string") {
    const length = [...value].length;
    if (length < minLength || length > maxLength) return wrong;
    if (typeof schema["pattern"] === "string" && !new RegExp(schema["pattern"], "u").test(value)) return wrong;
    return schema["format"] === "date" && Number.isNaN(Date.parse(value)) ? wrong : undefined;
  }
  if (Array.isArray(value)) {
    const { minItems = 0, maxItems = Infinity } = schema as Record<string, number>;
    if (value.length < minItems || value.length > maxItems) return wrong;
    return value.map((item, i) => inner(schema["items"], item, `[${i}]`)).find((found) => found !== undefined);
  }
  if (!isObject) return undefined;
  const properties = (schema["properties"] ?? {}) as Record<string, unknown>;
  const missing = ((schema["required"] ?? []) as string[]).find((name) => !Object.hasOwn(value, name));
  if (missing !== undefined) return `${at}: without ${missing}`;
  return Object.entries(value)
    .map(([name, item]) => (name in properties ? inner(properties[name], item, `.${name}`) : `${at}: ${name} is new`))
    .find((found) => found !== undefined);
}

/** Words of each family's template by which it is known, and the end of a prompt. */
const TEMPLATES: Readonly<Record<string, readonly [template: string, prompt?: string]>> = {
  "Gemma 4": ["<|channel> <channel|> <|tool_call>"],
  FunctionGemma: ["<start_function_call>"],
  Kimi: ["<|tool_calls_section_begin|>"],
  DeepSeek: ["<｜tool▁calls▁begin｜>", "<｜Assistant｜></think>"],
  "DeepSeek V3.2": ["｜DSML｜"],
  MiniMax: ["<minimax:tool_call> </think>", "<think>\n"],
  Seed: ["<seed:tool_call> <seed:think>"],
  "Qwen Coder": ["<tool_call> <function= <parameter="],
  GLM: ["<arg_key> </think>"],
  LFM2: ["<|tool_call_start|>"],
  Mistral: ["[TOOL_CALLS] [THINK]"],
  Nemotron: ["<TOOLCALL>"],
  Apriel: ["<tool_calls>[ [BEGIN FINAL RESPONSE]"],
  Hermes: ["<tool_call> </think>"],
  "Phi and Granite": ["<|tool_call|> <|/tool_call|>"],
  "Command R7B": ["<|START_ACTION|> <|START_THINKING|>"],
  "Command R": ["Action: tool_name"],
  Firefunction: ["functools"],
  GigaChat: ["<|function_call|>"],
  "Functionary 3.2": [">>>all", "assistant\n\n>>>"],
  Functionary: ["<function= </function>"],
  "Llama 4": ["<|python_start|>"],
  "Llama 3": ['{"name": "parameters":'],
  Harmony: ["<|channel|> <|message|> <|start|>", "<|start|>assistant"],
};
/** Other ways in which some templates have it. */
const VARIANTS: readonly (readonly [family: string, template: string, prompt?: string])[] = [
  ["DeepSeek", "<｜tool▁calls▁begin｜> ```json", "<think>\n"],
  ["Mistral", "[TOOL_CALLS] [CALL_ID] [ARGS]"],
  ["Mistral", "[TOOL_CALLS] [ARGS]", "[THINK]"],
  ["Phi and Granite", "<|tool_call|>"],
  ["Hermes", "<tool_call> </think>", "<|im_start|>assistant\n<think>\n"],
];
const CASES = [
  ...Object.entries(TEMPLATES).map(([family, [template, prompt = ""]]) => [family, template, prompt] as const),
  ...VARIANTS.map(([family, template, prompt = ""]) => [family, template, prompt] as const),
];

/** All that a reader may take for the end or beginning of something. */
const MARKS: readonly string[] = [
  ...new Set([
    ...CASES.flatMap(([, template]) => marksOf(replyStyle(template))),
    ...["</parameter>", "</function>", "</invoke>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"],
    ...["<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>", '<|"|>', "<escape>", "[ARGS]", "[CALL_ID]"],
    ...[
      "<|tool_call_begin|>",
      "<|tool_call_argument_begin|>",
      "<|tool_call_end|>",
      ">>>all\n",
      ">>>clock\n",
      "｜DSML｜",
    ],
    ...["</｜DSML｜parameter>", "</｜DSML｜invoke>", "\n</parameter>", "```"],
  ]),
].filter((mark) => mark !== "{" && mark !== "[");
const CONTROLS = MARKS.filter((mark) => /^[<[][^\s=]*[>\]]$/u.test(mark) && !mark.includes("function"));

class ToyTokens {
  readonly texts: readonly string[];
  readonly endings: ReadonlySet<number>;
  readonly controls: ReadonlySet<number>;
  readonly source;
  readonly #ids: ReadonlyMap<string, number>;

  /** Every printable character, some longer pieces, and perhaps tokens for marks, which add no text. */
  constructor(controls: readonly string[]) {
    const plain = [
      ...Array.from({ length: 95 }, (_, i) => String.fromCharCode(0x20 + i)),
      ...["\n", "é", "日", "🙂", "｜", "▁", '"}', '": ', "\n\n", "<|", "</", "true", "12"],
    ];
    this.texts = [...plain, ...controls, "<END>"];
    const bytes = (id: number): Uint8Array => new TextEncoder().encode(id < plain.length ? (this.texts[id] ?? "") : "");
    this.endings = new Set([this.texts.length - 1]);
    this.controls = new Set(controls.map((_, i) => plain.length + i));
    this.#ids = new Map(controls.map((text, i) => [text, plain.length + i]));
    this.source = {
      bytes,
      endings: this.endings,
      trie: finish(vocabularyTrie({ size: this.texts.length, bytes })),
    };
  }

  idOf(text: string): number | undefined {
    return this.#ids.get(text);
  }
}
const SPELT = new ToyTokens([]);
const NAMED = new ToyTokens(CONTROLS);

const LONGEST = 6000;
const LATE = 400;
/** What ends the texts in the arguments of some families. */
const TEXT_ENDS: Readonly<Record<string, string>> = {
  "Gemma 4": '<|"|>',
  FunctionGemma: "<escape>",
  "DeepSeek V3.2": "</｜DSML｜parameter>",
  MiniMax: "</parameter>",
  Seed: "</parameter>",
  "Qwen Coder": "\n</parameter>",
  GLM: "</arg_value>",
  Harmony: "<|end|>",
};

/** A text drawn token by token: by chance, or for a while towards a mark, whether it may stand there or not. */
function drawn({ style }: CallRequest, tokens: ToyTokens, masks: TokenMasks, random: Random): string {
  const text = new ConstrainedTokens(masks);
  const ids: number[] = [];
  let written = "";
  let goal = "";
  const ends = ['"', TEXT_ENDS[style.calls?.family ?? ""] ?? '"', ...style.reasoning.flatMap(({ close }) => close)];
  while (ids.length < LONGEST) {
    const mask = text.allowed();
    const allowed = tokens.texts.flatMap((_, id) => (((mask[id >>> 5]! >>> (id & 31)) & 1) === 1 ? [id] : []));
    expect(allowed.length, `${JSON.stringify(written.slice(-200))} goes on with nothing`).toBeGreaterThan(0);
    const isLate = ids.length > LATE;
    const choices = allowed.filter((id) => !tokens.endings.has(id));
    if (choices.length < allowed.length && (choices.length === 0 || isLate || random.next() < 0.4)) return written;
    const named = choices.filter((id) => tokens.controls.has(id));
    if (goal === "" && random.next() < (isLate ? 0.9 : 0.2))
      goal = random.pick(isLate || random.next() < 0.6 ? ends : MARKS);
    const wished = goal === "" ? undefined : choices.find((id) => tokens.texts[id] === goal[0]);
    goal = wished === undefined ? "" : goal.slice(1);
    const isNamed = named.length > 0 && random.next() < (isLate ? 0.9 : 0.3);
    const id = isNamed ? random.pick(named) : (wished ?? random.pick(choices));
    ids.push(id);
    text.read(ids);
    written += tokens.texts[id];
  }
  throw new Error(`no end: ${style.calls?.family} ${written.slice(-300)}`);
}

function readBack({ style, prompt, tools }: CallRequest, text: string, hasTools = true): Reply {
  const reader = new ReplyReader(style, {
    prompt,
    hasTools,
    types: parameterTypes(tools),
    toolNames: toolNames(tools),
    earlierCalls: 0,
  });
  reader.push(text);
  return reader.finish().reply;
}

const SCHEMAS: Readonly<Record<string, Record<string, unknown>>> = {
  get_weather: WEATHER,
  clock: { type: "object", properties: {} },
  tree: TREE,
};

test("every family that calls tools has a form", () => {
  expect(Object.keys(CALL_FORMS).toSorted()).toEqual(Object.keys(TEMPLATES).toSorted());
});

describe.each(CASES)("%s, known by %j behind %j", (family, template, prompt) => {
  const style = replyStyle(template);
  it.each([
    ["spelt marks", SPELT],
    ["marks that are tokens", NAMED],
  ] as const)("%s", (_, tokens) => {
    expect(style.calls?.family).toBe(family);
    const random = seededRandom(template.length);
    const called = new Set<string>();
    for (const only of [undefined, "get_weather", "clock"]) {
      const request: CallRequest = { style, template, prompt, tools: TOOLS, only };
      const masks = new TokenMasks(new GrammarAutomaton(callGrammar(request, tokens)), tokens.source);
      for (let i = 0; i < 3; i++) {
        const text = drawn(request, tokens, masks, random);
        const { calls, content, notes } = readBack(request, text);
        expect([content, notes], text).toEqual(["", []]);
        expect(calls.length, text).toBeGreaterThan(0);
        if (only !== undefined) expect(calls.map(({ name }) => name)).toEqual([only]);
        for (const { name, arguments: given } of calls) {
          called.add(name);
          expect(misfit(SCHEMAS[name]!, given, SCHEMAS[name]), text).toBeUndefined();
        }
      }
    }
    expect(called.size).toBeGreaterThan(1);
  });

  it.each([
    ["spelt marks", SPELT],
    ["marks that are tokens", NAMED],
  ] as const)("an answer that is JSON, with %s", (_, tokens) => {
    if (!hasBefore({ style, template, prompt })) return;
    const random = seededRandom(template.length);
    const request = { style, template, prompt, schema: JSON.stringify(WEATHER) };
    const masks = new TokenMasks(new GrammarAutomaton(answerGrammar(request, tokens)), tokens.source);
    for (let i = 0; i < 3; i++) {
      const text = drawn({ ...request, tools: [] }, tokens, masks, random);
      const { calls, content } = readBack({ ...request, tools: [] }, text, false);
      expect(calls, text).toEqual([]);
      expect(misfit(WEATHER, JSON.parse(content), WEATHER), text).toBeUndefined();
    }
  });
});

test("only what a template knows stands before an answer, and only while it is open", () => {
  const before = (template: string, prompt = ""): boolean =>
    hasBefore({ style: replyStyle(template), template, prompt });
  expect([before("{{ messages }}"), before("</think>"), before("", "assistant\n<think>\n")]).toEqual([
    false,
    true,
    true,
  ]);
  expect(before("</think>", "assistant\n<think>\n\n</think>\n\n")).toBe(false);
  expect(before("<|channel|> <|message|> <|start|>")).toBe(true);
});

const CITY: Json = {
  name: "city",
  parameters: {
    type: "object",
    properties: { name: { type: "string", minLength: 1 }, size: { type: "integer", minimum: 1 } },
    required: ["name"],
  },
};
const TEXTS: readonly (readonly [family: string, taken: readonly string[], refused: readonly string[]])[] = [
  [
    "Hermes",
    [
      '<tool_call>\n{"name": "city", "arguments": {"name": "</tool_call>"}}\n</tool_call>',
      '<think>hm</think>\n\n<tool_call>\n{"name": "city", "arguments": {"name": "x", "size": 12}}\n</tool_call>',
    ],
    [
      "Rome is large.",
      '<tool_call>\n{"name": "town", "arguments": {"name": "x"}}\n</tool_call>',
      '<tool_call>\n{"name": "city", "arguments": {"size": 2}}\n</tool_call>',
      '<tool_call>\n{"name": "city", "arguments": {"name": ""}}\n</tool_call>',
      '<tool_call>\n{"name": "city", "arguments": {"name": "x", "size": 0}}\n</tool_call>',
      '<tool_call>\n{"name": "city", "arguments": {"name": "x"}}\n</tool_call> Done.',
    ],
  ],
  [
    "Qwen Coder",
    [
      "<tool_call>\n<function=city>\n<parameter=name>\na\n<b>\n\n</parameter>\n</function>\n</tool_call>",
      "<tool_call>\n<function=city>\n<parameter=name>\nx\n</parameter>\n<parameter=size>\n3\n</parameter>\n</function>\n</tool_call>",
    ],
    [
      "<tool_call>\n<function=city>\n</function>\n</tool_call>",
      "<tool_call>\n<function=city>\n<parameter=name>\n\n</parameter>\n</function>\n</tool_call>",
      "<tool_call>\n<function=city>\n<parameter=name>\na</tool_call>\n</parameter>\n</function>\n</tool_call>",
      "<tool_call>\n<function=city>\n<parameter=name>\nx\n</parameter>\n<parameter=size>\nmany\n</parameter>\n</function>\n</tool_call>",
    ],
  ],
  [
    "Gemma 4",
    ['<|tool_call>call:city{name:<|"|>a "b", {c}<|"|>,size:4}<tool_call|>'],
    ["<|tool_call>call:city{name:Rome}<tool_call|>", '<|tool_call>call:city{size:4,name:<|"|>a<|"|>}<tool_call|>'],
  ],
  [
    "LFM2",
    ['<|tool_call_start|>[city(name="a\\"\\n", size=4), city(name="]")]<|tool_call_end|>'],
    ['<|tool_call_start|>[city("a")]<|tool_call_end|>', '<|tool_call_start|>[city(name="\\q")]<|tool_call_end|>'],
  ],
  ["Llama 3", ['{"name": "city", "parameters": {"name": "x"}}'], ['{"name": "x"}', '{"name": "city"}']],
  [
    "Harmony",
    [
      '<|channel|>commentary to=functions.city <|constrain|>json<|message|>{"name": "x"}<|call|>',
      '<|channel|>analysis<|message|>hm<|end|><|start|>assistant to=functions.city<|channel|>commentary json<|message|>{"name": "x"}<|call|>',
    ],
    [
      "<|channel|>final<|message|>Rome.<|return|>",
      '<|channel|>commentary to=functions.city <|constrain|>json<|message|>{"name": "<|end|>"}<|call|>',
    ],
  ],
];

describe.each(TEXTS)("%s", (family, taken, refused) => {
  const [template, prompt = ""] = TEMPLATES[family]!;
  const style = replyStyle(template);
  const automaton = new GrammarAutomaton(callGrammar({ style, template, prompt, tools: [CITY] }, SPELT));
  const takes = (text: string): boolean => {
    let state = automaton.start;
    for (const character of text) state = automaton.next(state, character.codePointAt(0)!);
    return automaton.mayEnd(state);
  };
  it.each(taken)("takes %s", (text) => expect(takes(text)).toBe(true));
  it.each(refused)("refuses %s", (text) => expect(takes(text)).toBe(false));
});

test.each<readonly [family: string, tool: Json, message: RegExp]>([
  ["Hermes", { name: "a", parameters: { type: "array" } }, /^\[tools a\] #: got a schema of something else/],
  ["Hermes", { name: "a", parameters: { type: "object", minProperties: 1 } }, /^\[tools a\] #\/minProperties: /],
  ["GLM", { name: "a b" }, /^\[tools a b\] got a name that this form of call cannot write/],
  ["GLM", { name: "a", parameters: { properties: { "b c": {} } } }, /^\[tools a\] #\/properties\/b c: got a name/],
  [
    "Qwen Coder",
    { name: "a", parameters: { properties: { b: { type: "string", enum: ["</parameter>"] } } } },
    /^\[tools a\] #\/properties\/b\/enum: got a text that this form of call cannot write/,
  ],
  ["Gemma 4", { name: "a", parameters: { properties: { "ü b": {} } } }, /^\[tools a\] #\/properties\/ü b: got a name/],
])("%s refuses %j", (family, tool, message) => {
  const [template, prompt = ""] = TEMPLATES[family]!;
  expect(() => callGrammar({ style: replyStyle(template), template, prompt, tools: [tool] }, SPELT)).toThrow(message);
});

test("a template without a known form of calls is refused by words", () => {
  const request: CallRequest = { style: replyStyle("plain"), template: "plain", prompt: "", tools: TOOLS };
  expect(() => callGrammar(request, SPELT)).toThrow(/whose form of calls is not known/);
});
