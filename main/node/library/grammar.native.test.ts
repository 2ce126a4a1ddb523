// A grammar from the library and from the engine: whatever the model would say, the answer is a text of the grammar.
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Harness } from "../../testing/engineHarness.ts";
import { engineHarness } from "../../testing/engineHarness.ts";
import { openModel, sampleModel } from "./index.ts";
import type { Model, TextOptions } from "./index.ts";

let model: Model;
let engine: Harness;
beforeAll(async () => {
  model = await openModel(sampleModel());
  engine = await engineHarness();
});
afterAll(async () => {
  await model.close();
  await engine.done();
});

async function answer(sampling: TextOptions["sampling"]): Promise<{ readonly text: string; readonly reason: string }> {
  const session = await model.openSession({ context: 256 });
  let text = "";
  try {
    for await (const event of session.generate("What is 7 x 8?", { sampling: sampling ?? {}, maxTokens: 60 })) {
      if (event.kind === "token") text += event.text;
      if (event.kind === "done") return { text, reason: event.reason };
    }
  } finally {
    session.dispose();
  }
  throw new Error("no end");
}

test.each([
  ['root ::= "yes" | "no"', /^(yes|no)$/],
  ['root ::= "{" [a-z]{3} ": " [0-9]{2,4} "}"', /^\{[a-z]{3}: \d{2,4}\}$/],
  ['root ::= ("日本" | "é"){2}', /^(日本|é){2}$/],
])("%s", async (grammar, form) => {
  for (const temperature of [0, 1.5]) {
    const { text, reason } = await answer({ grammar, temperature, seed: 3 });
    expect(text).toMatch(form);
    expect(reason).toBe("stop");
  }
});

test("a JSON schema: the answer is JSON of its form", async () => {
  const jsonSchema = {
    type: "object",
    properties: { sum: { type: "integer", minimum: 10, maximum: 99 }, sure: { type: "boolean" } },
    required: ["sum", "sure"],
  };
  for (const schema of [jsonSchema, JSON.stringify(jsonSchema)]) {
    const { text, reason } = await answer({ jsonSchema: schema, temperature: 1.2, seed: 9 });
    expect(reason).toBe("stop");
    expect(JSON.parse(text)).toEqual({ sum: expect.any(Number) as number, sure: expect.any(Boolean) as boolean });
  }
  await expect(answer({ jsonSchema: false })).rejects.toMatchObject({ code: "INPUT_ARGUMENT" });
  await expect(answer({ jsonSchema: true, grammar: 'root ::= "a"' })).rejects.toThrow(/expected one of them/);
});

test("goes with every other step of the chain", async () => {
  const steps = { mirostat: 2, dryMultiplier: 1, frequencyPenalty: 0.5, logitBias: [{ token: "x", bias: 5 }] };
  expect((await answer({ grammar: "root ::= [a-z]{12}", temperature: 1, seed: 1, ...steps })).text).toMatch(
    /^[a-z]{12}$/,
  );
});

test("the engine's runs take it, and refuse a wrong one before anything runs", async () => {
  const { model: id } = await engine.client.call("model.open", { source: { kind: "path", path: sampleModel() } });
  const run = (grammar: string) =>
    engine.all("run.start", {
      model: id,
      prompt: { kind: "completion", text: "Once" },
      sampling: { grammar, seed: 5 },
      context: 128,
    });
  const items = await run('root ::= " upon" " a time"');
  expect(items.flatMap((item) => (item.kind === "token" ? [item.token.text] : [])).join("")).toBe(" upon a time");
  await expect(run('root ::= "a')).rejects.toMatchObject({
    code: "INPUT_ARGUMENT",
    message: expect.stringContaining("line 1, column 12") as string,
  });
});
