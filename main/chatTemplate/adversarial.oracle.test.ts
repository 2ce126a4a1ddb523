/** Templates in the styles of the field, each with something awkward in it, here and in Jinja2. */
import { describe, expect, it } from "vitest";
import type { Json } from "../diagnostics/errors.ts";
import { jinjaRender, oracleMissing } from "../testing/oracle.ts";
import { chatTemplate } from "./chatTemplate.ts";
import type { ChatMessage } from "./chatTemplate.ts";

const TOOLS: readonly Json[] = [
  {
    type: "function",
    function: {
      name: "get_weather",
      description: "The weather\nof a place.",
      parameters: {
        type: "object",
        properties: {
          city: { type: "string", description: "A city <b>", enum: ["Bern", 'O"x'] },
          days: { type: ["integer", "null"], default: 1 },
          at: { type: "array", items: { type: "object", properties: { items: { type: "number" } } } },
        },
        required: ["city"],
      },
    },
  },
  { type: "function", function: { name: "now", description: "", parameters: { type: "object", properties: {} } } },
];
const call = (name: string, args: Json, id: string): Json => ({
  id,
  type: "function",
  function: { name, arguments: args },
});
const CONVERSATIONS: Readonly<Record<string, readonly ChatMessage[]>> = {
  plain: [
    { role: "system", content: " Be brief. \n" },
    { role: "user", content: "Hi 👍\n" },
    { role: "assistant", content: "<think>\nhm\n</think>\n\nHello" },
    { role: "user", content: [{ type: "text", text: "a" }, { type: "image" }, { type: "text", text: "b" }] },
  ],
  tools: [
    { role: "user", content: "Weather?" },
    {
      role: "assistant",
      content: null,
      reasoning_content: "Ask.",
      tool_calls: [call("get_weather", { city: "Bern", days: 2, at: [{ items: 1.5 }] }, "a1"), call("now", {}, "a2")],
    },
    { role: "tool", name: "get_weather", tool_call_id: "a1", content: '{"c": 21.5}' },
    { role: "tool", name: "now", tool_call_id: "a2", content: "noon" },
    { role: "assistant", content: "It is warm." },
    { role: "user", content: "Thanks" },
  ],
};

const TEMPLATES: Readonly<Record<string, string>> = {
  "a macro that writes types, recursively, as DeepSeek and GPT-OSS styles do": `
{%- macro type(spec, depth=0) -%}
  {%- if spec.type is sequence and spec.type is not string -%}{{ spec.type | join(' | ') }}
  {%- elif spec.type == 'array' -%}{{ type(spec['items'], depth + 1) }}[]
  {%- elif spec.type == 'object' -%}{ {% for k, v in spec.properties.items() %}{{ k }}{{ '?' if k not in (spec.required or []) }}: {{ type(v, depth=depth + 1) }}{{ ', ' if not loop.last }}{% endfor %} }
  {%- elif spec.enum is defined -%}{% for e in spec.enum %}{{ e | tojson }}{% if not loop.last %} | {% endif %}{% endfor %}
  {%- else -%}{{ spec.type | default('any') }}
  {%- endif -%}
{%- endmacro -%}
{% for tool in tools or [] %}type {{ tool.function.name }} = (_: {{ type(tool.function.parameters) }}) => any;
{% endfor %}`,
  "a macro with a caller around every turn": `
{%- macro turn(role, end='<|end|>') -%}<|{{ role }}|>{{ caller(role | upper) | trim }}{{ end }}
{% endmacro -%}
{% for m in messages %}{% call(shout) turn(m.role, end='</' ~ m.role ~ '>') %}  {{ shout }}: {{ m.content if m.content is string else m.content | tojson }}  {% endcall %}{% endfor %}`,
  "a namespace that counts, over nested loops": `{%- set ns = namespace(turns=0, last=none, parts=[]) -%}
{%- for m in messages -%}
  {%- if loop.changed(m.role) -%}{%- set ns.turns = ns.turns + 1 -%}{%- endif -%}
  {%- for c in (m.content or '') -%}{%- if c is mapping and c.type == 'image' -%}{%- set ns.parts = ns.parts + [loop.index0] -%}{%- endif -%}{%- endfor -%}
  {%- set ns.last = m -%}
{%- endfor -%}{{ ns.turns }}|{{ ns.parts }}|{{ ns.last.role }}|{{ ns.last['content'] is string }}`,
  "neighbours, cycles and positions": `{% for m in messages %}{{ loop.cycle('odd', 'even') }}:{{ loop.index }}/{{ loop.length }}:{{ (loop.previtem or {'role': 'start'}).role }}>{{ m.role }}>{{ loop.nextitem.role if loop.nextitem is defined else 'end' }}:{{ loop.revindex0 }}
{% endfor %}`,
  "the last user's place, by a slice that walks back": `{%- set ns = namespace(at=-1) -%}
{%- for m in messages[::-1] -%}{%- set i = (messages | length - 1) - loop.index0 -%}
{%- if ns.at < 0 and m.role == 'user' and not (m.content is string and m.content.startswith('<tool_response>')) -%}{%- set ns.at = i -%}{%- endif -%}{%- endfor -%}
{{ ns.at }} {{ messages[ns.at:] | map(attribute='role') | list }} {{ messages[:-1][-2:][0].role }} {{ messages[-1:0:-2] | map(attribute='role') | join(',') }}`,
  "reasoning cut out of the text": `{%- for m in messages -%}
{%- set content = m.content if m.content is string else '' -%}{%- set reasoning = '' -%}
{%- if m.reasoning_content is string -%}{%- set reasoning = m.reasoning_content -%}
{%- elif '</think>' in content -%}
{%- set reasoning = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') -%}
{%- set content = content.split('</think>')[-1].lstrip('\\n') -%}{%- endif -%}
[{{ reasoning }}][{{ content }}]{%- endfor -%}`,
  "calls written as XML, values by their kinds": `{%- for m in messages if m.tool_calls -%}{%- for tc in m.tool_calls -%}{%- set f = tc.function if tc.function is defined else tc -%}
<function={{ f.name }}>
{%- for k, v in f.arguments | items %}
<parameter={{ k }}>
{{ v | tojson | safe if v is mapping or (v is sequence and v is not string) else v | string }}
</parameter>
{%- endfor %}
</function>
{% endfor -%}{%- endfor -%}`,
  "JSON, indented, sorted, with other signs": `{{ tools | tojson(indent=2) }}
{{ (tools or [])[0] | tojson(indent=4, sort_keys=true) if tools }}
{{ messages[0] | tojson(separators=(',', ':')) }}{{ 'é<&' | tojson(ensure_ascii=true) }}{{ {'a': [1.0, none, true]} | tojson(indent=1) }}{{ [] | tojson(indent=2) }}`,
  "roles must take turns": `{%- for m in messages if m.role in ('user', 'assistant') -%}
{%- if (m.role == 'user') != (loop.index0 % 2 == 0) -%}{{ raise_exception('Roles must alternate, got ' ~ m.role) }}{%- endif -%}{{ m.role[0] }}{%- endfor -%}`,
  "the date": `{{ strftime_now('%d %b %Y') }}|{{ strftime_now("%Y-%m-%d") }}|{%- if strftime_now is defined %}{% set today = strftime_now('%A, %B %-d') %}{{ today | upper }}{% endif %}`,
  "white space under control": `
  {%- if messages %}

    {{- messages[0].role -}}

  {% endif +%}

  {% for m in messages -%}
      {{ loop.index }}
  {%- else %}none
  {% endfor %}
  {#- a comment -#}
	{% set x = 1 %}
 {{ x }}
`,
  "texts by their methods": `{% for m in messages %}{% set t = m.content if m.content is string else '' %}{{ t.strip().title() }}|{{ t.replace('\\n', '\\\\n') }}|{{ t.split() | length }}|{{ t.partition(' ')[0] }}|{{ t.upper().lower().capitalize() }}|{{ '%-8s|%03d' % (m.role, loop.index) }}|{{ '{:>10}'.format(m.role) }}|{{ m.role.center(12, '=') }}|{{ t[::-1][:4] }}
{% endfor %}`,
  "options of the conversation": `{% set enable_thinking = enable_thinking | default(true) %}{% set mode = (thinking_mode if thinking_mode is defined else 'auto') | lower %}{{ enable_thinking }}{{ mode }}{% if not add_generation_prompt is defined or add_generation_prompt %}{{ bos_token ~ '<|assistant|>' }}{{ '<think>\\n' if enable_thinking is true else '<think>\\n\\n</think>\\n\\n' }}{% endif %}`,
  "the system text taken off the front": `{% if messages[0]['role'] in ['system', 'developer'] %}{% set system, loop_messages = messages[0].content | trim, messages[1:] %}{% else %}{% set system %}You have {{ (tools or []) | length }} tools{% endset %}{% set loop_messages = messages %}{% endif %}<<{{ system }}>>{% for m in loop_messages %}{{ m.role }} {% endfor %}`,
  "tools in groups, sorted": `{% for kind, group in (tools or []) | groupby('type') %}{{ kind }}:{% for t in group | sort(attribute='function.name', reverse=true) %}{{ t.function.name }}({{ t.function.parameters.properties | dictsort | map('first') | join(', ') }});{% endfor %}{% endfor %}{{ (tools or []) | map(attribute='function.name') | map('replace', '_', '-') | list }}{{ (tools or []) | selectattr('function.description') | list | length }}`,
  "responses matched to their calls": `{% set calls = namespace(byId={}) %}{% for m in messages %}{% if m.tool_calls %}{% for c in m.tool_calls %}{% set calls.byId = dict(calls.byId, **{c.id: c.function.name}) %}{% endfor %}{% elif m.role == 'tool' %}{{ calls.byId[m.tool_call_id] }}={{ m.content }}{% if loop.last or loop.nextitem.role != 'tool' %}.{% else %};{% endif %}{% endif %}{% endfor %}`,
  "a schema walked by a recursive loop": `{% for name, spec in ((tools or [{'function': {'parameters': {'properties': {}}}}])[0].function.parameters.properties).items() recursive %}{{ '  ' * loop.depth0 }}- {{ name }} ({{ spec.type if spec.type is string else spec.type | join('/') }})
{% if spec['items'] is defined and spec['items'].properties is defined %}{{ loop(spec['items'].properties.items()) }}{% endif %}{% endfor %}`,
  "breaks and continues between texts": `{% for m in messages %}{% if m.role == 'tool' %}{% continue %}{% endif %}{{ m.role }}{% for c in m.role %}{% if c == 'e' %}{% break %}{% endif %}{{ c }}{% endfor %};{% if loop.index > 4 %}{% break %}{% endif %}{% endfor %}`,
  "conditions of every form": `{{ 'a' if messages and messages[0].role == 'system' and messages[0].content is defined else 'b' if tools is not none else 'c' }}{{ messages | selectattr('role', 'eq', 'tool') | list | length > 0 and not tools }}{{ (tools is defined and tools) is mapping }}{{ 1 < messages | length <= 6 }}{{ tools | length if tools }}{{ 'x' in messages[0] }}{{ 'content' in messages[0] and messages[0]['content'] is not none }}`,
  "blocks, with and filters around it all": `{% block header %}{% with name = 'x', n = messages | length %}{% filter indent(2, true) %}{{ name }}: {{ n }}
last{% endfilter %}{% endwith %}{% endblock %}{% block body %}{% for m in messages %}{{ m.role | truncate(4, true, '~', 0) }} {% endfor %}{% endblock %}{{ self.header() | trim }}`,
  "documents and a refusal in a branch not taken": `{% if documents %}{% for d in documents %}{{ d.title }}{% endfor %}{% elif tools and messages | length < 1 %}{{ raise_exception('never') }}{% else %}{{ documents is none }}{{ documents | default([], true) | length }}{% endif %}{%- for i in range(0, messages | length, 2) %}{{ i }}{{ messages[i].role if i < messages | length }}{% endfor %}`,
  "a joiner and a cycler": `{% set comma = joiner(', ') %}{% set side = cycler('L', 'R') %}{% for m in messages %}{{ comma() }}{{ side.next() }}{{ m.role }}{% endfor %}`,
};

const missing = oracleMissing();
describe.skipIf(missing)(`awkward templates ${missing ?? ""}`, () => {
  const words = { bos: 0, eos: 1, tokenText: (id: number) => ["<BOS>", "<EOS>"][id] ?? "" };
  const outcome = async (render: () => string | Promise<string>): Promise<string> => {
    try {
      return await render();
    } catch (error) {
      return error instanceof Error ? "refused" : "";
    }
  };

  it.each(Object.entries(TEMPLATES))("%s", async (_, source) => {
    const seen: string[] = [];
    for (const [name, messages] of Object.entries(CONVERSATIONS)) {
      const tools = name === "tools" ? TOOLS : null;
      const names = { add_generation_prompt: true, bos_token: "<BOS>", eos_token: "<EOS>" };
      const values = { tools, documents: null, messages: messages as never, ...names };
      const expected = await outcome(() => jinjaRender(source, values));
      const got = await outcome(() =>
        chatTemplate(source, words).render(messages, { tools, now: new Date(2024, 6, 26) }),
      );
      expect(got).toBe(expected);
      seen.push(expected);
    }
    expect(seen.some((text) => text !== "refused")).toBe(true);
  });
});
