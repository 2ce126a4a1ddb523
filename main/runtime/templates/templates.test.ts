// What the inspector finds in small templates, and the texts that it takes from people.
import { describe, expect, it } from "vitest";
import { chatTemplate } from "../../chatTemplate/chatTemplate.ts";
import { toWireError } from "../../diagnostics/errors.ts";
import { finish } from "../../ir/steps.ts";
import { toolTemplate } from "../../testing/tinyGguf.ts";
import { PROBE_LIMITS, rendered, templateAbilities } from "./abilities.ts";
import { messagesIn, templateIn } from "./inspect.ts";
import { lineDiff } from "./lineDiff.ts";
import { callRoundTrip } from "./roundTrip.ts";
import { SAMPLE_CONVERSATIONS } from "./samples.ts";

const words = { bos: 0, eos: 1, tokenText: (id: number) => ["<BOS>", "<EOS>"][id] ?? "" };
const templateOf = (source: string) => chatTemplate(source, words, "file", PROBE_LIMITS);
const FIRST_ROLE = `{% for m in messages %}{% if m.role not in ['user', 'assistant'] %}{{ raise_exception('No ' ~ m.role ~ ' here.') }}{% endif %}{{ m.role }}: {{ m.content }}
{% endfor %}`;

const stateOf = (source: string) => {
  const found = finish(templateAbilities(templateOf(source)));
  return (id: string) => found.find((each) => each.id === id)!;
};

describe("what a template does with each role", () => {
  it("a role that it refuses, with its own sentence, and a beginning of the answer that it does not write", () => {
    const of = stateOf(FIRST_ROLE);
    expect(of("system")).toMatchObject({ state: "refused", sentence: "No system here." });
    expect(of("developer")).toMatchObject({ state: "refused", sentence: "No developer here." });
    expect(of("tools").state).toBe("left-out");
    expect(of("two-users").state).toBe("written");
    expect(of("generation-prompt").state).toBe("left-out");
  });

  it("a template that fails is no refusal, and one that never ends is stopped", () => {
    expect(stateOf("{{ messages[7].content }}")("system").state).toBe("failed");
    const endless = `{% for a in range(9999) %}{% for b in range(9999) %}{{ a }}{% endfor %}{% endfor %}`;
    expect(stateOf(endless)("system")).toMatchObject({ state: "failed" });
  });

  it("every sample conversation is refused with a sentence, or written", () => {
    for (const { id, messages } of SAMPLE_CONVERSATIONS) {
      const { text, refusal } = rendered(templateOf(FIRST_ROLE), messages);
      expect((text === null) !== (refusal === null), id).toBe(true);
    }
  });
});

describe("calls there and back", () => {
  it("the same, with the text that the model would write", () => {
    const trip = callRoundTrip(templateOf(toolTemplate), ["\n\n"]);
    expect(trip).toMatchObject({ state: "same", family: "Hermes", differences: [] });
    expect(trip.written).toContain('<tool_call>\n{"name": "get_weather"');
  });

  it("other arguments, a call that stays text, and one that is left out are told apart", () => {
    const cut = templateOf(toolTemplate.replace("{{ call.function|tojson }}", `{"name": "{{ call.function.name }}"}`));
    const trip = callRoundTrip(cut, []);
    expect(trip.state).toBe("different");
    expect(trip.differences.join("\n")).toMatch(/city: "Köln \\"a\\"" is read as nothing/);
    const broken = templateOf(toolTemplate.replace("</tool_call>{% endfor %}", "</tool_cal>{% endfor %} </tool_call>"));
    expect(callRoundTrip(broken, []).state).toBe("different");
    const ownForm = `{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}CALL {{ c.function.name }}{% endfor %}{% endfor %}`;
    expect(callRoundTrip(templateOf(ownForm), []).state).toBe("unknown");
    expect(callRoundTrip(templateOf(FIRST_ROLE), []).state).toBe("left-out");
    expect(callRoundTrip(templateOf(`{{ raise_exception('Never.') }}`), [])).toMatchObject({
      state: "refused",
      sentence: "The template writes no call: Never.",
    });
  });
});

describe("texts that people give", () => {
  it("a template, or JSON that holds one", () => {
    expect(templateIn("{{ messages }}")).toBe("{{ messages }}");
    expect(templateIn('{"chat_template": "{{ x }}"}')).toBe("{{ x }}");
    const named = [
      { name: "tool_use", template: "A" },
      { name: "default", template: "B" },
    ];
    expect(templateIn(JSON.stringify({ chat_template: named }))).toBe("B");
    for (const wrong of ['{"a": 1}', '{"chat_template": 7}', '{"chat'])
      expect(() => templateIn(wrong)).toThrow(/expected one with chat_template/);
  });

  it("a conversation in OpenAI's form; anything else is refused with what to write", () => {
    const call = { id: "a", type: "function", function: { name: "f", arguments: '{"x": 1}' } };
    const [message] = messagesIn(
      JSON.stringify({ messages: [{ role: "assistant", content: null, tool_calls: [call] }] }),
    );
    expect(message?.tool_calls).toEqual([{ ...call, function: { name: "f", arguments: { x: 1 } } }]);
    for (const wrong of [
      "",
      "[]",
      "{}",
      "[1]",
      '[{"role": 1}]',
      '[{"role": "user", "content": {}}]',
      '[{"role": "user", "content": [null]}]',
    ])
      try {
        messagesIn(wrong);
        expect.unreachable(wrong);
      } catch (error) {
        expect(toWireError(error)).toMatchObject({
          code: "INPUT_ARGUMENT",
          hint: expect.stringContaining("role") as string,
        });
      }
  });
});

describe("two texts line by line", () => {
  const shown = (a: string, b: string): string =>
    lineDiff(a, b)
      .map(({ kind, text }) => `${{ same: " ", removed: "-", added: "+" }[kind]}${text}`)
      .join("|");

  it("names what only one of them has, in order", () => {
    expect(shown("a\nb\nc", "a\nx\nc")).toBe(" a|-b|+x| c");
    expect(shown("a", "a")).toBe(" a");
    expect(shown("", "x")).toBe("-|+x");
    expect(shown("1\n2\n3\n4\n5", "0\n2\n4\n5\n6")).toBe("-1|+0| 2|-3| 4| 5|+6");
  });

  it("gives both texts back, however long they are", () => {
    const [a, b] = [0, 1].map((n) => Array.from({ length: 1500 }, (_, i) => `${(i * (7 + n)) % 13}`).join("\n")) as [
      string,
      string,
    ];
    const lines = lineDiff(a, b);
    const of = (...kinds: readonly string[]) =>
      lines
        .filter(({ kind }) => kinds.includes(kind))
        .map(({ text }) => text)
        .join("\n");
    expect([of("same", "removed"), of("same", "added")]).toEqual([a, b]);
  });
});
