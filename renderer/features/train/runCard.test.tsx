// What a run says in each of its states: its buttons, the alarm with what to do, what it wrote, an error that a click mends.
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { StoreProvider } from "../../session/context.tsx";
import { createStoreOver } from "../../testing/openStore.ts";
import { RECIPES, trainingEngine } from "../../testing/training.ts";
import type { LiveRun } from "./live.ts";
import { fractionOf, newRun, withItem } from "./live.ts";
import { RunCard } from "./RunCard.tsx";
import { LayersCard } from "./TrainInspector.tsx";

const { store } = await createStoreOver(trainingEngine().options);
const markup = (run: LiveRun): string =>
  renderToStaticMarkup(
    <StoreProvider store={store}>
      <RunCard run={run} />
    </StoreProvider>,
  );

const [recipe] = RECIPES.recipes;
const [device] = RECIPES.devices;
const begun = withItem(newRun({ recipe: "linear" }, "A line", 0), {
  ...{ kind: "started", run: "run-1", title: "A line", recipe: "linear", device: "cpu", deviceTitle: "CPU" },
  ...{ update: device!.update, parameters: 3, trainedParameters: 3, data: "8 points.", from: 20, steps: 60 },
  memory: { value: 1, low: null, high: null, unit: "bytes", truth: "exact", basis: "" },
  settings: { ...recipe!.defaults, fields: {} },
});
const running = withItem(begun, {
  ...{ kind: "steps", step: Float64Array.of(30), loss: Float64Array.of(0.00012), rate: Float64Array.of(0.2) },
  ...{ norm: Float64Array.of(1), scale: Float64Array.of(1), stepsPerSecond: 12.5, memoryBytes: 1e6 },
  ...{ elapsedSeconds: 1, secondsLeft: 12 },
});
const buttons = (html: string): readonly string[] =>
  [...html.matchAll(/<button([^>]*)>([^<]+)<\/button>/gu)].map(
    ([, rest = "", text = ""]) => text + (rest.includes("disabled") ? " (off)" : ""),
  );

describe("a run", () => {
  it("says how far it is, with its numbers", () => {
    const html = markup(running);
    expect(html).toContain("Training: A line");
    expect(html).toContain("step 30 of 60, about 12\u202fs left");
    expect(html).toContain("1.2e-4");
    // It began at step 20.
    expect(fractionOf(running)).toBe(0.25);
  });

  it("has the buttons of its state", () => {
    const offered = (state: LiveRun["state"]): readonly string[] => buttons(markup({ ...running, state })).slice(0, 3);
    expect(offered("running")).toEqual(["Pause", "Stop", "Drop"]);
    expect(offered("pausing")).toEqual(["Pause (off)", "Stop", "Drop"]);
    expect(offered("paused")).toEqual(["Go on", "Stop", "Drop"]);
    expect(offered("stopping")).toEqual(["Pause (off)", "Stop (off)", "Drop"]);
    expect(offered("done")).not.toContain("Drop");
  });

  it("says what few bits cost, and what training on gave back", () => {
    const quantized = {
      ...{ weights: 2, activations: 4, step: 30, floats: { loss: 0.02, accuracy: 0.985 } },
      ...{ calibrated: { loss: 1.5, accuracy: 0.4 }, trained: null },
    };
    const calibrated = withItem(running, { kind: "quantized", quantized });
    expect(markup(calibrated)).toMatch(/calibrated at step 30<\/td><td>1.500<\/td><td>40\s%/u);
    expect(markup(calibrated)).not.toContain("trained on in few bits");
    const trained = { ...quantized, trained: { loss: 0.1, accuracy: 0.9 } };
    expect(markup(withItem(calibrated, { kind: "quantized", quantized: trained }))).toMatch(
      /trained on in few bits<\/td><td>0.1/u,
    );
  });

  it("names the operation of an alarm, and what to do", () => {
    const alarm = {
      ...{ step: 31, op: "softmax", place: "the loss", sentence: "The loss is no number." },
      advice: "Take a lower learning rate.",
    };
    const html = markup(withItem(running, { kind: "alarm", alarm }));
    expect(html).toContain('role="alert"');
    expect(html).toContain("First in softmax, in the loss. Take a lower learning rate.");
  });

  it("lists a file once, however often it was saved, and opens what can be opened", () => {
    const result: LiveRun["results"][number] = {
      ...{ what: "model", path: "/made/small.gguf", bytes: 4096, opens: "model", model: null, sentence: "A model." },
    };
    const saved = [30, 40].reduce((run, step) => withItem(run, { kind: "saved", step, result }), running);
    expect(saved.results).toEqual([result]);
    expect(buttons(markup(saved))).toContain("Open the result");
  });

  it("offers to write over a file that is there", () => {
    const error = { code: "INPUT_ARGUMENT", message: "[gguf] a.gguf exists already" } as const;
    expect(buttons(markup({ ...running, state: "failed", error }))).not.toContain("Write in its place");
    const there = { ...error, details: { exists: true } };
    expect(buttons(markup({ ...running, state: "failed", error: there }))).toContain("Write in its place");
  });
});

it("draws the gradient of each layer, with its length in words", () => {
  const norms = {
    step: 7,
    norms: [
      { layer: "blk.0", norm: 2 },
      { layer: "head", norm: Number.NaN },
    ],
  };
  const html = renderToStaticMarkup(<LayersCard norms={norms} />);
  expect(html).toContain("blk.0, 2.00: 100 %");
  expect(html).toContain("no number");
});
