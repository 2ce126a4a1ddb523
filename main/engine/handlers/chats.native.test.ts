// Variables of a template arrive as texts: JSON, or else a text.
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Harness } from "../../testing/engineHarness.ts";
import { engineHarness } from "../../testing/engineHarness.ts";
import { writeTinyGguf } from "../../testing/tinyGguf.ts";

const TEMPLATE = "{{ x is none }} {{ x is string }} {{ messages[0].content }}";

let engine: Harness;
let model: string;
beforeAll(async () => {
  engine = await engineHarness();
  const path = join(engine.folder, "chat.gguf");
  await writeTinyGguf(path, { template: TEMPLATE });
  ({ model } = await engine.client.call("model.open", { source: { kind: "path", path } }));
});
afterAll(() => engine.done());

const messages = [{ role: "user", content: "Hi" }] as const;
const rendered = async (asked: object): Promise<string | null> =>
  (await engine.client.call("chat.template", { model, messages: [...messages], ...asked })).rendered;

test.each([
  ["null", "True False Hi"],
  ["1", "False False Hi"],
  ['"null"', "False True Hi"],
  ["no JSON", "False True Hi"],
])("the variable %s", async (x, text) => {
  expect(await rendered({ variables: { x } })).toBe(text);
});
