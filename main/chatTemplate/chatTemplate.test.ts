/**
 * Chat templates: what they may do, and what happens to those that try more. Jinja2's own answers:
 * chatTemplate.oracle.test.ts.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { boolEntry, numberEntry, stringEntry, stringsEntry } from "../formats/gguf/encode.ts";
import { Metadata } from "../formats/gguf/metadata.ts";
import type { MetadataEntry } from "../formats/gguf/values.ts";
import { chatSupport, chatTemplate, encodeRendered, templateNames } from "./chatTemplate.ts";
import type { ChatMessage, RenderOptions, TemplateChoice } from "./chatTemplate.ts";
import { peakGrowth } from "../testing/peakMemory.ts";
import { strftime } from "./strftime.ts";
import { createTokenizer } from "../tokenizer/tokenizer.ts";

const words = { bos: 0, eos: 1, tokenText: (id: number) => ["<s>", "</s>"][id] ?? "" };
const hello: readonly ChatMessage[] = [{ role: "user", content: "Hello" }];
const render = (source: string, messages = hello, options?: RenderOptions): string =>
  chatTemplate(source, words).render(messages, options);

/** The code it fails with, and the processor time it took: the clock on the wall depends on what else runs. */
function failure(source: string, messages = hello): { code: string; message: string; milliseconds: number } {
  const start = process.cpuUsage();
  const spent = (): number => {
    const { user, system } = process.cpuUsage(start);
    return (user + system) / 1000;
  };
  try {
    render(source, messages);
    return { code: "none", message: "", milliseconds: spent() };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    return { code, message: error instanceof Error ? error.message : "", milliseconds: spent() };
  }
}

describe("a template", () => {
  it("sees the conversation, the special tokens and what else it is given", () => {
    const source =
      "{{ bos_token }}{% for m in messages %}[{{ m.role }}]{{ m['content'] }}{{ eos_token }}{% endfor %}{% if add_generation_prompt %}>{% endif %}{{ enable_thinking }}";
    expect(render(source)).toBe("<s>[user]Hello</s>>");
    expect(render(source, hello, { addGenerationPrompt: false, variables: { enable_thinking: "no" } })).toBe(
      "<s>[user]Hello</s>no",
    );
  });

  it("is told that there are no tools and no documents, unless there are", () => {
    const source = "{{ tools is none }} {{ documents is none }}";
    expect(render(source)).toBe("True True");
    expect(render(source, hello, { variables: { tools: [{ name: "x" }] } })).toBe("False True");
  });

  it("may write the date it is told", () => {
    const now = new Date(2024, 6, 6, 9, 5, 3);
    expect(render("{{ strftime_now('%d %b %Y') }}", hello, { now })).toBe("06 Jul 2024");
    expect(strftime(now, "%j %-j [%Z%z]")).toBe("188 188 []");
    expect(strftime(new Date(2023, 11, 31), "%j")).toBe("365");
    expect(strftime(new Date(2024, 0, 3), "%j %-j")).toBe("003 3");
    expect(strftime(now, "%A %a %B %-d %y %H:%M:%S %I%p %% %q")).toBe("Saturday Sat July 6 24 09:05:03 09AM % %q");
  });

  it("may refuse a conversation, with its reason", () => {
    const { code, message } = failure("{{ raise_exception('roles must alternate') }}");
    expect(code).toBe("INPUT_TEMPLATE");
    expect(message).toContain("roles must alternate");
  });

  it("has loops, macros, namespaces, break and filters", () => {
    const source = `{%- macro say(x, n=2) %}{{ x * 1 if x is number else x|upper }}{{ n }}{% endmacro -%}
{%- set ns = namespace(count=0) -%}
{%- for m in messages if m.role != 'tool' -%}{%- set ns.count = ns.count + 1 -%}{%- if loop.index > 2 -%}{%- break -%}{%- endif -%}{{ say(m.content) }},{%- endfor -%}
{{ ns.count }}{{ ['b','a']|sort|join('+') }}{{ 'a-b'.split('-')[1] }}{{ 'aXa'.replace('a','bb') }}{{ {'k': [1, 'x']}|tojson }}{{ messages|length }}`;
    const messages = ["p", "q", "r", "s"].map((content) => ({ role: "user", content }));
    expect(render(source, messages)).toBe('P2,Q2,3a+bbbbXbb{"k": [1, "x"]}4');
  });
});

const DOUBLING = (step: string): string =>
  `{%- set ns = namespace(x='ab') -%}{%- for i in range(60) -%}${step}{%- endfor -%}{{ ns.x }}`;
const DOUBLED_LIST = DOUBLING("{%- set ns.x = [ns.x, ns.x] -%}").replace("{{ ns.x }}", "");
const HOSTILE: Readonly<Record<string, string>> = {
  "a long range": "{% for i in range(10**9) %}x{% endfor %}",
  "loops in loops":
    "{% for i in range(9999) %}{% for j in range(9999) %}{% for k in range(9999) %}{% endfor %}{% endfor %}{% endfor %}",
  "empty loops over one list": "{% set r = range(9999) %}{% for i in r %}{% for j in r %}{% endfor %}{% endfor %}",
  "a text that doubles": DOUBLING("{%- set ns.x = ns.x ~ ns.x -%}"),
  "a text that doubles by adding": DOUBLING("{%- set ns.x = ns.x + ns.x -%}"),
  "a list that doubles": DOUBLING("{%- set ns.x = [ns.x, ns.x] -%}"),
  "a list that doubles, as JSON": `${DOUBLED_LIST}{{ ns.x|tojson }}`,
  "a list that doubles, as a text": `${DOUBLED_LIST}{{ ns.x|string|length }}{{ 'a' ~ ns.x }}`,
  "a list that doubles, compared with a text": `${DOUBLED_LIST}{{ ns.x == 'a' }}`,
  "a list that doubles, joined": `${DOUBLED_LIST}{{ ns.x|join('') }}`,
  "a dictionary that doubles": DOUBLING("{%- set ns.x = {'a': ns.x, 'b': ns.x} -%}"),
  "namespaces that double":
    "{% set ns = namespace(x=namespace()) %}{% for i in range(60) %}{% set ns.x = namespace(a=ns.x, b=ns.x) %}{{ ns.x }}{% endfor %}",
  "a namespace in itself": "{% set ns = namespace() %}{% set ns.x = ns %}{{ ns }}",
  "a namespace in itself, as JSON": "{% set ns = namespace() %}{% set ns.x = [ns] %}{{ ns.x|tojson }}",
  "replacement that multiplies": DOUBLING("{%- set ns.x = ns.x.replace('a', ns.x) -%}"),
  "replacement of nothing": DOUBLING("{%- set ns.x = ns.x|replace('', ns.x) -%}"),
  "joining that multiplies": DOUBLING("{%- set ns.x = ns.x|join(ns.x) -%}"),
  "a wide indent": "{{ 'a\nb'|indent(10**9) }}",
  "a wide indent of many lines": "{% set x = range(9000)|join('\n') %}{{ x|indent(100000) }}",
  "JSON with a wide indent": "{{ [1,[2,[3]]]|tojson(indent=10**9) }}",
  "JSON with long separators": "{% set s = range(9000)|join('-------') %}{{ range(9000)|tojson(separators=(s, s)) }}",
  "a filter block": "{% filter indent(10**9) %}a\nb{% endfilter %}",
  "a macro that calls itself": "{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}",
  "a macro that calls itself twice":
    "{% macro f(n) %}{% if n > 0 %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}",
  "a caller that calls itself":
    "{% macro f() %}{{ caller() }}{% endmacro %}{% macro g() %}{% call f() %}{{ g() }}{% endcall %}{% endmacro %}{{ g() }}",
  "sorting long texts":
    "{% set t = range(9999)|join('x') %}{% set ns = namespace(l=[]) %}{% for i in range(9000) %}{% set ns.l = ns.l + [t] %}{% endfor %}{{ ns.l|sort|length }}",
  "many large texts":
    "{% set t = range(9999)|join('xxxxxxxxxx') %}{% set ns = namespace(l=[]) %}{% for i in range(9000) %}{% set ns.l = ns.l + [t|upper ~ i] %}{% endfor %}",
  "a text in pieces":
    "{% set t = range(9999)|join('xxxxxxxxxx') %}{% for i in range(9999) %}{{ t.split('x')|length }}{% endfor %}",
  "slices of a long text":
    "{% set t = range(9999)|join('xxxxxxxxxx') %}{% for i in range(9999) %}{% set u = t[1:-1] %}{% endfor %}",
  "a text repeated": "{{ 'ab' * 10**9 }}",
  "a text repeated and repeated": DOUBLING("{%- set ns.x = ns.x * 3 -%}"),
  "a list repeated": "{{ [1, 2] * 10**9 }}",
  "a wide format": "{{ '%1000000000d' % 1 }}",
  "a format that multiplies": DOUBLING("{%- set ns.x = '%s%s' % (ns.x, ns.x) -%}"),
  "a format in braces that multiplies": DOUBLING("{%- set ns.x = '{0}{0}'.format(ns.x) -%}"),
  "a list that doubles, formatted": `${DOUBLED_LIST}{{ '%s' % ns.x }}`,
  "a list that doubles, in braces": `${DOUBLED_LIST}{{ '{}'.format(ns.x) }}`,
  "a list that doubles, in upper case": `${DOUBLED_LIST}{{ ns.x|upper }}`,
  "lists that double, compared": `${DOUBLING("{%- set ns.x = [ns.x, ns.x] -%}").replace("{{ ns.x }}", "{% set a = ns.x %}").replace("'ab'", "'cd'")}${DOUBLED_LIST}{{ a == a[:] or a[:] == ns.x or [a] == [[a[0], a[1]]] }}`,
  "a list that doubles, mapped": `${DOUBLED_LIST}{{ ns.x|map('string')|list }}`,
  "a list that doubles, as a separator and a path": `${DOUBLED_LIST}{{ messages|map(attribute=ns.x)|list }}{{ [1, 2]|join(ns.x) }}`,
  "a list that doubles, as a separator": `${DOUBLED_LIST}{{ [1, 2]|join(ns.x) }}`,
  "a list that doubles, mapped and joined": `${DOUBLED_LIST}{{ [[ns.x]]|map('first')|join }}`,
  "joining with a method that multiplies": DOUBLING("{%- set ns.x = ns.x.join([ns.x, ns.x, ns.x]) -%}"),
  "a long text that is almost found":
    "{% set a = 'a' * 1000000 %}{% set b = 'a' * 250000 ~ 'b' ~ 'a' * 250000 %}{{ b in a }}",
  "a long text that is almost replaced":
    "{% set a = 'a' * 1000000 %}{% set b = 'a' * 250000 ~ 'b' ~ 'a' * 250000 %}{{ a.replace(b, 'x') }}",
  "a long text that is almost split":
    "{% set a = 'a' * 1000000 %}{% set b = 'a' * 250000 ~ 'b' ~ 'a' * 250000 %}{{ a.rsplit(b) }}{{ a.count(b) }}{{ a.find(b) }}",
  "characters stripped again and again":
    "{% set t = 'a' * 2000000 %}{% for i in range(9999) %}{% set u = t.strip('a') %}{% endfor %}",
  "large sets of characters stripped":
    "{% set t = 'a' * 2000000 %}{% for i in range(9999) %}{% set u = 'b'.strip(t) %}{% endfor %}",
  "a long text as a list": "{{ ('a' * 2000000)|list|length }}",
  "a long text in lines": "{{ ('\n' * 2000000).splitlines()|length }}",
  "filters mapped again and again": "{{ range(9999)|map('map', 'map', 'map')|list }}",
  "large keys made unique":
    "{% set t = 'a' * 2000000 %}{% set ns = namespace(l=[]) %}{% for i in range(5000) %}{% set ns.l = ns.l + [t] %}{% endfor %}{{ ns.l|unique|list|length }}{{ ns.l|max }}",
  "parts of characters counted":
    "{% set t = '👍' * 1000000 %}{% for i in range(9999) %}{% set u = t|length %}{% set v = t[3] %}{% endfor %}",
  "a long text in title case": "{{ ('a ' * 2000000)|title }}",
  "a long text in title case by its method": "{{ ('a ' * 2000000).title() }}",
  "long numbers read again and again":
    "{% set t = '1' * 4000000 %}{% for i in range(9999) %}{% set u = t|int %}{% endfor %}",
  "long texts that are almost numbers":
    "{% set t = '1' * 4000000 ~ 'x' %}{% for i in range(9999) %}{% set u = t|float %}{% endfor %}",
  "a long text taken apart by replacing":
    "{% set t = 'a ' * 2000000 %}{% for i in range(9999) %}{% set u = t|replace(' ', '') %}{% endfor %}",
  "a long text turned round": "{% set t = 'a,' * 2000000 %}{% for i in range(9999) %}{% set u = t[::-1] %}{% endfor %}",
  "a long word wrapped into lines of one character": "{{ ('a' * 950000)|wordwrap(1) }}",
  "long texts put in groups": "{% set t = 'a' * 1000000 %}{{ ([{'a': t}] * 9999)|groupby('a')|list|length }}",
  "parentheses without end": `{{ ${"(".repeat(50_000)}1${")".repeat(50_000)} }}`,
  "lists without end": `{{ ${"[".repeat(50_000)}${"]".repeat(50_000)} }}`,
  "ifs without end": `${"{% if 1 %}".repeat(9000)}${"{% endif %}".repeat(9000)}`,
  "not without end": `{{ ${"not ".repeat(30_000)}1 }}`,
  "sums without end": `{{ 1${" + 1".repeat(30_000)} }}`,
  "blanks without end": `${" ".repeat(100_000)}{% if 1 %}`,
  "a break with nothing to break": "{% break %}",
  "an unfinished tag": "{% if ",
  "an unknown tag": "{% nonsense %}",
  "an unknown filter": "{{ messages|nonsense }}",
  "too long a template": "x".repeat(200_000),
};

describe("a hostile template", () => {
  let growth = (): number => NaN;
  /** Each is rendered once, by whichever test asks first. */
  const outcomes = new Map<string, ReturnType<typeof failure>>();
  const outcomeOf = (source: string): ReturnType<typeof failure> => {
    const outcome = outcomes.get(source) ?? failure(source);
    outcomes.set(source, outcome);
    return outcome;
  };
  beforeAll(() => {
    growth = peakGrowth();
  });

  it.each(Object.entries(HOSTILE))("%s ends within a second, with a code", (_, source) => {
    const { code, milliseconds } = outcomeOf(source);
    expect(code).toBe("INPUT_TEMPLATE");
    expect(milliseconds).toBeLessThan(1000);
  });

  it("a large macro is made in every turn of a loop in a moment", () => {
    const macro = `{% macro m(x) %}${"{{ x }}".repeat(15_000)}{% endmacro %}`;
    const { code, milliseconds } = failure(`{% for i in range(2000) %}${macro}{% endfor %}`);
    expect(code).toBe("none");
    expect(milliseconds).toBeLessThan(1000);
  });

  it("parts of a long text are no list: slices, ends, and what is cut off", () => {
    const long = "'ab👍' * 20000";
    expect(render(`{% set t = ${long} %}{{ t[-2:] }}{{ t[:5:2] }}{{ t|first }}{{ t|last }}{{ t|truncate(6) }}`)).toBe(
      "b👍a👍ba👍ab👍...",
    );
    expect(render(`{% set t = ${long} %}{{ (t|reverse)[:2] }}{{ t[30000:30003] }}`)).toBe("👍bab👍");
  });

  it("does not take memory, all of the above together", { timeout: 60_000 }, () => {
    for (const source of Object.values(HOSTILE)) expect(outcomeOf(source).code).toBe("INPUT_TEMPLATE");
    expect(growth()).toBeLessThan(256 << 20);
  });

  it.each([
    "{{ messages.constructor }}",
    "{{ messages.__proto__ }}",
    "{{ messages[0].constructor.constructor('return 1')() }}",
    "{{ ''.constructor }}",
    "{{ messages[0].__proto__ }}",
    "{{ messages[0]['__proto__'] }}",
    "{{ messages[0]['hasOwnProperty'] }}",
    "{{ strftime_now.constructor }}",
    "{{ range.prototype }}",
    "{{ namespace.constructor }}",
    "{{ {}.constructor }}{{ {}['toString'] }}",
    "{{ process }}{{ globalThis }}{{ require }}{{ self }}{{ this }}",
    "{{ messages|attr('constructor') }}",
  ])("%s finds nothing", (source) => {
    const outcome = ((): string => {
      try {
        return render(source);
      } catch (error) {
        return error instanceof Error && "code" in error && error.code === "INPUT_TEMPLATE" ? "" : "wrong error";
      }
    })();
    expect(outcome).toBe("");
  });

  it("cannot change the conversation it is given", () => {
    const messages = [{ role: "user", content: "x" }];
    render("{% set messages = [] %}{% for m in messages %}{% set m = 1 %}{% endfor %}", messages);
    expect(messages).toEqual([{ role: "user", content: "x" }]);
  });

  it("can still be a long conversation", () => {
    const messages = Array.from({ length: 2000 }, (_, i) => ({
      role: i % 2 === 0 ? "user" : "assistant",
      content: "word ".repeat(100),
    }));
    const source =
      "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('x') }}{% endif %}<|{{ m.role }}|>\n{{ m.content | trim }}\n{% endfor %}";
    expect(render(source, messages).length).toBeGreaterThan(1_000_000);
  });
});

describe("the chat of a model", () => {
  const source = (tokens: readonly string[], more: readonly MetadataEntry[] = []) => ({
    name: "t",
    metadata: new Metadata("t", [
      stringEntry("tokenizer.ggml.model", "gpt2"),
      stringEntry("tokenizer.ggml.pre", "gpt-2"),
      stringsEntry("tokenizer.ggml.tokens", tokens),
      stringsEntry("tokenizer.ggml.merges", []),
      numberEntry("tokenizer.ggml.bos_token_id", "u32", 0),
      boolEntry("tokenizer.ggml.add_bos_token", true),
      ...more,
    ]),
  });
  const support = (...given: Parameters<typeof source>) =>
    chatSupport(source(...given), createTokenizer(source(...given)));

  it("is the file's own template", () => {
    const found = support(["<s>", "a"], [stringEntry("tokenizer.chat_template", "{{ bos_token }}!")]);
    expect(found.kind === "chat" && found.template.origin).toBe("file");
    expect(found.kind === "chat" && found.template.render(hello)).toBe("<s>!");
  });

  it("is one of several: by name, or the one for tools", () => {
    const key = "tokenizer.chat_template";
    const entries = [
      stringEntry(key, "first"),
      stringEntry(`${key}.tool_use`, "tools"),
      stringEntry(`${key}.rag`, "documents"),
    ];
    const file = source(["<s>", "a"], entries);
    expect(templateNames(file)).toEqual(["tool_use", "rag"]);
    const chosen = (choice: TemplateChoice): string => {
      const found = chatSupport(file, createTokenizer(file), choice);
      return found.kind === "chat" ? found.template.source : "";
    };
    expect(chosen({})).toBe("first");
    expect(chosen({ hasTools: true })).toBe("tools");
    expect(chosen({ hasTools: true, name: "default" })).toBe("first");
    expect(chosen({ name: "rag" })).toBe("documents");
    expect(() => chosen({ name: "x" })).toThrow(expect.objectContaining({ code: "INPUT_TEMPLATE" }));
  });

  it("is ChatML where the vocabulary speaks it", () => {
    const found = support(["a", "<|im_start|>", "<|im_end|>"]);
    expect(found.kind === "chat" && found.template.origin).toBe("chatml");
    expect(found.kind === "chat" && found.template.render(hello)).toBe(
      "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n",
    );
  });

  it("is none otherwise, said plainly", () => {
    expect(support(["a"])).toMatchObject({ kind: "none" });
  });

  it("does not begin twice", () => {
    const tokenizer = createTokenizer(source(["<s>", "a"], [stringEntry("tokenizer.chat_template", "x")]));
    const marked = source(["<eot>", "a"]);
    expect([...encodeRendered(createTokenizer(marked), "a")]).toEqual([0, 1]);
    expect(tokenizer.bos).toBe(0);
    const control = createTokenizer(
      source(["<|endoftext|>", "a"]), // a control token by its text
    );
    expect([...encodeRendered(control, "<|endoftext|>a")]).toEqual([0, 1]);
    expect([...control.encode("<|endoftext|>a")]).toEqual([0, 0, 1]);
  });
});
