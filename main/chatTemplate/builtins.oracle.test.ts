/** What Jinja2 has built in, by its own lists: each is here, and says the same on values of all kinds. */
import { describe, expect, it } from "vitest";
import { ask, jinjaRender, oracleMissing } from "../testing/oracle.ts";
import { chatTemplate } from "./chatTemplate.ts";

const MESSAGES = [
  { role: "user", content: "  Hello, wörld 👍 ", n: 3 },
  { role: "assistant", content: 'it\'s <b>\n"x"', n: 1 },
  { role: "user", content: "", n: 2 },
];

/** Refused on purpose: links for web pages, and texts that mean nothing. */
const LEFT_OUT = { filters: ["urlize"], tests: [], globals: ["lipsum"] };

/** By construct. Each template is written here and by Jinja2. */
const PIECES: Readonly<Record<string, readonly string[]>> = {
  "filters of lists": [
    "{% for role, ms in messages|groupby('role') %}{{ role }}:{{ ms|length }};{% endfor %}{% for g in messages|groupby('n') %}{{ g.grouper }}{{ g.list[0].role }}{{ g[0] }}{{ g }}{% endfor %}",
    "{{ [{'a': 'B'}, {'a': 'b'}, {'a': 'A'}]|groupby('a') }}{{ [{'a': 'B'}, {'a': 'b'}]|groupby('a', case_sensitive=true) }}{{ [{'a': 1}, {}]|groupby('a', default=0) }}",
    "{{ [1,2,3,4,5,6,7]|slice(3)|list }}{{ [1,2,3,4]|slice(3, 'x')|list }}{{ []|slice(2)|list }}{{ 'abcd'|slice(2)|list }}{{ [1,2]|slice(4, 0)|list }}",
    "{{ [1,2,3]|slice(0)|list }}",
    "{{ -3|abs }}{{ -2.5|abs }}{{ true|abs }}{{ (-3)|abs }}",
    "{{ 'x'|abs }}",
    "{{ namespace(a=1)|attr('a') }}|{{ messages[0]|attr('role') }}|{{ messages[0]|attr('x') is defined }}",
    "{{ [5]|random }}{{ []|random is defined }}{{ [1, 2]|random in [1, 2] }}",
    "{{ nothing|length }}{{ nothing|first is defined }}{{ nothing|reverse|list }}{{ nothing|sort }}{{ nothing|join('x') }}{{ nothing|map('upper')|list }}{{ nothing|sum }}",
    "{{ {'b': 1, 'a': 2}|dictsort(true) }}{{ {'b': 1, 'a': 2}|dictsort(by='value', reverse=true) }}{{ messages|map(attribute='n')|sort(reverse=true) }}{{ messages|sort(attribute='role,n')|map(attribute='n')|list }}",
    "{{ [[1, [2]], [3]]|sum(start=[]) }}",
    "{{ {'b': 1, 'a': 2}.items()|sort }}{{ [(2, 'b'), (2, 'a'), (1, none), (1,)]|sort }}{{ [[1, 2], [1]]|max }}{{ [1, 2] < [1, 3] }}{{ [] >= [1] }}{{ [(1, 'x'), (1, 'X')]|min }}",
    "{{ [(1, none), (1, 2)]|sort }}",
    "{{ [none, none]|sort }}",
    "{{ [1] < (2,) }}",
    "{{ messages|groupby('nope') }}",
  ],
  "filters of texts": [
    "{{ 'foo bar baz qux'|truncate(9) }}|{{ 'foo bar baz qux'|truncate(9, true) }}|{{ 'foo bar baz qux'|truncate(11) }}|{{ 'foo bar baz qux'|truncate(11, false, '...', 0) }}|{{ 'foo bar'|truncate(3, leeway=0) }}|{{ '👍👍👍👍👍👍👍👍👍👍'|truncate(4, leeway=0) }}",
    "{{ 'abc'|truncate(2) }}",
    "{{ nothing|truncate(5) }}|{{ 'a\nb'|indent(true) }}|{{ 'ab'.rjust(true) }}|{{ 'ßa'.capitalize() }}{{ 'ﬁ ßa'.title() }}{{ 'ßa'|capitalize }}",
    "{{ 'a'|upper('x') }}",
    "{{ 'a'.upper(1) }}",
    "{{ 'a'.zfill() }}",
    "{{ ''|filesizeformat }}",
    "{{ 'abc defghijklm'|wordwrap(4) }}|{{ 'a-bc-defghi jk'|wordwrap(3) }}|{{ ('x' * 9)|wordwrap(2, false) }}|{{ '👍👍👍👍👍'|wordwrap(2) }}",
    "{{ 'the quick brown fox jumps over the lazy dog'|wordwrap(10) }}|{{ 'aaaaaaaaaaaaaaa bb'|wordwrap(5) }}|{{ 'aaaaaaaaaaaaaaa bb'|wordwrap(5, false) }}|{{ 'one-two three-four-five x'|wordwrap(6) }}|{{ 'one-two three-four'|wordwrap(6, break_on_hyphens=false) }}|{{ 'a b\n\nc   d e'|wordwrap(3, wrapstring='/') }}|{{ '  lead  and   trail  '|wordwrap(7) }}|{{ 'x--y and z---w a--b'|wordwrap(4) }}|{{ 'well-known e-mail 2-3 a-b-c-d'|wordwrap(5) }}",
    "{{ {'class': 'a b', 'id': none, 'x': nothing, 'n': 1, 'q': '<\"'}|xmlattr }}|{{ {'a': 1}|xmlattr(false) }}|{{ {}|xmlattr }}",
    "{{ {'a b': 1}|xmlattr }}",
    "{{ 'ab'|center(7) }}|{{ 'abc'|center(6) }}|{{ 'abcdef'|center(3) }}|{{ 'a'|center|length }}|{{ 'ab'.center(7, '*') }}|{{ 'abc'.center(8, '-') }}",
    "{{ '<p>Hi <b>you</b>  &amp; me</p><!-- c > -->x &lt;y&gt; &#65;&#x42;'|striptags }}|{{ 'a < b'|striptags }}",
    "{{ 'a b/c?d=é&👍'|urlencode }}|{{ {'a b': 'c/d', 'x': 1}|urlencode }}|{{ [('k', 'v w'), ('~', \"!'()*\")]|urlencode }}|{{ 5|urlencode }}",
    "{{ 0|filesizeformat }}|{{ 1|filesizeformat }}|{{ 999|filesizeformat }}|{{ 1000|filesizeformat }}|{{ 1500000|filesizeformat }}|{{ 1500000|filesizeformat(true) }}|{{ 1234567890123|filesizeformat }}|{{ '2048'|filesizeformat(binary=true) }}",
    "{{ '%s-%d'|format('a', 5) }}|{{ '%(x)s %(y)05.1f'|format(x='q', y=2.25) }}|{{ '%5s|%-5s|%+d|%x|%X|%#x|%o|%e|%g|%G'|format('a', 'b', 3, 255, 255, 255, 8, 12345.678, 0.00001234, 1e20) }}",
    "{{ '%s'|format('a', x=1) }}",
    "{{ 'aXbXc'|replace('X', '-') }}|{{ 'aXbXc'|replace('X', '-', 1) }}|{{ 'abc'|replace('', '.') }}|{{ 'abc'|replace('', '.', 2) }}|{{ 'abc'|replace('b', '$&') }}|{{ 11|replace(1, 2) }}|{{ 'aXbXc'.replace('X', '', 1) }}",
    "{{ '<a>'|forceescape }}|{{ '<a>'|e|forceescape }}|{{ '<a>'|e|e }}",
    "{{ nothing|default('a') }}|{{ none|default('a') }}|{{ none|default('a', true) }}|{{ ''|d('b', boolean=true) }}|{{ nothing|default(default_value='c') }}|[{{ nothing|default }}]",
    "{{ '0x1F'|int(base=16) }}|{{ '1f'|int(0, 16) }}|{{ '0b11'|int(0, 2) }}|{{ '077'|int(0, 8) }}|{{ 'zz'|int(7, 16) }}|{{ '1_000'|int }}|{{ ' 12 '|int }}|{{ '1e3'|int }}|{{ 'inf'|float }}|{{ '1e400'|int }}",
    "{{ 'x'|nonsense }}",
    "{{ {'b': [1, 2], 'a': 'x'}|pprint }}|{{ 'it'|pprint }}|{{ [1, none, true]|pprint }}",
  ],
  "tests with arguments": [
    "{{ 6 is divisibleby(3) }}{{ 6 is divisibleby 4 }}{{ 5 is not divisibleby 2 }}{{ 6 is divisibleby(3) and true }}",
    "{{ 1 is eq 1 }}{{ 1 is eq(2) }}{{ 2 is gt 1 }}{{ 2 is lessthan 1 }}{{ 'a' is in ['a'] }}{{ 'a' is not in 'bc' }}{{ 'x' is in {'x': 1} }}{{ 3 is ge 3 }}{{ 1 is ne 2 }}",
    "{{ none is sameas none }}{{ true is sameas true }}{{ 1 is sameas true }}{{ messages[0] is sameas messages[0] }}{{ messages[0] is sameas(messages[1]) }}{{ [] is sameas [] }}",
    "{{ 'upper' is filter }}{{ 'nonsense' is filter }}{{ 'odd' is test }}{{ 'gt' is test }}{{ 'nonsense' is test }}{{ 'a'|e is escaped }}{{ 'a' is escaped }}",
    "{{ range is callable }}{{ 'a' is callable }}{{ namespace is callable }}{% macro m() %}{% endmacro %}{{ m is callable }}",
    "{{ 'abc' is lower }}{{ '' is lower }}{{ '1' is lower }}{{ 'A1' is upper }}{{ 'aB' is upper }}{{ 12 is lower }}{{ 3.0 is odd }}{{ -3 is odd }}{{ 2.5 is even }}{{ true is odd }}",
    "{{ 1 is boolean }}{{ true is boolean }}{{ true is integer }}{{ 1.0 is integer }}{{ true is number }}{{ 1 is float }}{{ {} is mapping }}{{ namespace() is mapping }}{{ (1,) is sequence }}",
    "{{ 1 if x is defined and x is not none else 2 }}{{ not x is defined }}{{ messages[0].role is string and messages[0].role is eq 'user' }}{{ 'a' is string is defined }}",
    "{{ x is divisibleby 0 }}",
    "{{ 'a' is eq }}",
    "{{ messages|selectattr('n', 'divisibleby', 2)|map(attribute='n')|list }}{{ [1, 2, 3, 4]|reject('divisibleby', 2)|list }}{{ [none, 1]|select('sameas', none)|list }}{{ ['a', 'B']|select('upper')|list }}{{ messages|selectattr('content', 'in', ['', 'x'])|list|length }}",
  ],
  "what is global": [
    "{% set c = cycler('a', 'b', 'c') %}{{ c.next() }}{{ c.next() }}{{ c.current }}{{ c.next() }}{{ c.next() }}{% set _ = c.reset() %}{{ c.current }}{{ c.next() }}",
    "{% set j = joiner(', ') %}{% for x in [1, 2, 3] %}{{ j() }}{{ x }}{% endfor %}{% set k = joiner() %}[{{ k() }}{{ k() }}]",
    "{{ dict(a=1, b='x') }}{{ dict([('k', 2)], z=3) }}{{ dict({'q': 1}) }}{{ dict() }}{{ dict(a=1).a }}",
    "{% set ns = namespace({'a': 1}, b=2) %}{{ ns.a }}{{ ns.b }}{% set ns.a = ns.a + 5 %}{{ ns.a }}{{ ns['b'] }}",
    "{{ range(3)|list }}{{ range(2, 5)|list }}{{ range(5, 0, -2)|list }}{{ range(0)|list }}{% for i in range(2) %}{{ i }}{% endfor %}{{ range(5)|sum }}{{ range(3)|last }}",
    "{{ cycler() }}",
  ],
  "with, blocks and recursion": [
    "{% with a = 1, b = 'x' %}{{ a }}{{ b }}{% set c = 2 %}{{ c }}{% endwith %}[{{ a }}{{ c }}]",
    "{% set a = 'o' %}{% with a = a ~ '!', b = a %}{{ a }}{{ b }}{% endwith %}{{ a }}{% with %}{% set z = 1 %}{{ z }}{% endwith %}{{ z }}",
    "{% for x in [1, 2] %}{% with y = x * 2 %}{% if y == 4 %}{% break %}{% endif %}{{ y }}{{ loop.index }}{% endwith %}{% endfor %}",
    "{% with a, b = [1, 2] %}{{ b }}{{ a }}{% endwith %}",
    "a{% block one %}b{{ messages[0].role }}{% endblock %}c{% block two %}{% block inner %}d{% endblock inner %}{% endblock two %}{{ self.one() }}",
    "{% set x = 1 %}{% for i in [5] %}{% block b %}[{{ x }}{{ i }}]{% endblock %}{% block s scoped %}[{{ i }}]{% endblock %}{% endfor %}",
    "{% block a %}{% endblock %}{% block a %}{% endblock %}",
    "{% for x in [1] %}{% block a %}{% break %}{% endblock %}{% endfor %}",
    "{% for n in [{'v': 1, 'c': [{'v': 2, 'c': [{'v': 3}]}, {'v': 4}]}] recursive %}{{ loop.depth }}{{ loop.depth0 }}:{{ n.v }}{% if n.c %}({{ loop(n.c) }}){% endif %}{% if not loop.last %},{% endif %}{% endfor %}",
    "{% for k, v in {'a': {'b': {'c': 1}}}.items() recursive %}{{ k }}{% if v is mapping %}<{{ loop(v.items()) }}>{% else %}={{ v }}{% endif %}{% endfor %}",
    "{% for x in [[1, 2], []] recursive %}{{ loop(x) if x is iterable else x }}{% else %}none{% endfor %}",
    "{% for x in [1] %}{{ loop([2]) }}{% endfor %}",
    "{% for x in [1, 2, 3, 4] if x is even recursive %}{{ x }}{{ loop([6, 7]) if x == 2 }}{% endfor %}",
    "{% for m in messages %}{% if loop.changed(m.role) %}[{{ m.role }}]{% endif %}{{ loop.index }}{% endfor %}{% for x in [1, 1, 2] %}{{ loop.changed(x) }}{% endfor %}",
    "{% for x in 'abc' %}{{ loop.cycle('x', 'y') }}{{ loop.previtem }}{{ loop.nextitem }}{{ loop.revindex0 }}{% for y in [1] %}{{ loop.depth }}{% endfor %}{% endfor %}",
    "{% set x | upper | trim %} abc {% endset %}[{{ x }}]{% filter upper | replace('A', 'o') %}banana{% endfilter %}",
    "{% print 1, 'a' %}{% if messages: %}q{% endif %}{% for x in 1, 2, 3 %}{{ x }}{% endfor %}{{ 1, 2 }}{% set t = 1, %}{{ t }}{{ () }}{{ (1,) }}",
    "{% generation %}a{% set g = 1 %}{{ g }}{% endgeneration %}{{ g }}{%- generation -%} x {%- endgeneration -%} y",
    "{% if false %}{% include 'x' %}{% endif %}ok",
    "{% include 'x' %}",
    "{% extends 'x' %}",
    "{% nonsense %}",
    "{% if true %}",
    "{% endif %}",
    "{% if true %}{% endfor %}",
    "{% if true %}a{% else x %}b{% endif %}",
  ],
  "macros and their callers": [
    "{% macro m(a, b=a ~ '!', c=[b]) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(1) }}{{ m(1, c=2) }}{{ m(b=3) }}",
    "{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, x=3) }}{{ m() }}",
    "{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}",
    "{% macro m(a) %}{% endmacro %}{{ m(b=2) }}",
    "{% macro m() %}x{% endmacro %}{% call m() %}y{% endcall %}",
    "{% macro list(items) %}{% for i in items %}{{ caller(i, loop.index) }}{% endfor %}{% endmacro %}{% call(x, n=0) list(['a', 'b']) %}<{{ n }}{{ x }}>{% endcall %}",
    "{% macro f(n) %}{% if n > 0 %}{{ n }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(3) }}{{ f(2)|length }}{{ f(1) == '1' }}",
    "{% macro m(x) %}{% if x %}{{ caller() if caller }}{% else %}n{% endif %}{% endmacro %}{{ m(1) }}{% call m(1) %}C{% endcall %}{{ m(0) }}",
    "{% set args = [1, 2] %}{% set kw = {'c': 3} %}{% macro m(a, b, c) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(*args, **kw) }}{{ m(*[7], b=8, **{'c': 9}) }}",
    "{% set d = {'f': namespace} %}{{ d.f(a=1).a }}{% macro m() %}M{% endmacro %}{% set o = {'m': m} %}{{ o.m() }}{{ o['m']() }}{{ [m][0]() }}",
    "{% macro a() %}{% macro b() %}B{% endmacro %}{{ b() }}{% endmacro %}{{ a() }}{{ b is defined }}",
    "{% macro m(a=1, b) %}{% endmacro %}",
    "{% call 5 %}{% endcall %}",
  ],
  expressions: [
    "{{ 1 < 2 < 3 }}{{ 1 < 2 > 3 }}{{ 1 == 1 == 1 }}{{ 3 > 2 != 1 }}{{ 1 in [1] == true }}{{ not 1 == 2 }}",
    "{{ 1 + 2 * 3 ** 2 }}{{ -2 ** 2 }}{{ 2 ** 3 ** 2 }}{{ 7 // 2 * 2 }}{{ -7 // 2 }}{{ 2 ** -1 }}{{ 'a' ~ 1 + 1 if false else 'z' }}{{ true + 1 }}{{ 5 % 3 }}{{ -5 % 3 }}{{ 5.5 // 2 }}{{ 1 / 2 }}",
    "{{ 'a' ~ 1 ~ 'b' }}{{ 1 ~ 2 * 3 }}{{ [1] + [2] }}{{ (1, 2) + (3,) }}{{ (1,) * 2 }}{{ 'ab' * true }}",
    "{{ 1 + 2 ~ 'a' }}",
    "{{ [1] + (2,) }}",
    "{{ 'a' if 0 else 'b' if 0 else 'c' }}{{ 'a' if 1 }}{{ ('x' if 0) is defined }}{{ [x if x else 'n' for_ in []] if false }}",
    "{{ 'abcdef'[::-1] }}{{ 'abcdef'[1:4] }}{{ 'abcdef'[-3:] }}{{ 'abcdef'[::2] }}{{ 'abcdef'[4:1:-1] }}{{ 'abcdef'[:-1] }}{{ [1,2,3,4][::-1] }}{{ [1,2,3][-2:] }}{{ (1,2,3)[1:] }}{{ [1,2,3][5:] }}{{ [1,2,3,4,5][-1:-4:-2] }}{{ 'a👍b'[::-1] }}{{ messages[1:][0].role }}{{ [1,2,3][none:2] }}{{ [1,2,3][:] }}",
    "{{ [1,2][::0] }}",
    "{{ {'a': 1}[0:1] }}",
    "{{ [1, 2].0 }}{{ [[3, 4]].0.1 }}{{ 'ab'.1 }}{{ messages.0.role }}{{ [1, 2][true] }}{{ [1]['x'] is defined }}{{ [1, 2][-1] }}{{ [1][5] is defined }}",
    "{{ 1_000 }}{{ 0x1f }}{{ 0b101 }}{{ 0o17 }}{{ 1e3 }}{{ 1.5e-3 }}{{ 2E2 }}{{ 00 }}",
    "{{ 'a\\tb\\x41\\u00e9\\'\\\"\\\\' }}{{ \"it's\" }}{{ 'a' 'b' \"c\" }}{{ '\\d' }}{{ '\\101' }}{{ '\\U0001F44D' }}",
    "{{ '\\x4' }}",
    "{{ [1, 2,] }}{{ {'a': 1,} }}{{ range(3,)|list }}{{ {'a': {'b': [1, {'c': 2}]}}.a.b[1].c }}{{ {1: 'x', 'k': none, none: 1} if false }}",
    "{{ [1 2] }}",
    "{{ 1 | string | length }}{{ -1|abs }}{{ (1, 2)|first }}{{ 'a,b'.split(',')|last|upper }}{{ ('a' ~ 'b')|upper ~ 'c' }}{{ not 'a'|length == 1 }}",
    "{{ true = 1 }}",
    "{% set true = 1 %}",
    "{% set a.b = 1 %}",
    "{% set (a, b), c = [[1, 2], 3] %}{{ a }}{{ b }}{{ c }}{% set ns = namespace() %}{% set ns.x, y = 1, 2 %}{{ ns.x }}{{ y }}",
    "{% for (a, b), c in [[[1, 2], 3]] %}{{ a }}{{ b }}{{ c }}{% endfor %}",
    "{{ 1 ! 2 }}",
    "{{ }}",
    "{{ 'a' 1 }}",
    "{{ a.b.c if a is defined else 'no' }}{{ a and a.b }}{{ (a or {}).b }}|{{ a.b is defined if a else 'n' }}",
  ],
  methods: [
    "{{ 'Hello'.startswith('He') }}{{ 'Hello'.startswith(('x', 'H')) }}{{ 'Hello'.endswith('lo') }}{{ 'Hello'.startswith('l', 2) }}{{ 'Hello'.endswith('l', 0, 4) }}{{ 'a'.startswith('') }}",
    "{{ 'banana'.find('a', 2) }}{{ 'banana'.rfind('a', 0, 4) }}{{ 'banana'.count('a', 2) }}{{ 'banana'.index('n', 3) }}{{ '👍banana'.find('a') }}{{ 'banana'.find('a', -2) }}{{ 'abc'.find('', 9) }}",
    "{{ 'a\tb\tc'.expandtabs(4) }}{{ 'Straße'.casefold() }}{{ 'Hello World'.istitle() }}{{ 'ab'.isascii() }}{{ 'a\n'.isprintable() }}{{ 'a_1'.isidentifier() }}{{ '1a'.isidentifier() }}{{ 'Ab'.title() }}",
    "{{ '{:>5}|{:<5}|{:^5}|{:05d}|{:.2f}|{:,}|{!r}|{:x}|{:+}|{:*^7}|{:.3}'.format('a', 'b', 'c', 42, 3.14159, 1234567, 'q', 255, 3, 'm', 'abcdef') }}",
    "{{ '{0[a]}{0.a}{1[0]}{x}'.format({'a': 1}, [5], x='y') }}{{ '{:.1%}|{:e}|{:g}|{:b}|{:#x}|{:_}'.format(0.256, 1234.5, 0.0001, 5, 255, 1000000) }}",
    "{{ '{:d}'.format('a') }}",
    "{{ [1, 2, 1].count(1) }}{{ ['a', 'b'].index('b') }}{{ (1, 2).count(2) }}{{ {'a': 1}.copy() }}{{ [1].copy() }}{{ {'a': 1, 'b': 2}.keys()|list }}{{ {'a': 1}.values()|list }}{{ {'a': 1}.items()|list }}",
    "{{ ['a'].append('b') }}",
    "{{ {'a': 1}.pop('a') }}",
    "{{ {'a': 1}.update({'b': 2}) }}",
    "{{ ['a'].index('z') }}",
    "{{ 'a'.nonsense() }}",
    "{{ {'items': [1], 'keys': 2}['items'] }}{{ {'get': 5}['get'] }}{% for k, v in {'items': 1}.items() %}{{ k }}{{ v }}{% endfor %}",
    "{{ '%s' % 'a' }}{{ '%s %s' % ('a', 'b') }}{{ '%5.1f|%-6d|%06.2f|% d' % (3.14159, 42, 2.5, 7) }}{{ '%(a)s' % {'a': 1} }}{{ '%c' % 'x' if false }}",
  ],
};

const missing = oracleMissing();
describe.skipIf(missing)(`what Jinja2 has built in ${missing ?? ""}`, () => {
  const words = { bos: 0, eos: 1, tokenText: (id: number) => ["<BOS>", "<EOS>"][id] ?? "" };
  const outcome = async (render: () => string | Promise<string>): Promise<string> => {
    try {
      return JSON.stringify(await render());
    } catch {
      return "refused";
    }
  };

  it.each(Object.entries(PIECES))("%s", async (_, templates) => {
    const [ours, jinja]: [string[], string[]] = [[], []];
    for (const source of templates) {
      const values = { messages: MESSAGES, tools: null, documents: null };
      jinja.push(`${source} → ${await outcome(() => jinjaRender(source, values))}`);
      ours.push(`${source} → ${await outcome(() => chatTemplate(source, words).render(MESSAGES))}`);
    }
    expect(ours).toEqual(jinja);
  });

  it("names every filter, test and global", async () => {
    const names = (await ask("jinja.names")) as Readonly<Record<keyof typeof LEFT_OUT, readonly string[]>>;
    const render = (source: string): string => chatTemplate(source, words).render(MESSAGES);
    const isKnown = (kind: string, name: string): boolean => render(`{{ '${name}' is ${kind} }}`) === "True";
    expect(names.filters.filter((name) => !isKnown("filter", name))).toEqual(LEFT_OUT.filters);
    expect(names.tests.filter((name) => !isKnown("test", name))).toEqual(LEFT_OUT.tests);
    expect(names.globals.filter((name) => render(`{{ ${name} is defined }}`) !== "True")).toEqual(LEFT_OUT.globals);
  });
});
