/** Conversations in the form that a template takes, named templates, and what a template may be told. */
import { describe, expect, it } from "vitest";
import { chatTemplate } from "./chatTemplate.ts";
import type { ChatMessage } from "./chatTemplate.ts";
import { templateSwitches, writeConversation } from "./conversation.ts";

const words = { bos: 0, eos: 1, tokenText: (id: number) => ["<BOS>", "<EOS>"][id] ?? "" };
const write = (source: string, messages: readonly ChatMessage[], options = {}): string =>
  writeConversation(chatTemplate(source, words), messages, options);

const called: ChatMessage = {
  role: "assistant",
  content: "",
  tool_calls: [{ id: "c1", type: "function", function: { name: "f", arguments: { a: 1 } } }],
};

describe("a conversation", () => {
  it("hands arguments over as a dictionary, or as JSON to a template that joins texts", () => {
    const each = (what: string) => `{% for m in messages %}{% for c in m.tool_calls %}${what}{% endfor %}{% endfor %}`;
    expect(write(each("{{ c.function.arguments|tojson }}"), [called])).toBe('{"a": 1}');
    expect(write(each("{{ 'x' + c.function.arguments }}"), [called])).toBe('x{"a":1}');
    expect(() => write(each("{{ c.function.arguments.a + 'x' }}"), [called])).toThrow(
      expect.objectContaining({ code: "INPUT_TEMPLATE" }),
    );
  });

  it("hands contents over as the template takes them", () => {
    const joins = "{% for m in messages %}{{ 'x' + m.content }}{% endfor %}";
    expect(
      write(joins, [
        {
          role: "user",
          content: [
            { type: "text", text: "a" },
            { type: "text", text: "b" },
          ],
        },
      ]),
    ).toBe("xab");
    const walks =
      "{% for m in messages %}{% for p in m.content %}{% if p.type == 'text' %}{{ p.text }}{% endif %}{% endfor %}{% endfor %}";
    expect(write(walks, [{ role: "user", content: "ab" }])).toBe("ab");
    expect(() => write(joins, [{ role: "user", content: [{ type: "image" }] }])).toThrow(
      expect.objectContaining({ code: "INPUT_TEMPLATE" }),
    );
  });

  it("names what was thought as the template does", () => {
    const source = "{% for m in messages %}{{ message.thinking }}{{ m.thinking }}{% endfor %}";
    const message = { role: "assistant", content: "", reasoning_content: "hm" };
    expect(
      write(source.replace("{{ message.thinking }}", "{% set message = m %}{{ message.thinking }}"), [message]),
    ).toBe("hmhm");
  });

  it("hands tools, documents and variables over", () => {
    const source = "{{ tools|tojson }}{{ documents|tojson }}{{ enable_thinking }}";
    expect(write(source, [], { tools: [{ a: 1 }], documents: [2], variables: { enable_thinking: false } })).toBe(
      '[{"a": 1}][2]False',
    );
  });

  it("tells which switches a template has", () => {
    const source =
      "{% if enable_thinking is defined and not enable_thinking %}{% endif %}{{ message.thinking }}{{ x['thinking'] }} No thinking.";
    expect(templateSwitches(source)).toEqual(["enable_thinking"]);
  });
});
