// Arguments of a call as they are written: begun by the tool's name, ended by the brace of the first one, however the text is cut.
import { describe, expect, it } from "vitest";
import { CallStream } from "./callStream.ts";

const call = (text: string) => ({ part: "call", text }) as const;

/** What comes of a text that is cut after every `size` letters. */
function told(
  stream: CallStream,
  text: string,
  size: number,
): { names: string[]; ids: (string | undefined)[]; arguments: string } {
  const all = { names: [] as string[], ids: [] as (string | undefined)[], arguments: "" };
  for (let at = 0; at < text.length; at += size)
    for (const delta of stream.push([call(text.slice(at, at + size))]))
      if (delta.kind === "arguments") all.arguments += delta.text;
      else {
        all.names.push(delta.name);
        all.ids.push(delta.id);
      }
  return all;
}

const GIVEN = '{"city": "a } \\" {", "list": [{"name": "x", "arguments": {}}]}';

describe("a call that is streamed", () => {
  it.each([1, 2, 3, 7, 1000])("gives its arguments as they stand, cut after %d letters", (size) => {
    const stream = new CallStream(["look"]);
    const text = `\n{"name": "look", "arguments": ${GIVEN}}\n`;
    expect(told(stream, text, size)).toEqual({ names: ["look"], ids: [undefined], arguments: GIVEN });
    stream.next();
    expect(told(stream, text, size).arguments).toBe(GIVEN);
  });

  it("takes the id that stands before the name, and the first call of a list", () => {
    const text = `[{"id": "abc", "name": "look", "parameters": ${GIVEN}}, {"name": "look", "parameters": {}}]`;
    expect(told(new CallStream(["look"]), text, 4)).toEqual({ names: ["look"], ids: ["abc"], arguments: GIVEN });
  });

  it.each([
    ["of a tool that there is not", `{"name": "other", "arguments": ${GIVEN}}`],
    ["in tags", `<function=look><parameter=city>{"name": "look", "arguments": {}}</parameter>`],
    ["with the name behind", `{"arguments": ${GIVEN}, "name": "look"}`],
    ["whose head does not end", `{"name": "look", ${" ".repeat(2000)}"arguments": {}}`],
  ])("comes whole %s", (_of, text) => {
    expect(told(new CallStream(["look"]), text, 5)).toEqual({ names: [], ids: [], arguments: "" });
  });
});
