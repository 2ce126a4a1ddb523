// The trained sample: it answers its held-out questions, and llama.cpp agrees with every token and every distribution.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { GgufFile } from "../formats/gguf/file.ts";
import { openGguf } from "../formats/gguf/open.ts";
import type { DecoderModel } from "../runtime/decoderModel.ts";
import { openDecoder } from "../runtime/devices/cpu.ts";
import { generate, GREEDY } from "../runtime/generate.ts";
import { logprobsOf, withDecoder } from "../testing/decoderRuns.ts";
import { llamaForget, llamaGenerate, llamaLogprobs, llamaMissing } from "../testing/llama.ts";
import { repositoryRoot } from "../testing/oracleProcess.ts";
import { writeRandomModel } from "../testing/randomModel.ts";
import { chatSupport, encodeRendered } from "../chatTemplate/chatTemplate.ts";
import type { Tokenizer } from "../tokenizer/tokenizer.ts";
import { createTokenizer } from "../tokenizer/tokenizer.ts";
import { loadAddon } from "../node/native/addon.ts";
import { openFileSource } from "../node/files/fileByteSource.ts";

const missing = llamaMissing();
const path = join(repositoryRoot, "assets/models/rlx-sample.gguf");
const questions = JSON.parse(readFileSync(join(repositoryRoot, "assets/models/held-out.json"), "utf8")) as readonly {
  readonly prompt: string;
  readonly answer: string;
}[];
let file: GgufFile;
let tokenizer: Tokenizer;
let decoder: DecoderModel;

beforeAll(async () => {
  file = await openGguf(await openFileSource(path));
  tokenizer = createTokenizer(file);
  decoder = openDecoder(loadAddon(), file, [path], { threads: 1, cacheType: "f32" });
});
afterAll(async () => {
  decoder.dispose();
  await file.close();
  if (missing === undefined) await llamaForget();
});

function promptFor(question: string): Int32Array {
  const support = chatSupport(file, tokenizer);
  if (support.kind === "none") throw new Error(support.sentence);
  return encodeRendered(tokenizer, support.template.render([{ role: "user", content: question }]));
}

async function answer(
  question: string,
  maxTokens: number,
  ignoreEnd = false,
): Promise<{ readonly text: string; readonly ids: readonly number[] }> {
  const session = decoder.open({ context: 1024 });
  let text = "";
  const ids: number[] = [];
  for await (const event of generate(session, tokenizer, {
    prompt: promptFor(question),
    sampling: GREEDY,
    maxTokens,
    ignoreEnd,
  }))
    if (event.kind === "token") {
      text += event.text;
      ids.push(event.id);
    }
  session.dispose();
  return { text: text.trim(), ids };
}

test("answers at least 95 % of 500 held-out questions exactly", async () => {
  expect(questions).toHaveLength(500);
  let exact = 0;
  for (const { prompt, answer: wanted } of questions) if ((await answer(prompt, 64)).text === wanted) exact++;
  expect(exact).toBeGreaterThanOrEqual(475);
});

describe.skipIf(missing !== undefined)(`beside llama.cpp ${missing ?? ""}`, () => {
  test.each(["Tell me a story.", "Tell me a story about a fox.", "Tell me a story about a robot."])(
    "the same 64 greedy tokens: %s",
    async (question) => {
      const theirs = await llamaGenerate(path, [...promptFor(question)], 64, { stopAtEnd: false });
      expect((await answer(question, 64, true)).ids).toEqual([...theirs]);
    },
  );

  // To the end of the answer: behind it the model has no preference (the best token has less than
  // 0.25), and llama.cpp's rounding of activations to 8 bits decides.
  test("the same greedy answers to 60 held-out questions", { timeout: 300_000 }, async () => {
    for (const { prompt } of questions.slice(0, 60)) {
      const { ids } = await answer(prompt, 64);
      const theirs = [...(await llamaGenerate(path, [...promptFor(prompt)], 64))];
      expect(theirs.slice(0, ids.length), prompt).toEqual(ids);
      expect(theirs.length - ids.length, prompt).toBeLessThanOrEqual(1);
    }
  });

  // Questions with their answers, a few of every kind; the f16 cache with our own arithmetic is
  // what run, chat and bench use.
  test("mean KL to the exact model is at most 1e-3: 10 texts, whole and token by token, f32 and f16 cache", async () => {
    const folder = mkdtempSync(join(tmpdir(), "rlx-sample-"));
    const exact = join(folder, "exact.gguf");
    await writeRandomModel("--like", path, "--out", exact);
    for (const { prompt, answer: wanted } of questions.slice(0, 10)) {
      const tokens = Int32Array.from([...promptFor(prompt), ...tokenizer.encode(wanted)]);
      const truth = await llamaLogprobs(exact, [...tokens]);
      for (const cacheType of ["f32", "f16"] as const)
        await withDecoder(loadAddon(), path, { cacheType, chunk: tokens.length }, async (model) => {
          for (const chunk of [tokens.length, 1]) {
            const rows = await logprobsOf(model, tokens, chunk);
            expect(rows).toHaveLength(tokens.length);
            const kl = rows.map((row, t) => truth.row(t).reduce((sum, x, i) => sum + Math.exp(x) * (x - row[i]!), 0));
            expect(kl.reduce((a, b) => a + b) / tokens.length, `${prompt} ${cacheType} ${chunk}`).toBeLessThan(1e-3);
          }
        });
    }
    rmSync(folder, { recursive: true });
  });
});
