/**
 * The forms of a call between its marks. Each reads the whole text, or says by undefined that it is not of this form;
 * nothing is mended or guessed.
 */
import type { Json } from "../diagnostics/errors.ts";
import { GEMMA, LiteralText, PYTHON } from "./literals.ts";
import type { CallArguments, ParameterTypes, WrittenCall } from "./reply.ts";
import { isOfType, isRecord, isTextOnly, partOf } from "./reply.ts";

export type CallBody = (text: string, types: ParameterTypes) => readonly WrittenCall[] | undefined;

/** Anything longer is no call. */
export const LONGEST_CALL = 1 << 18;

export function parsedJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** Arguments are a dictionary, or a text that holds one; nothing at all stands for none. */
function argumentsOf(value: Json | undefined): CallArguments | undefined {
  if (value === undefined || value === null || value === "") return {};
  const inner = typeof value === "string" ? parsedJson(value) : value;
  return isRecord(inner) ? inner : undefined;
}

function callOf(value: Json): WrittenCall | undefined {
  const named = partOf(value, "function");
  const inner = isRecord(named) ? named : value;
  const name = partOf(inner, "name") ?? partOf(inner, "tool_name") ?? (typeof named === "string" ? named : undefined);
  const given = argumentsOf(partOf(inner, "arguments") ?? partOf(inner, "parameters") ?? partOf(inner, "args"));
  if (typeof name !== "string" || name === "" || given === undefined) return undefined;
  const id = partOf(value, "id") ?? partOf(value, "tool_call_id");
  return { ...(typeof id === "string" && id !== "" ? { id } : {}), name, arguments: given };
}

/** All of them, or undefined if one is not a call. */
function allOf<T>(items: readonly T[], read: (item: T) => WrittenCall | undefined): readonly WrittenCall[] | undefined {
  const calls = items.map(read);
  return calls.length > 0 && calls.every((call) => call !== undefined) ? calls : undefined;
}

/** `{"name": …, "arguments": {…}}`, a list of them, or several in a row. */
export const jsonCalls: CallBody = (text) => {
  const inner = text.replace(/^\s*```(?:json)?/u, "").replace(/```\s*$/u, "");
  const values = parsedJson(inner) ?? parsedJson(`[${inner.trim().replace(BETWEEN_CALLS, inList)}]`);
  return values === undefined ? undefined : allOf(Array.isArray(values) ? values : [values], callOf);
};

/**
 * One a line, with or without a comma or semicolon between. Each blank can be taken in one way
 * only, so that many cost little.
 */
const BETWEEN_CALLS = /\}([\s,;]*)\{/gu;
const inList = (found: string, between: string): string =>
  /[;\n]/u.test(between) && /^[,;]?$/u.test(between.replaceAll(/\s/gu, "")) ? "},{" : found;

/** Firefunction: a list of calls behind a word. */
export const functools: CallBody = (text, types) => jsonCalls(text.replace(/^\s*functools/u, ""), types);

/** A whole answer that is one JSON call, and not some other JSON. */
export const bareJson: CallBody = (text) => {
  const calls = jsonCalls(text.replace(/^\s*<\|python_tag\|>/u, ""), NO_TYPES);
  if (calls !== undefined) return calls;
  const builtIn = /^\s*<\|python_tag\|>\s*([\w.]+?)\.call\((.*)\)\s*$/su.exec(text);
  if (builtIn === null) return undefined;
  const given = LiteralText.read(`${builtIn[2] ?? ""})`, PYTHON, (source) => source.arguments(")"));
  return given === undefined ? undefined : [{ name: builtIn[1] ?? "", arguments: given }];
};
const NO_TYPES: ParameterTypes = () => undefined;

/** `name`, a mark, and a JSON of arguments. The name may carry an id behind another mark. */
const namedJson =
  (mark: string, idMark?: string): CallBody =>
  (text) => {
    const at = text.indexOf(mark);
    if (at < 0) return undefined;
    const [name = "", id] = idMark === undefined ? [text.slice(0, at)] : text.slice(0, at).split(idMark);
    const given = argumentsOf(parsedJson(text.slice(at + mark.length).trim() || "{}"));
    if (given === undefined || name.trim() === "") return undefined;
    return [{ ...(id === undefined ? {} : { id: id.trim() }), name: name.trim(), arguments: given }];
  };

/** Mistral: a list as JSON, or `name[ARGS]{…}` and before that `name{…}`. */
export const mistral: CallBody = (text, types) => {
  if (/^\s*[[{]/u.test(text)) return jsonCalls(text, types);
  if (text.includes("[ARGS]")) return namedJson("[ARGS]", "[CALL_ID]")(text, types);
  const brace = text.indexOf("{");
  return brace < 0 ? undefined : namedJson("\n")(`${text.slice(0, brace)}\n${text.slice(brace)}`, types);
};

/** Several calls, each between marks of its own. */
const between =
  (open: string, close: string, one: CallBody): CallBody =>
  (text, types) => {
    const parts = text.split(open).slice(1);
    const calls = parts.map((part) => one(part.split(close)[0] ?? "", types));
    return parts.length > 0 && calls.every((call) => call !== undefined) ? calls.flat() : undefined;
  };

/** Kimi: `functions.name:0<|tool_call_argument_begin|>{…}`; the whole of the first is the id. */
export const kimi: CallBody = between("<|tool_call_begin|>", "<|tool_call_end|>", (text, types) =>
  namedJson("<|tool_call_argument_begin|>")(text, types)?.map(({ name: id, arguments: given }) => ({
    id,
    name: id.replace(/^functions\./u, "").replace(/:\d+$/u, ""),
    arguments: given,
  })),
);

/** DeepSeek V3.1: `name<｜tool▁sep｜>{…}`; V3 and R1: `function<｜tool▁sep｜>name` and a block of JSON below. */
export const deepseek: CallBody = between("<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", (text, types) => {
  const block = /^\s*function<｜tool▁sep｜>([^\n]+)\n```json\n(.*?)\n?```\s*$/su.exec(text);
  return namedJson("<｜tool▁sep｜>")(block === null ? text : `${block[1] ?? ""}<｜tool▁sep｜>${block[2] ?? ""}`, types);
});

/**
 * A value without quotation marks: a text where the tool takes nothing else, else JSON that it
 * takes, else a text.
 */
function bareValue(text: string, types: readonly string[] | undefined): Json {
  if (types !== undefined && isTextOnly(types)) return text;
  const word = PYTHON_WORDS.get(text.trim());
  const parsed = word === undefined ? parsedJson(text.trim()) : word;
  if (parsed === undefined) return text;
  return types?.includes("string") !== true || types.some((type) => isOfType(parsed, type)) ? parsed : text;
}
const PYTHON_WORDS = new Map<string, Json>([
  ["True", true],
  ["False", false],
  ["None", null],
]);

const withoutFrame = (text: string): string => text.replace(/^\r?\n/u, "").replace(/\r?\n$/u, "");

interface Tagged {
  /** Between the beginning of the tag and its `>`. */
  readonly head: string;
  readonly body: string;
  readonly start: number;
  readonly end: number;
}

/** `<open…>body</close>`, one after the other. The last one may lack its end: the answer ended there. */
function tagged(text: string, open: string, close: string): readonly Tagged[] {
  const found: Tagged[] = [];
  for (let at = 0; ;) {
    const start = text.indexOf(open, at);
    const head = start < 0 ? -1 : text.indexOf(">", start + open.length);
    if (head < 0) return found;
    const closed = text.indexOf(close, head + 1);
    const bodyEnd = closed < 0 ? text.length : closed;
    at = closed < 0 ? text.length : closed + close.length;
    found.push({ head: text.slice(start + open.length, head), body: text.slice(head + 1, bodyEnd), start, end: at });
  }
}

/** Names and values of elements; undefined where anything but blanks stands between them. */
function pairs(
  text: string,
  elements: readonly Tagged[],
  read: (element: Tagged) => readonly [string, Json] | undefined,
): CallArguments | undefined {
  const entries: (readonly [string, Json])[] = [];
  let end = 0;
  for (const element of elements) {
    const entry = read(element);
    if (entry === undefined || text.slice(end, element.start).trim() !== "") return undefined;
    entries.push(entry);
    ({ end } = element);
  }
  return text.slice(end).trim() === "" ? Object.fromEntries(entries) : undefined;
}

/** `<function=name><parameter=key>value</parameter>…</function>`, or JSON between the tags of the function. */
export const functionTags: CallBody = (text, types) =>
  allOf(tagged(text, "<function=", "</function>"), ({ head, body }) => {
    const name = head.trim().replace(/^"(.*)"$/u, "$1");
    if (/^\s*\{/u.test(body)) {
      const given = argumentsOf(parsedJson(body));
      return given === undefined ? undefined : { name, arguments: given };
    }
    const given = pairs(body, tagged(body, "<parameter=", "</parameter>"), (parameter) => {
      const key = parameter.head.trim();
      return [key, bareValue(withoutFrame(parameter.body), types(name, key))];
    });
    return given === undefined || name === "" ? undefined : { name, arguments: given };
  });

/** GLM: the name, then `<arg_key>key</arg_key><arg_value>value</arg_value>`, … */
export const argumentTags: CallBody = (text, types) => {
  const at = text.indexOf("<arg_key>");
  const name = (at < 0 ? text : text.slice(0, at)).trim();
  if (!/^[\w.:/-]+$/u.test(name)) return undefined;
  const rest = at < 0 ? "" : text.slice(at);
  const given = pairs(rest, tagged(rest, "<arg_key", "</arg_value>"), ({ body }) => {
    const [key = "", value] = body.split(/<\/arg_key>\s*<arg_value>/u);
    return value === undefined ? undefined : [key.trim(), bareValue(value, types(name, key.trim()))];
  });
  return given === undefined ? undefined : [{ name, arguments: given }];
};

/** `<invoke name="…"><parameter name="…">value</parameter></invoke>`, and DeepSeek's with marks in the tags. */
export const invokeTags: CallBody = (text, types) => {
  const plain = text.replaceAll("｜DSML｜", "");
  return allOf(tagged(plain, '<invoke name="', "</invoke>"), ({ head, body }) => {
    const name = head.replace(/"$/u, "");
    const given = pairs(body, tagged(body, '<parameter name="', "</parameter>"), (parameter) => {
      const [key = ""] = parameter.head.split('"');
      const isText = parameter.head.includes('string="true"');
      return [key, bareValue(withoutFrame(parameter.body), isText ? ["string"] : types(name, key))];
    });
    return given === undefined ? undefined : { name, arguments: given };
  });
};

/** Gemma: `call:name{key:value,…}`. */
export const gemma: CallBody = (text) =>
  LiteralText.read(text, GEMMA, (source) => {
    source.expect("call:");
    const name = source.name();
    source.expect("{");
    const given = source.arguments("}");
    source.takes("<tool_call|>");
    return source.isAtEnd ? [{ name, arguments: given }] : undefined;
  });

/** Python's form: `[name(key="value"), …]`. */
export const pythonCalls: CallBody = (text) =>
  LiteralText.read(text, PYTHON, (source) => {
    const isList = source.takes("[");
    const calls: WrittenCall[] = [];
    do {
      const name = source.name();
      source.expect("(");
      calls.push({ name, arguments: source.arguments(")") });
    } while (isList && source.takes(","));
    if (isList) source.expect("]");
    return source.isAtEnd ? calls : undefined;
  });
