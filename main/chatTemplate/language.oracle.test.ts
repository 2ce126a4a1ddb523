/** The language itself, piece by piece, here and in Jinja2: what is written, and what is refused. */
import { describe, expect, it } from "vitest";
import { jinjaRender, oracleMissing } from "../testing/oracle.ts";
import { chatTemplate } from "./chatTemplate.ts";

const MESSAGES = [
  { role: "user", content: "  Hello, wörld 👍 " },
  { role: "assistant", content: 'it\'s <b>\n"x"' },
  { role: "user", content: "" },
];

const PIECES: Readonly<Record<string, readonly string[]>> = {
  "strips a set of characters": [
    "{{ '\n\n  x\n'.lstrip('\n') }}|{{ ' x\n\n'.rstrip('\n') }}|{{ '\n x \n'.strip('\n') }}",
    "{{ 'xyaxy'.strip('yx') }}{{ 'aab'.lstrip('a') }}{{ 'baa'.rstrip('a') }}{{ '👍x👍'.strip('👍') }}{{ 'aaa'.strip('a') }}",
    "[{{ '\u00a0\t x\u2003'.strip() }}][{{ '\ufeffx'.strip() }}][{{ ' x '.strip(none) }}][{{ ' x '|trim }}][{{ 'xyx'|trim('x') }}]",
    "{{ ' x'.strip(1) }}",
    "{{ ' x'.strip('a', 'b') }}",
  ],
  "has no tools and no documents where none are given": [
    "{% if tools is not none %}tools{% else %}none{% endif %}{{ tools is defined }}{{ documents }}",
    "{% if not tools is defined %}{% set tools = none %}{% endif %}{{ tools is none }}{{ tools|tojson }}",
    "{% for tool in tools %}{% endfor %}",
    "{{ tools|length }}",
  ],
  "writes values as Python does": [
    "{{ true }} {{ false }} {{ none }} {{ True }} {{ None }} {{ nothing }} {{ 1 }} {{ -2.5 }} {{ 3.0 }} {{ 1 == 1 }}",
    "{{ [1, 2.0, 'a', true, none, [], {}] }} {{ {'a': {'b': [1, 'x']}, \"it's\": false} }} {{ (1, 'a') }} {{ (1, 2) }}",
    "{{ messages }} {{ messages[0] }}",
    "{{ ['it\\'s', '\"', 'both \\' \"', '\\\\', 'a\nb\tc', '\x7f\u00ad\u2028\u3000', 'é 👍'] }}",
    "{{ [0.1, 0.00001, 0.0001, 123456789012345678.0, 1500.5] }} {{ 7 / 2 }} {{ 2 ** 0.5 }} {{ 10.0 ** 300 }} {{ -0.0 }}",
    "{{ 'abc' ~ messages[0] }} {{ 'a' ~ none ~ true ~ 1.0 ~ nothing ~ [1] }}",
    "{{ namespace(a=1, b='x') }} {{ [messages[0].nothing] }}",
    "{{ none|string }} {{ true|string }} {{ [1, 'a']|string }} {{ 1.0|string }} {{ [1, none, true, 'a', 2.0]|join('-') }}",
    "{{ messages[0].get('nothing') }} {{ 'x' if false }}",
    "{% set x = none %}{% if true %}{% set y = 1 %}{% endif %}{% macro m() %}a{% endmacro %}{{ m() }}",
  ],
  "refuses parts of what is undefined": [
    "{{ messages[5].role }}",
    "{{ messages[5]['role'] }}",
    "{{ nothing.a is defined }}",
    "{{ nothing.strip() }}",
    "{{ messages[0].nothing }}|{{ messages[5] }}|{{ messages[5] is defined }}",
    "{{ 1 % 0 }}",
    "{{ 'a' + 1 }}",
    "{{ nothing|tojson }}",
  ],
  "has the filters": [
    "{{ messages|count }} {{ 'wörld 👍'|count }} {{ {'a': 1}|count }} {{ '👍'|length }} {{ nothing|count }}",
    "{{ messages|map(attribute='content')|map('trim')|join('|') }} {{ ['a','b']|map('upper')|list }} {{ ['1','x']|map('int', 7)|list }}",
    "{{ ['a-b']|map('replace', '-', '+')|list }} {{ messages|map(attribute='nothing', default='d')|join }} {{ [[1,2],[3]]|map('first')|list }}",
    "{{ messages|selectattr('role', 'in', ['assistant', 'tool'])|list|length }} {{ messages|selectattr('role', 'equalto', 'user')|list|length }}",
    "{{ messages|rejectattr('role', 'ne', 'user')|list|length }} {{ messages|selectattr('content')|list|length }} {{ messages|selectattr('x', 'undefined')|list|length }} {{ messages|rejectattr('x', 'defined')|list|length }}",
    "{{ [1,2,3,4]|select('gt', 2)|list }} {{ [1,2,3]|reject('odd')|list }} {{ ['a', none, 1]|select('string')|list }} {{ [0, 1]|select|list }}",
    "{{ 'abc'|first }} {{ 'abc'|last }} {{ [3]|first }} {{ []|first }} {{ 'ab👍'|last }} {{ {'k': 1}|first }} {{ 'abc'|reverse }} {{ 'ab'|list }}",
    "{{ [3, 1, 2.5]|max }} {{ ['b', 'A']|min }} {{ ['b', 'A', 'C']|max }} {{ []|max }} {{ messages|map(attribute='role')|max }} {{ [{'a': 2}, {'a': 1}]|min(attribute='a') }}",
    "{{ [1, 2.5]|sum }} {{ [1, 2]|sum(start=10) }} {{ [{'a': 2}, {'a': 1}]|sum(attribute='a') }} {{ []|sum }}",
    "{{ [1, 2, 1, 'a', 'A', true]|unique|list }} {{ ['a', 'A']|unique(true)|list }}",
    "{{ 2.5|round }} {{ 3.5|round }} {{ 2.675|round(2) }} {{ 0.125|round(2) }} {{ 7|round }} {{ 2.1|round(method='ceil') }} {{ 2.19|round(1, 'floor') }} {{ -2.5|round }} {{ 1.005|round(2) }}",
    "{{ messages[1].content|escape }} {{ '<a>'|e }} {{ 5|escape }}",
    "{{ 'hELLO wORLD-foo'|title }} {{ 'hELLO'|capitalize }} {{ 'hELLO they\\'re'.title() }} {{ 'hELLO'.capitalize() }} {{ none|upper }}",
    "{{ '12'|int }} {{ '12abc'|int }} {{ '3.7'|int }} {{ -3.7|int }} {{ none|int }} {{ 'x'|float }} {{ '1.5'|float }} {{ 'x'|int(5) }} {{ true|int }}",
    "{{ ['a', 1]|max }}",
    "{{ ['a']|sum }}",
    "{{ messages|unique|list }}",
    "{{ [1]|map('nonsense')|list }}",
    "{{ [1]|select('nonsense')|list }}",
    "{{ none|first }}",
  ],
  "has the operators": [
    "{{ 'ab' * 3 }} {{ 2 * 'x' }} [{{ 'x' * -1 }}] {{ [1, 2] * 2 }} {{ '-' * 0 }}",
    "{{ 'a' < 'b' }} {{ 'a' >= 'b' }} {{ 'Z' < 'a' }} {{ '\uffff' < '👍' }} {{ 1 < 1.5 }} {{ 'a' <= 'ab' }}",
    "{{ '%s' % 'x' }} {{ '%s and %s' % ('a', 1) }} {{ '%d%%' % 5.7 }} {{ '%.2f' % 2.675 }} {{ '%05d|%-4s|%4s' % (42, 'a', 'b') }} {{ '%r' % 'a' }} {{ '%s' % [1, 'a'] }} {{ '%s' % none }}",
    "{{ -7 % 3 }} {{ 7 % -3 }} {{ 7.5 % 2 }} {{ -7 // 2 }}",
    "{{ 1 == '1' }} {{ '' == 0 }} {{ [1] == [1] }} {{ {'a': [1]} == {'a': [1.0]} }} {{ none == nothing }} {{ none == none }} {{ 1 == true }} {{ (1, 2) == [1, 2] }} {{ 'a' != 'b' }}",
    "{{ [1] in [[1], 2] }} {{ none in [none] }} {{ nothing in ['a'] }} {{ '1' in [1] }} {{ 'a' in {'a': 1} }} {{ 'a' not in 'cab' }} {{ 'a' in nothing }}",
    "{{ 'a' < 1 }}",
    "{{ '%s %s' % 'a' }}",
    "{{ '%s' % ('a', 'b') }}",
    "{{ '%d' % 'a' }}",
    "{{ 1 in 'a1' }}",
    "{{ 'a' * 1.5 }}",
  ],
  "has the methods of texts": [
    "{{ 'wö👍rld'.find('r') }} {{ 'a'.find('b') }} {{ 'aXbXc'.rfind('X') }} {{ 'banana'.count('an') }} {{ 'aaa'.count('aa') }} {{ '👍'.count('') }}",
    "{{ ', '.join(['a', 'b']) }} {{ '-'.join('abc') }} {{ ''.join([]) }}",
    "{{ '{} {}'.format('a', 1) }} {{ '{1}{0}{{x}}'.format('a', none) }} {{ '{name}'.format(name='n') }}",
    "{{ 'a.b.c'.rsplit('.', 1) }} {{ 'aaa'.rsplit('aa', 1) }} {{ ' a  b c '.rsplit() }} {{ ' a  b c '.rsplit(none, 1) }} {{ 'a,b'.rsplit(',') }}",
    "{{ 'prefix-x'.removeprefix('prefix-') }} {{ 'x.py'.removesuffix('.py') }} {{ 'x'.removesuffix('') }}",
    "{{ 'a\nb\r\nc\n'.splitlines() }} {{ 'a\n\nb'.splitlines(true) }} {{ ''.splitlines() }}",
    "{{ '12'.isdigit() }} {{ ''.isdigit() }} {{ '1a'.isdigit() }} {{ '²'.isdigit() }} {{ '٣'.isdigit() }}",
    "{{ 'a👍b'[1] }} {{ 'a👍b'[-1] }} {{ 'abc'[5] }} {{ 'a👍b'[1:] }}",
    "{% for c in 'ab👍' %}{{ c }},{% endfor %}{% for a, b in [(1, 2), [3, 4]] %}{{ a }}{{ b }};{% endfor %}",
    "{% for k, v in {'items': 1, 'b': 2}.items() %}{{ k }}={{ v }},{% endfor %}",
    "{{ {'a': 1} is iterable }} {{ (1, 2) is iterable }} {{ 1 is iterable }} {{ nothing is iterable }} {{ true is number }} {{ 1.0 is float }}",
    "{{ ', '.join(['a', 1]) }}",
    "{{ '{} {}'.format('a') }}",
    "{{ 'a'.rsplit('') }}",
  ],
  "asks what texts consist of": [
    "{{ 'ab'.isalpha() }}{{ 'a1'.isalpha() }}{{ 'é1'.isalnum() }}{{ ''.isalnum() }}{{ '½'.isnumeric() }}{{ '½'.isdecimal() }}{{ ' \t'.isspace() }}",
    "{{ 'aB'.islower() }}{{ 'a1'.islower() }}{{ 'A1'.isupper() }}{{ '1'.isupper() }}{{ 'aBé'.swapcase() }}",
    "{{ '5'.zfill(3) }}|{{ '-5'.zfill(4) }}|{{ 'ab'.ljust(4, '.') }}|{{ 'ab'.rjust(4) }}|{{ 'abc'.ljust(2) }}",
    "{{ 'a-b-c'.partition('-') }}{{ 'a-b-c'.rpartition('-') }}{{ 'a'.partition('-') }}{{ 'a'.rpartition('-') }}{{ '👍b'.index('b') }}{{ 'abab'.rindex('b') }}",
    "{{ 'a'.index('b') }}",
    "{{ 'a'.partition('') }}",
    "{{ 'a,b,c'.split(',', maxsplit=1) }}{{ 'a,b,c'.split(',') }}{{ ' a  b c '.split(none, 1) }}{{ ' a b '.split() }}{{ 'a,b'.split(',', 0) }}{{ ''.split(',') }}{{ ''.split() }}",
    "{{ 'a'.split('') }}",
  ],
  "has filters that few templates use": [
    "{{ nothing|d('q') }}{{ ''|d('q', true) }}{{ [1,2,3]|batch(2)|list }}{{ [1,2,3]|batch(2, 'x')|list }}{{ []|batch(2)|list }}{{ 'a b-c, d'|wordcount }}",
  ],
  "writes the date": [
    "{{ strftime_now('%j %-j [%Z] %Y %d') }}",
    "{{ strftime_now('%e %F %T %D %R %f %w %u %h %C %k %l %P %n%t%% %-e %-k') }}",
    "{{ strftime_now('%c|%x|%X|%r|%U|%W|%V|%G|%g|%_d|%_m|%^a|%^B|%#p|%0e|%-V|%') }}",
    "{{ strftime_now(5) }}",
    "{{ strftime_now() }}",
  ],
};

const missing = oracleMissing();
describe.skipIf(missing)(`the language of templates ${missing ?? ""}`, () => {
  const words = { bos: 0, eos: 1, tokenText: (id: number) => ["<BOS>", "<EOS>"][id] ?? "" };
  const outcome = async (render: () => string | Promise<string>): Promise<string> => {
    try {
      return await render();
    } catch (error) {
      return error instanceof Error ? "refused" : "";
    }
  };

  it.each(Object.entries(PIECES))("%s", async (_, pieces) => {
    const [ours, jinja]: [string[], string[]] = [[], []];
    for (const source of pieces) {
      const values = { messages: MESSAGES, tools: null, documents: null };
      jinja.push(`${source} → ${await outcome(() => jinjaRender(source, values))}`);
      const render = (): string => chatTemplate(source, words).render(MESSAGES, { now: new Date(2024, 6, 26) });
      ours.push(`${source} → ${await outcome(render)}`);
    }
    expect(ours).toEqual(jinja);
  });
});
