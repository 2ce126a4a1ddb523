// Training through the store over an engine that trains: start, pause, go on, stop, drop, the list of runs, what is opened.
import { expect, it } from "vitest";
import { WorkbenchError } from "../../../main/diagnostics/errors.ts";
import { pause } from "../../engine/recorded/replay.ts";
import { current } from "../../session/async.ts";
import { createStoreOver, openSample } from "../../testing/openStore.ts";
import { trainingEngine } from "../../testing/training.ts";
import { differingSettings } from "./differences.ts";
import { isTraining } from "./live.ts";

async function windowOver(engine = trainingEngine()) {
  const opened = await createStoreOver(engine.options);
  await opened.get().loadTrainRecipes();
  return { ...opened, ...engine };
}

/** Until it is so, or the test's own time is over. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await pause(1);
}

it("trains without a model: a recipe, its curve, its validation, and a row in the list", async () => {
  const { get, asked } = await windowOver();
  expect(get().trainForm?.recipe).toBe("linear");
  await get().planTraining();
  expect(current(get().trainPlan)?.data).toBe("8 points, made here.");
  await get().startTraining();
  const run = get().trainRun;
  expect(asked).toEqual([{ recipe: "linear" }]);
  expect(run).toMatchObject({ state: "done", title: "Linear regression", ended: { steps: 60 } });
  expect([run?.curve.step.length, run?.validation.length, run?.norms?.norms.length]).toEqual([60, 6, 2]);
  expect(run?.curve.loss.at(-1)).toBeLessThan(run?.curve.loss[0] ?? 0);
  expect(current(get().trainRuns)?.runs).toMatchObject([{ state: "done", step: 60 }]);
  expect(get().lastCommand).toContain("rlx train");
});

it("is paused, goes on, and is stopped after its step", async () => {
  const { get } = await windowOver();
  get().setTrain({ numbers: { ...get().trainForm!.numbers, steps: "100000" } });
  const whole = get().startTraining();
  await until(() => (get().trainRun?.curve.step.length ?? 0) > 3);
  await get().startTraining();
  await get().pauseTraining();
  await until(() => get().trainRun?.state === "paused");
  const steps = get().trainRun?.curve.step.length;
  await pause(20);
  expect(get().trainRun?.curve.step.length).toBe(steps);
  await get().resumeTraining();
  await until(() => (get().trainRun?.curve.step.length ?? 0) > (steps ?? 0));
  await get().stopTraining();
  await whole;
  expect(get().trainRun?.state).toBe("stopped");
  expect(current(get().trainRuns)?.runs.map(({ state }) => state)).toEqual(["stopped"]);
});

it("is dropped at once, and says so", async () => {
  const { get } = await windowOver();
  get().setTrain({ numbers: { ...get().trainForm!.numbers, steps: "100000" } });
  const whole = get().startTraining();
  await until(() => (get().trainRun?.curve.step.length ?? 0) > 0);
  get().dropTraining();
  await whole;
  expect(get().trainRun).toMatchObject({ state: "dropped", error: null, ended: null });
});

it("goes on while other models are opened and closed", async () => {
  const engine = trainingEngine();
  const { get } = await openSample(engine.options);
  await get().loadTrainRecipes();
  get().setTrain({ numbers: { ...get().trainForm!.numbers, steps: "200" } });
  const whole = get().startTraining();
  await until(() => (get().trainRun?.started ?? null) !== null);
  get().close();
  await whole;
  expect(get().trainRun?.state).toBe("done");
});

it("shows the alarm and what to do", async () => {
  const { get } = await windowOver(trainingEngine({ alarmAt: 12 }));
  await get().startTraining();
  expect(get().trainRun).toMatchObject({ state: "failed", alarm: { step: 12, op: "softmax" } });
  expect(get().trainRun?.curve.loss.at(-1)).toBeNaN();
});

it("shows the form again where a run was refused before it began", async () => {
  const { get } = await createStoreOver({
    ...trainingEngine().options,
    streams: {
      // eslint-disable-next-line require-yield -- it is refused.
      async *"train.start"() {
        throw new WorkbenchError("INPUT_ARGUMENT", "[train] the file exists already", { details: { exists: true } });
      },
    },
  });
  await get().loadTrainRecipes();
  await get().startTraining();
  expect(get()).toMatchObject({
    trainFormShown: true,
    trainRun: { state: "failed", error: { code: "INPUT_ARGUMENT" } },
  });
  expect(isTraining(get())).toBe(false);
});

it("puts runs side by side, with the settings that differ, and forgets them", async () => {
  const { get } = await windowOver();
  await get().startTraining();
  get().setTrain({ numbers: { ...get().trainForm!.numbers, lr: "0.05" }, fields: { width: "4" } });
  await get().startTraining();
  const ids = current(get().trainRuns)!.runs.map(({ run }) => run);
  for (const id of ids) await get().toggleTrainRun(id);
  const runs = get().shownRuns.map((id) => get().runDetails[id]!);
  expect(differingSettings(runs)).toEqual([
    { name: "learning rate", values: ["0.05", "0.2"] },
    { name: "width", values: ["4", "3"] },
  ]);
  get().trainLike(runs[0]!.spec);
  expect(get().trainForm).toMatchObject({ numbers: { lr: "0.05" }, fields: { width: "4" } });
  await get().forgetTrainRun(ids[0]!);
  expect([get().shownRuns, current(get().trainRuns)?.runs.length]).toEqual([[ids[1]], 1]);
});

it("opens an adapter over the open model, and shows where it talks", async () => {
  const { get } = await openSample(trainingEngine().options);
  const model = current(get().model)?.file?.path ?? null;
  await get().openTrained({
    ...{ what: "adapter", path: "/made/a.gguf", bytes: 1, opens: "adapter", model, sentence: "An adapter." },
  });
  expect(get()).toMatchObject({ adapters: [{ path: "/made/a.gguf", scale: 1 }], tab: "run" });
});
