/** Answers as the families write them, in pieces of every size: what is thought, said and called, and what stays text. */
import { describe, expect, it } from "vitest";
import type { Json } from "../diagnostics/errors.ts";
import { replyStyle } from "./families.ts";
import { ReplyReader } from "./reader.ts";
import type { CallArguments, Reply, ReplyPart, ReplyPiece } from "./reply.ts";
import { parameterTypes, toolNames } from "./reply.ts";

const TOOLS: readonly Json[] = [
  {
    type: "function",
    function: {
      name: "weather",
      parameters: {
        type: "object",
        properties: {
          city: { type: "string" },
          days: { type: "integer" },
          zip: { anyOf: [{ type: "string" }, { type: "null" }] },
          unit: { enum: ["1", "2"] },
          note: { type: ["string", "null"] },
        },
      },
    },
  },
];

interface Given {
  readonly prompt?: string;
  readonly tools?: readonly Json[];
}

/** The answer in pieces of one character and as a whole: both read the same, and no character is lost. */
function read(template: string, answer: string, { prompt = "", tools = TOOLS }: Given = {}) {
  const results = [1, 3, Infinity].map((size) => {
    const given = { types: parameterTypes(tools), toolNames: toolNames(tools) };
    const options = { prompt, hasTools: tools.length > 0, ...given, earlierCalls: 0 };
    const reader = new ReplyReader(replyStyle(template), options);
    const pieces: ReplyPiece[] = [];
    for (let at = 0; at < answer.length; at += size) pieces.push(...reader.push(answer.slice(at, at + size)));
    const end = reader.finish();
    pieces.push(...end.pieces);
    expect(pieces.map(({ text }) => text).join("")).toBe(answer);
    const shown = (part: ReplyPart) =>
      pieces
        .filter((piece) => piece.part === part)
        .map(({ text }) => text)
        .join("");
    return { reply: end.reply, answer: shown("answer"), reasoning: shown("reasoning"), call: shown("call") };
  });
  const [first] = results;
  for (const other of results) expect(other).toEqual(first);
  return first!;
}

const weather = (args: CallArguments, id = "call00001") => ({ id, name: "weather", arguments: args });
const said = (reply: Partial<Reply>): Reply => ({ reasoning: "", content: "", calls: [], notes: [], ...reply });

/** A few words of each family's template, an answer, and what it says. */
const ANSWERS: Readonly<Record<string, readonly [template: string, answer: string, reply: Reply]>> = {
  "plain text": ["", "  Hello <b>x</b>\n", said({ content: "  Hello <b>x</b>\n" })],
  "Qwen thinks": ["</think>", "<think>\nhm\n</think>\n\nYes.", said({ reasoning: "hm", content: "Yes." })],
  "a family whose template does not show it": ["", "<think>hm</think>Yes.", said({ reasoning: "hm", content: "Yes." })],
  "the end of thinking alone": ["</think>", "hm\n</think>\n\nYes.", said({ reasoning: "hm", content: "Yes." })],
  "nothing was thought": ["</think>", "<think>\n\n</think>\n\nYes.", said({ content: "Yes." })],
  "speaks of the mark": ["</think>", "Write <think> first.", said({ content: "Write <think> first." })],
  Magistral: ["[THINK] [TOOL_CALLS]", "[THINK]hm[/THINK]Yes.", said({ reasoning: "hm", content: "Yes." })],
  "Gemma 4 thinks and calls": [
    "<|channel> <channel|> <|tool_call>",
    '<|channel>thought\nhm\n<channel|><|tool_call>call:weather{city:<|"|>Köln, "a"<|"|>,days:2,deep:{ok:true,list:[1,<|"|>x<|"|>]}}<tool_call|>',
    said({ reasoning: "hm", calls: [weather({ city: 'Köln, "a"', days: 2, deep: { ok: true, list: [1, "x"] } })] }),
  ],
  FunctionGemma: [
    "<start_function_call>",
    "<start_function_call>call:weather{city:<escape>Rom<escape>}<end_function_call>",
    said({ calls: [weather({ city: "Rom" })] }),
  ],
  "Hermes, two calls and words before": [
    "<tool_call>",
    'Let me look.\n<tool_call>\n{"name": "weather", "arguments": {"city": "a </tool_call> b"}}\n</tool_call>\n<tool_call>\n{"name": "weather", "arguments": "{\\"days\\": 2}"}\n</tool_call>',
    said({
      content: "Let me look.",
      calls: [weather({ city: "a </tool_call> b" }), weather({ days: 2 }, "call00002")],
    }),
  ],
  "Hermes, broken": [
    "<tool_call>",
    '<tool_call>{"name": "weather", "arguments": {"city": Köln}}</tool_call>\n<tool_call>{"name": "weather"}</tool_call>',
    said({
      content: '<tool_call>{"name": "weather", "arguments": {"city": Köln}}</tool_call>',
      calls: [weather({})],
      notes: ["A tool call could not be read; it stays text."],
    }),
  ],
  "Hermes, cut off": [
    "<tool_call>",
    '<tool_call>{"name": "wea',
    said({ content: '<tool_call>{"name": "wea', notes: ["A tool call could not be read; it stays text."] }),
  ],
  "Qwen3-Coder, by the types of the tool": [
    "<tool_call> <function= <parameter=",
    "<tool_call>\n<function=weather>\n<parameter=city>\n12\n</parameter>\n<parameter=days>\n12\n</parameter>\n<parameter=more>\n[1, {}]\n</parameter>\n</function>\n</tool_call>",
    said({ calls: [weather({ city: "12", days: 12, more: [1, {}] })] }),
  ],
  "GLM, what may be a text or nothing": [
    "<arg_key> </think>",
    "<tool_call>weather<arg_key>zip</arg_key><arg_value>12345</arg_value><arg_key>unit</arg_key><arg_value>1</arg_value><arg_key>note</arg_key><arg_value>null</arg_value></tool_call>",
    said({ calls: [weather({ zip: "12345", unit: "1", note: null })] }),
  ],
  GLM: [
    "<arg_key> </think>",
    "<think>hm</think>\n<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>12</arg_value>\n<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>",
    said({ reasoning: "hm", calls: [weather({ city: "12", days: 3 })] }),
  ],
  "Mistral, a list": [
    "[TOOL_CALLS]",
    '[TOOL_CALLS] [{"name": "weather", "arguments": {"city": "Rom"}, "id": "abcdefghi"}]',
    said({ calls: [weather({ city: "Rom" }, "abcdefghi")] }),
  ],
  "Mistral, by name": [
    "[TOOL_CALLS] [ARGS]",
    '[TOOL_CALLS]weather[ARGS]{"city": "Rom"}[TOOL_CALLS]weather[CALL_ID]abcdefghi[ARGS]{}',
    said({ calls: [weather({ city: "Rom" }), weather({}, "abcdefghi")] }),
  ],
  "Mistral, without an id where one could be": [
    "[TOOL_CALLS] [ARGS]",
    "[TOOL_CALLS]weather[CALL_ID][ARGS]{}",
    said({ calls: [weather({})] }),
  ],
  "a call of nothing": [
    "<function= </function>",
    "<function=>{}</function>",
    said({ content: "<function=>{}</function>", notes: ["A tool call could not be read; it stays text."] }),
  ],
  Kimi: [
    "<|tool_calls_section_begin|>",
    'Ok.<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>{"days": 1}<|tool_call_end|><|tool_call_begin|>functions.weather:1<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>',
    said({ content: "Ok.", calls: [weather({ days: 1 }, "functions.weather:0"), weather({}, "functions.weather:1")] }),
  ],
  "DeepSeek V3.1": [
    "<｜tool▁calls▁begin｜> </think>",
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>{"days": 1}<｜tool▁call▁end｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    said({ calls: [weather({ days: 1 }), weather({}, "call00002")] }),
  ],
  "DeepSeek V3": [
    "<｜tool▁calls▁begin｜>",
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n```json\n{"days": 1}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    said({ calls: [weather({ days: 1 })] }),
  ],
  "DeepSeek V3.2": [
    "｜DSML｜",
    '<｜DSML｜function_calls>\n<｜DSML｜invoke name="weather">\n<｜DSML｜parameter name="city" string="true">5</｜DSML｜parameter>\n<｜DSML｜parameter name="more" string="false">5</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>',
    said({ calls: [weather({ city: "5", more: 5 })] }),
  ],
  MiniMax: [
    "<minimax:tool_call>",
    '<minimax:tool_call>\n<invoke name="weather">\n<parameter name="city">Rom</parameter>\n<parameter name="days">2</parameter>\n</invoke>\n</minimax:tool_call>',
    said({ calls: [weather({ city: "Rom", days: 2 })] }),
  ],
  "Llama 3, bare": [
    '{"name": x, "parameters": <|python_tag|>',
    '{"name": "weather", "parameters": {"city": "Rom"}}',
    said({ calls: [weather({ city: "Rom" })] }),
  ],
  "Llama 3, by its tag": [
    "<|python_tag|>",
    '<|python_tag|>{"name": "weather", "parameters": {"city": "Rom"}}; {"name": "weather", "parameters": {}}',
    said({ calls: [weather({ city: "Rom" }), weather({}, "call00002")] }),
  ],
  "Llama 3, a tool of its own": [
    "<|python_tag|>",
    '<|python_tag|>brave_search.call(query="a \\"b\\"")',
    said({ calls: [{ id: "call00001", name: "brave_search", arguments: { query: 'a "b"' } }] }),
  ],
  "Llama 3, some other JSON": ["<|python_tag|>", '{"a": 1}', said({ content: '{"a": 1}' })],
  "Llama 4": [
    "<|python_start|>",
    "[weather(city='Rom', days=2), weather()]",
    said({ calls: [weather({ city: "Rom", days: 2 }), weather({}, "call00002")] }),
  ],
  LFM2: [
    "<|tool_call_start|>",
    '<|tool_call_start|>[weather(city="Rom", deep={"a": [True, None]})]<|tool_call_end|>Looking.',
    said({ content: "Looking.", calls: [weather({ city: "Rom", deep: { a: [true, null] } })] }),
  ],
  "LFM2, escapes as Python reads them": [
    "<|tool_call_start|>",
    String.raw`<|tool_call_start|>[weather(city="\u00e9\x41\n\d+\\\'\U0001F642")]<|tool_call_end|>`,
    said({ calls: [weather({ city: "éA\n\\d+\\'🙂" })] }),
  ],
  "Command R": [
    "Action: tool_name",
    'Action:\n```json\n[\n    {\n        "tool_name": "weather",\n        "parameters": {"city": "Rom"}\n    }\n]```\n',
    said({ calls: [weather({ city: "Rom" })] }),
  ],
  "Command R7B": [
    "<|START_THINKING|> <|START_ACTION|> <|START_RESPONSE|> <|END_RESPONSE|>",
    '<|START_THINKING|>hm<|END_THINKING|><|START_ACTION|>[{"tool_call_id": "0", "tool_name": "weather", "parameters": {}}]<|END_ACTION|>',
    said({ reasoning: "hm", calls: [weather({}, "0")] }),
  ],
  "Command R7B, an answer": [
    "<|START_THINKING|> <|START_ACTION|> <|START_RESPONSE|> <|END_RESPONSE|>",
    "<|START_RESPONSE|>Yes.<|END_RESPONSE|>",
    said({ content: "Yes." }),
  ],
  Granite: [
    "<|tool_call|> Here is my thought process:",
    'Here is my thought process: hm\nHere is my response: <|tool_call|>[{"name": "weather", "arguments": {}}]',
    said({ reasoning: "hm", calls: [weather({})] }),
  ],
  Functionary: [
    "<function= </function>",
    '<function=weather>{"city": "Rom"}</function>',
    said({ calls: [weather({ city: "Rom" })] }),
  ],
  Firefunction: ["functools", ' functools[{"name": "weather", "arguments": {}}]', said({ calls: [weather({})] })],
  Apriel: [
    "[BEGIN FINAL RESPONSE] [END FINAL RESPONSE] <tool_calls>[",
    "hm\n[BEGIN FINAL RESPONSE]\nYes.\n[END FINAL RESPONSE]",
    said({ reasoning: "hm", content: "Yes." }),
  ],
};

describe("an answer", () => {
  it.each(Object.entries(ANSWERS))("%s", (_, [template, answer, reply]) => {
    expect(read(template, answer).reply).toEqual(reply);
  });

  it("of Harmony has channels: its prompt ends before the first header", () => {
    const template = "<|start|> <|channel|> <|message|>";
    const prompt = "…<|start|>assistant";
    const answer =
      '<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{"city": "Rom"}';
    expect(read(template, answer, { prompt }).reply).toEqual(
      said({ reasoning: "hm", calls: [weather({ city: "Rom" })] }),
    );
    const said2 = "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Yes.<|return|>";
    const { reply, answer: shown, reasoning } = read(template, said2, { prompt });
    expect(reply).toEqual(said({ reasoning: "hm", content: "Yes." }));
    expect([shown, reasoning]).toEqual(["Yes.", "hm"]);
    expect(read(template, " to=functions.weather<|channel|>commentary<|message|>{}", { prompt }).reply.calls).toEqual([
      weather({}),
    ]);
    expect(read(template, "No header at all", { prompt }).reply.content).toBe("No header at all");
  });

  it("goes on with the reasoning that the prompt has opened", () => {
    const { reply, reasoning } = read("</think>", "\nhm\n</think>\n\nYes.", { prompt: "<|assistant|><think>\n" });
    expect([reply.reasoning, reply.content, reasoning]).toEqual(["hm", "Yes.", "hm\n"]);
    const closed = read("</think>", "Yes.", { prompt: "<think>\n\n</think>\n\n" });
    expect(closed.reply).toEqual(said({ content: "Yes." }));
  });

  it("that is JSON is no call where no tools are given", () => {
    const answer = '{"name": "weather", "parameters": {}}';
    expect(read("<|python_tag|>", answer, { tools: [] }).reply).toEqual(said({ content: answer }));
  });

  it("with many line ends is read in a moment", () => {
    const start = process.cpuUsage();
    const calls = `{"name": "a"}${"\n".repeat(20_000)}x{"name": "b"}`;
    expect(read("<tool_call>", `<tool_call>${calls}</tool_call>`).reply.calls).toEqual([]);
    const { user, system } = process.cpuUsage(start);
    expect((user + system) / 1e6).toBeLessThan(2);
  });

  it("full of marks is read in a moment", () => {
    const reader = new ReplyReader(replyStyle("<arg_key> </think>"), {
      prompt: "",
      hasTools: true,
      types: parameterTypes([]),
      earlierCalls: 0,
    });
    const start = process.cpuUsage();
    for (let i = 0; i < 2000; i++) reader.push("<tool_call><arg_key>".repeat(20));
    for (let i = 0; i < 2000; i++) reader.push('"</tool_call>{"<tool_call>{"name"');
    expect(reader.finish().reply.calls).toEqual([]);
    const { user, system } = process.cpuUsage(start);
    expect((user + system) / 1e6).toBeLessThan(5);
  });
});

describe("recipients (Functionary 3.2)", () => {
  const prompt = "assistant\n\n>>>";
  const answerTo = (answer: string, given: Given = {}) => read(">>>all", answer, { prompt, ...given });

  it("words, calls, and code for python", () => {
    expect(answerTo("all\nHello.")).toMatchObject({ reply: said({ content: "Hello." }), answer: "Hello." });
    const text = 'all\nLooking.\n>>>weather\n{"city": "a>>>all b"}\n>>>weather\n{"days": 2}';
    expect(answerTo(text).reply).toEqual(
      said({ content: "Looking.", calls: [weather({ city: "a>>>all b" }), weather({ days: 2 }, "call00002")] }),
    );
    expect(answerTo("python\nprint(1)\n").reply.calls).toEqual([
      { id: "call00001", name: "python", arguments: { code: "print(1)\n" } },
    ]);
  });

  it("words that only look so stay words, and a call that is no JSON is noted", () => {
    const prompts = "all\n>>> x = 1\n>>>other\n>>> y";
    expect(answerTo(prompts).reply).toEqual(said({ content: ">>> x = 1\n>>>other\n>>> y" }));
    expect(answerTo("weather\nRome").reply).toMatchObject({ content: "Rome", calls: [], notes: [expect.any(String)] });
    expect(answerTo(">>>weather\n{}", { prompt: "" }).reply.calls).toEqual([weather({})]);
  });
});
