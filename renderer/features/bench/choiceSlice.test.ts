// Files are opened for the time of a comparison only; its answer stands until the model is left.
import { expect, it } from "vitest";
import { current } from "../../session/async.ts";
import { benchResultOf, benchTestOf, SUBJECT } from "../../testing/bench.ts";
import { openSample } from "../../testing/openStore.ts";
import { PLAIN_TEXT } from "./choiceSlice.ts";

const far = { mean: 0.01, error: 0.001, median: 0.01, high: 0.1 };

it("compares the files that stand under in turn with, and closes them", async () => {
  const overview = current((await openSample()).get().model)!;
  let opened = 0;
  const closed: string[] = [];
  const asked: unknown[] = [];
  const { get } = await openSample({
    calls: {
      "model.open": () => ({ ...overview, model: `m${++opened}` }),
      "model.close": ({ model }) => {
        closed.push(model);
        return { ok: true };
      },
    },
    streams: {
      async *"quality.run"(input) {
        asked.push(input);
        const facts = { bytes: 1, bitsPerWeight: 8, perplexity: 9 };
        yield { kind: "start", reference: null };
        yield {
          ...{ kind: "done", tokens: 9, textTokens: 9 },
          files: [
            { ...facts, model: input.model, title: "a.gguf", divergence: null, sameTop: null },
            { ...facts, model: input.others[0] ?? "", title: "b.gguf", divergence: far, sameTop: 0.9 },
          ],
        };
      },
      async *"bench.run"({ model, others }) {
        const subjects = [model, ...others].map((each) => ({ ...SUBJECT, model: each }));
        const tests = [10, 20].map((rate, subject) => benchTestOf("tg", Array<number>(6).fill(rate), { subject }));
        yield benchResultOf(tests, { subjects });
      },
    },
  });
  await get().startChoice();
  expect(get().fileChoice.kind).toBe("idle");
  get().setBench({ otherModels: ["/models/b.gguf"] });
  await get().startChoice();
  expect(asked).toMatchObject([{ source: { kind: "text", text: PLAIN_TEXT } }]);
  expect(current(get().fileChoice)).toMatchObject({ tokens: 9, rows: [{ decode: 10 }, { decode: 20, close: true }] });
  expect(closed).toEqual(["m2"]);
});
