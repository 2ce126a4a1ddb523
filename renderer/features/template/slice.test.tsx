/** The inspector over answers that are played: what is asked, what is shown of it, and what goes with the model. */
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { createStore } from "zustand/vanilla";
import type { Input } from "../../../main/contract/contract.ts";
import type { TemplateReportView } from "../../../main/contract/views/template.ts";
import { WorkbenchError } from "../../../main/diagnostics/errors.ts";
import { current } from "../../session/async.ts";
import { StoreProvider } from "../../session/context.tsx";
import { openSample } from "../../testing/openStore.ts";
import { TemplateInspector } from "./TemplateInspector.tsx";

const trip = { state: "same", family: "Hermes", sentence: "Read back.", written: "x", differences: [] } as const;
const REPORT: TemplateReportView = {
  about: {
    origin: "file",
    sentence: "Its own.",
    source: "",
    names: [],
    switches: ["enable_thinking"],
    callFamily: null,
  },
  samples: [{ id: "system", title: "System and user" }],
  ...{ text: "<|im_start|>user", refusal: null, tokens: [{ id: 7, text: "<|im_start|>", isSpecial: true }] },
  ...{ brokenMarks: ["<|im_end|>"], abilities: [], roundTrip: trip, against: null },
};
const figure = { value: 0.02, unit: "seconds", low: null, high: null, truth: "measured", basis: "" } as const;
const KEPT = { path: "/t/a.rlxcache", bytes: 5, tokens: 9, seconds: figure, sentence: "9 tokens saved in 20 ms." };

it("asks about the open model, shows text and marks that are no tokens, and forgets them with the model", async () => {
  const asked: object[] = [];
  const { get } = await openSample({
    calls: {
      "template.inspect": (input: Input<"template.inspect">) => (asked.push(input), REPORT),
      "prompt.save": (input: Input<"prompt.save">) => (asked.push(input), KEPT),
      "prompt.load": () => {
        throw new WorkbenchError("INPUT_CHANGED", "[prompt cache] it is of another model");
      },
    },
  });
  const model = current(get().model)?.model;
  await get().lookAtTemplate({ conversation: { kind: "sample", id: "system" } });
  expect(asked[0]).toMatchObject({ model, conversation: { kind: "sample", id: "system" } });
  const shown = renderToStaticMarkup(
    <StoreProvider store={createStore(() => get() as never)}>
      <TemplateInspector />
    </StoreProvider>,
  ).replace(/<[^>]+>/g, " ");
  expect(shown).toMatch(/Its own\.\s+1 token\.[^]*enable_thinking[^]*reads them as letters: &lt;\|im_end\|&gt;/);

  await get().savePromptCache("/t/a.rlxcache", { device: "cpu", context: 512 });
  expect(asked[1]).toMatchObject({ model, path: "/t/a.rlxcache", context: 512, overwrite: true });
  expect(current(get().promptCache)?.tokens).toBe(9);
  await get().loadPromptCache("/t/a.rlxcache", { device: "cpu", context: null });
  expect(get().promptCache).toMatchObject({ kind: "failed", error: { code: "INPUT_CHANGED" } });
  get().close();
  expect([get().templateLook.kind, get().promptCache.kind]).toEqual(["idle", "idle"]);
});
