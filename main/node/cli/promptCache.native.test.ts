// A prompt cache goes from one process to the next: the answer behind it is the one of a process that never stopped.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { StreamInputOf, StreamItemOf } from "../../contract/contract.ts";
import type { RunStats } from "../../contract/views/run.ts";
import { commandFolder, SAMPLE } from "../../testing/commandFolder.ts";
import type { Harness } from "../../testing/engineHarness.ts";
import { engineHarness } from "../../testing/engineHarness.ts";
import { rlxProcess } from "../../testing/rlxProcess.ts";

const { folder, home, words, command } = commandFolder();
const FIRST = "Once upon a time there was a cat. ".repeat(8);
const SECOND = `${FIRST}The cat went to the river`;

type Done = Extract<StreamItemOf<"run.start">, { readonly kind: "done" }>;

let here: Harness;
let other: Harness;
beforeAll(async () => {
  here = await engineHarness();
  other = await engineHarness();
});
afterAll(async () => {
  await here.done();
  await other.done();
});

async function asked(harness: Harness, model: string, text: string) {
  const input: StreamInputOf<"run.start"> = {
    model,
    prompt: { kind: "completion", text },
    sampling: { temperature: 0 },
    maxTokens: 12,
    context: 512,
  };
  const items = await harness.all("run.start", input);
  return {
    tokens: items.flatMap((item) => (item.kind === "token" ? [[item.token.id, item.token.logprob]] : [])),
    text: items.flatMap((item) => (item.kind === "token" ? [item.token.text] : [])).join(""),
    stats: items.find((item): item is Done => item.kind === "done")!.stats,
  };
}

it("saved in one engine, loaded in another and in a new process: the same answer, to the last bit", async () => {
  const source = { kind: "path", path: SAMPLE } as const;
  const [{ model }, { model: again }] = [
    await here.client.call("model.open", { source }),
    await other.client.call("model.open", { source }),
  ];
  const path = join(folder, "talk.rlxcache");
  await asked(here, model, FIRST);
  const saved = await here.client.call("prompt.save", { model, path, context: 512 });
  const wanted = await asked(here, model, SECOND);
  expect(saved.sentence).toMatch(/^\d+ tokens saved in \d/);

  const loaded = await other.client.call("prompt.load", { model: again, path, context: 512 });
  expect(loaded.tokens).toBe(saved.tokens);
  const got = await asked(other, again, SECOND);
  expect(got.tokens).toEqual(wanted.tokens);
  expect(got.stats.reusedTokens).toBe(wanted.stats.reusedTokens);
  expect(got.stats.reusedTokens).toBeGreaterThan(50);

  const line = `run FILE -p "${SECOND}" -n 12 --temperature 0 --context 512 --prompt-cache ${path} --prompt-cache-ro --json`;
  const process = await rlxProcess(words(line), { home });
  expect(process.code, process.err).toBe(0);
  const answer = JSON.parse(process.out) as { text: string; stats: { reusedTokens: number }; promptCache: object };
  expect([answer.text, answer.stats.reusedTokens]).toEqual([wanted.text, wanted.stats.reusedTokens]);
  expect(answer.promptCache).toMatchObject({ loaded: { tokens: saved.tokens }, saved: null });
});

it("a run writes a file that is not there yet, the next one goes on from it, and another model is refused", async () => {
  const path = join(folder, "run.rlxcache");
  const first = await command(`run FILE -p "${FIRST}" -n 2 --temperature 0 --prompt-cache ${path}`);
  expect(first.err).toMatch(/Prompt cache: \d+ tokens saved/);
  const second = await command(`chat FILE -m "Hello" -m "Go on" -n 2 --temperature 0 --prompt-cache ${path}`);
  expect([second.code, second.err]).toEqual([0, expect.stringMatching(/tokens loaded[^]*tokens saved/)]);
  const refused = await command(`run SLOW -p "x" -n 1 --prompt-cache ${path}`);
  expect([refused.code, refused.err]).toEqual([1, expect.stringMatching(/INPUT_CHANGED.*of another model/)]);
  const missing = await command(`run FILE -p "x" --prompt-cache ${folder}/none.rlxcache --prompt-cache-ro`);
  expect([missing.code, missing.err]).toEqual([1, expect.stringMatching(/INPUT_NOT_FOUND/)]);
  const alone = await command(`run FILE -p "x" --prompt-cache-ro`);
  expect([alone.code, alone.err]).toEqual([2, expect.stringMatching(/expected --prompt-cache/)]);
  expect(existsSync(join(folder, "none.rlxcache"))).toBe(false);
});

it("keeps to the type of the caches: the same answer in it, and another type is refused", async () => {
  const path = join(folder, "packed.rlxcache");
  const q8 = "--temperature 0 --context 512 --cache-type q8_0";
  const wanted = await command(`run FILE -p "${SECOND}" -n 12 ${q8} --json`);
  const first = await command(`run FILE -p "${FIRST}" -n 1 ${q8} --prompt-cache ${path}`);
  expect(first.err).toMatch(/Prompt cache: \d+ tokens saved/);
  const second = await command(`run FILE -p "${SECOND}" -n 12 ${q8} --prompt-cache ${path} --prompt-cache-ro --json`);
  const [got, alone] = [second, wanted].map(({ out }) => JSON.parse(out) as { text: string; stats: RunStats });
  expect(got?.text).toBe(alone?.text);
  expect(got?.stats.reusedTokens).toBeGreaterThan(50);
  for (const [type, said] of [
    ["", "f16"],
    ["--cache-type q4_0", "q4_0"],
  ]) {
    const refused = await command(`run FILE -p "${SECOND}" -n 1 --context 512 --prompt-cache ${path} ${type}`);
    expect([refused.code, refused.err]).toEqual([
      1,
      expect.stringMatching(new RegExp(`type of keys and values: got "q8_0", expected "${said}"`, "u")),
    ]);
  }
});

it("goes with a precision: its session is the run's", async () => {
  const path = join(folder, "mixed.rlxcache");
  const line = `run FILE -p "${FIRST}" -n 1 --temperature 0 --precision mixed --prompt-cache ${path}`;
  expect((await command(line)).err).toMatch(/Prompt cache: \d+ tokens saved/);
});

it("a device whose sessions end with their answer has none to save", async () => {
  const { model } = await here.client.call("model.open", { source: { kind: "path", path: SAMPLE } });
  const saving = here.client.call("prompt.save", { model, path: join(folder, "x"), device: "coreml-sim" });
  await expect(saving).rejects.toThrow(/coreml-sim, whose sessions end with their answer/);
});
