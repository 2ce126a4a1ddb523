// The pass that changed the result of a graph in text: asked of its text, and chosen in the list of passes.
import { expect, it } from "vitest";
import { current } from "../../session/async.ts";
import { until } from "../../../main/testing/until.ts";
import { createStoreOver, openSample } from "../../testing/openStore.ts";
import { SAMPLE } from "../../testing/sample.ts";

it("bisects the open text in the chosen floats, and shows the pass that it found", async () => {
  const overview = current((await openSample()).get().model)!;
  const asked: unknown[] = [];
  const steps = [{ name: "legal", nodes: 3, hits: 1, change: 0.5, error: "Infinity" as const }];
  const { get } = await createStoreOver({
    calls: {
      "model.open": () => ({ ...overview, kind: "text" }),
      "text.source": () => ({ name: "a.rlx", file: null, text: "the text" }),
      "text.read": () => ({ diagnostics: [], types: [], graph: null }),
      "text.bisect": ({ text, name, device, precision }) => {
        asked.push([text, name, device, precision]);
        return { device, step: "legal", sentence: "The result changes after “legal” …", steps };
      },
    },
  });
  await get().open(SAMPLE);
  await until(() => current(get().passes) !== null);
  get().choosePass(current(get().passes)!.passes[0]!.name);
  get().setResultForm({ precision: "f16" });
  await get().bisectResult();
  expect(asked).toEqual([["the text", "a.rlx", "cpu", "f16"]]);
  expect([current(get().resultBisection)?.steps, get().passAt]).toEqual([steps, "legal"]);
  // It is of the floats that were asked for.
  get().setResultForm({ precision: "f32" });
  expect(get().resultBisection.kind).toBe("idle");
});

it("asks nothing of a model", async () => {
  const { get } = await openSample();
  await get().bisectResult();
  expect(get().resultBisection.kind).toBe("idle");
});
