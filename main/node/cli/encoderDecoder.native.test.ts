/** An encoder-decoder on the command line: runs, both of its graphs, and what is refused because it has no conversations. */
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { commandFolder } from "../../testing/commandFolder.ts";
import { writeTinyTranslator } from "../../testing/tinyTranslator.ts";
import { openModel } from "../library/model.ts";

const { folder, command } = commandFolder();
const path = join(folder, "t5.gguf");
beforeAll(() => writeTinyTranslator(path));

interface Ran {
  readonly text: string;
  readonly stats: { readonly promptTokens: number; readonly generated: number };
}

it("rlx run writes what the library writes", async () => {
  const { code, out } = await command('run DIR/t5.gguf -p "abc de" --max-tokens 6 --temperature 0 --json');
  expect(code).toBe(0);
  const { text, stats } = JSON.parse(out) as Ran;
  const model = await openModel(path);
  const session = await model.openSession();
  let written = "";
  for await (const event of session.generate("abc de", { maxTokens: 6 }))
    if (event.kind === "token") written += event.text;
  const { length } = await model.encode("abc de");
  expect({ text, promptTokens: stats.promptTokens }).toEqual({ text: written, promptTokens: length });
  await expect(session.generate([{ role: "user", content: "hi" }]).next()).rejects.toMatchObject({
    code: "INPUT_TEMPLATE",
  });
  session.dispose();
  await model.close();
});

it("prefill is the encoder, decode a step of the decoder", async () => {
  const { out: read } = await command("graph DIR/t5.gguf --phase prefill --backend cpu --stage built");
  expect(read).toMatch(/input "length"[\s\S]*enc\.blk\.0[\s\S]*cross\.v\.1/u);
  const { out: step } = await command("graph DIR/t5.gguf --backend cpu --stage built");
  expect(step).toMatch(/input "source_length"[\s\S]*input "cross\.k\.0" : f32\[4,S,24\]/u);
  expect(step).not.toContain("enc.blk");
  const { out } = await command("inspect DIR/t5.gguf");
  expect(out).toContain("An encoder of 3 layers that reads a text, and a decoder of 2 layers that writes another.");
});

it("a chat, a score and an importance matrix are refused in words", async () => {
  const chat = await command("chat DIR/t5.gguf -m hi");
  expect([chat.code, chat.err]).toEqual([
    1,
    expect.stringMatching(/INPUT_TEMPLATE[\s\S]*an encoder-decoder[\s\S]*no conversation/u),
  ]);
  for (const line of [
    "score DIR/t5.gguf --text hello",
    "imatrix DIR/t5.gguf --text-file DIR/text.txt -o DIR/out.gguf",
  ]) {
    const refused = await command(line);
    expect([refused.code, refused.err], line).toEqual([1, expect.stringContaining("UNSUPPORTED_MODEL_KIND")]);
  }
});
