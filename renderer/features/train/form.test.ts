// The form as a spec: only what differs from the recipe, and in sentences what is wrong.
import { describe, expect, it } from "vitest";
import { trainSpec } from "../../../main/contract/views/train.ts";
import { LINEAR, LORA, RECIPES } from "../../testing/training.ts";
import type { AskedWith, TrainForm } from "./form.ts";
import { askedOf, formOf, formOfSpec, SCHEDULES } from "./form.ts";
import { NEW_GROUP } from "./groups.ts";
import { numberProblem } from "./numbers.ts";

const WITH: AskedWith = { recipe: LINEAR, optimizers: RECIPES.optimizers, open: null, suggestedPath: null };
const LINE = formOf(LINEAR);
const ADAPTER = formOf(LORA);
const asked = (form: TrainForm, part: Partial<AskedWith> = {}) => askedOf(form, { ...WITH, ...part });
const specOf = (form: TrainForm, part: Partial<AskedWith> = {}) => {
  const answer = asked(form, part);
  if (!answer.ok) throw new Error(JSON.stringify(answer.problems));
  return answer.spec;
};
const problemsOf = (form: TrainForm, part: Partial<AskedWith> = {}) => {
  const answer = asked(form, part);
  return answer.ok ? {} : answer.problems;
};
const typed = (form: TrainForm, numbers: Partial<TrainForm["numbers"]>): TrainForm => ({
  ...form,
  numbers: { ...form.numbers, ...numbers },
});

describe("a spec", () => {
  it("of a recipe as it is names the recipe alone", () => {
    expect(specOf(LINE)).toEqual({ recipe: "linear" });
  });

  it("names what was changed, and is one that the contract takes", () => {
    const changed: TrainForm = {
      ...typed(LINE, { steps: "200", lr: "1e-3", clipNorm: "1", warmUp: "5", to: "0.0001", seed: "7" }),
      ...{ schedule: "cosine", optimizer: "adamw", options: { beta1: "0.95" }, precision: "mixed", fused: false },
      ...{ fields: { width: "5" }, title: " A line ", data: "'/data/points.npz'", checkpoint: "/kept/run.safetensors" },
    };
    const spec = specOf(changed);
    expect(spec).toEqual({
      ...{ recipe: "linear", title: "A line", data: { kind: "path", path: "/data/points.npz" }, steps: 200, lr: 0.001 },
      ...{ optimizer: { name: "adamw", options: { beta1: 0.95 } }, precision: "mixed", fused: false, seed: 7 },
      ...{ schedule: { kind: "cosine", warmUp: 5, to: 0.0001 }, clip: { norm: 1 }, fields: { width: 5 } },
      checkpoint: { path: "/kept/run.safetensors", every: 0 },
    });
    expect(trainSpec.parse(spec)).toEqual(spec);
  });

  it("comes back as the form that it was made of", () => {
    const changed: TrainForm = {
      ...typed(LINE, { batch: "4", lr: "0.05", validationEvery: "3", normsEvery: "0", factor: "0.1", everySteps: "9" }),
      ...{ schedule: "step", optimizer: "adamw", options: { beta2: "0.99" }, fields: { width: "2" } },
    };
    const spec = specOf(changed);
    expect(specOf(formOfSpec(LINEAR, spec))).toEqual(spec);
  });

  it("names groups, batches of an update and the average, and comes back with them", () => {
    const changed: TrainForm = {
      ...typed(LINE, { accumulate: "4", average: "0.99" }),
      groups: [
        { names: "embed, head.*", rank: "", optimizer: "", options: {}, lr: "1e-4" },
        { names: "", rank: "2", optimizer: "adamw", options: { beta1: 0.8 }, lr: "" },
      ],
    };
    const spec = specOf(changed);
    expect(spec).toEqual({
      ...{ recipe: "linear", accumulate: 4, average: 0.99 },
      groups: [
        { names: ["embed", "head.*"], lr: 0.0001 },
        { rank: 2, optimizer: { name: "adamw", options: { beta1: 0.8 } } },
      ],
    });
    expect(trainSpec.parse(spec)).toEqual(spec);
    expect(specOf(formOfSpec(LINEAR, spec))).toEqual(spec);
    const wrong = {
      ...LINE,
      groups: [
        { ...NEW_GROUP, rank: "", lr: "fast" },
        { ...NEW_GROUP, rank: "9" },
      ],
    };
    expect(problemsOf(wrong)).toEqual({
      "group:0:names": "Say which parameters: parts of their names, or a rank.",
      "group:0:lr": "“fast” is no number.",
      "group:1:rank": "At most 8.",
    });
  });

  it("asks for few bits where those of weights are filled in, and never over a model's file", () => {
    const few = { activationBits: "6", quantizeAfter: "40", calibrationBatches: "3" };
    expect(specOf(typed(LINE, few))).toEqual({ recipe: "linear" });
    const spec = specOf(typed(LINE, { ...few, weightBits: "4" }));
    expect(spec).toEqual({ recipe: "linear", quantize: { weights: 4, activations: 6, after: 40, batches: 3 } });
    expect(trainSpec.parse(spec)).toEqual(spec);
    expect(specOf(formOfSpec(LINEAR, spec))).toEqual(spec);
    expect(problemsOf(typed(LINE, { weightBits: "1", activationBits: "20" }))).toEqual({
      ...{ weightBits: "At least 2.", activationBits: "At most 16." },
    });
    const model = { kind: "path", path: "/m.gguf" } as const;
    expect(specOf({ ...typed(ADAPTER, { weightBits: "4" }), model: model.path }, { recipe: LORA })).toEqual({
      ...{ recipe: "lora", model },
    });
  });

  it("of each schedule is one that the contract takes", () => {
    for (const schedule of Object.keys(SCHEDULES) as (keyof typeof SCHEDULES)[]) {
      const spec = specOf({ ...LINE, schedule });
      expect(trainSpec.parse(spec).recipe).toBe("linear");
    }
  });

  it("writes to the path that was typed, else to the one that the plan suggests", () => {
    const writes: TrainForm = { ...LINE, writes: true };
    expect(specOf(writes)).not.toHaveProperty("output");
    expect(specOf(writes, { suggestedPath: "/a.safetensors" }).output).toEqual({
      ...{ path: "/a.safetensors", overwrite: false },
    });
    expect(specOf({ ...writes, output: "/b", overwrite: true }, { suggestedPath: "/a" }).output).toEqual({
      ...{ path: "/b", overwrite: true },
    });
  });
});

describe("the model of a spec", () => {
  const open = { model: "m1", file: { path: "/models/a.gguf" } } as unknown as NonNullable<AskedWith["open"]>;
  const of = (form: TrainForm, model: AskedWith["open"]) => specOf(form, { recipe: LORA, open: model }).model;

  it("is the open one by its path, so that it can be closed; a file that was sent here by its handle", () => {
    expect(of(ADAPTER, { ...open, argument: "/models/a.gguf" })).toEqual({ kind: "path", path: "/models/a.gguf" });
    expect(of(ADAPTER, { ...open, argument: null })).toEqual({ kind: "open", model: "m1" });
    expect(of({ ...ADAPTER, model: "/b.gguf" }, { ...open, argument: null })).toEqual({
      kind: "path",
      path: "/b.gguf",
    });
  });

  it("is missed where there is none", () => {
    expect(problemsOf(ADAPTER, { recipe: LORA })).toEqual({ model: "Open a model, or name the path of one." });
  });
});

describe("what is wrong", () => {
  it("stands beside its field, all of it at once", () => {
    const wrong: TrainForm = {
      ...typed(LINE, { steps: "0", batch: "1.5", lr: "fast", clipValue: "0", seed: "" }),
      ...{ fields: { width: "65" }, options: { momentum: "much" } },
    };
    expect(problemsOf(wrong)).toEqual({
      steps: "At least 1.",
      batch: "This has to be a whole number.",
      lr: "“fast” is no number.",
      clipValue: "More than 0, or empty.",
      seed: "A number is missing.",
      "field:width": "At most 64.",
      "option:momentum": "“much” is no number.",
    });
  });

  it("is not looked for in fields that are not shown", () => {
    expect(problemsOf(typed(LINE, { factor: "many", sampleTokens: "", checkpointEvery: "-1" }))).toEqual({});
    expect(problemsOf({ ...typed(LINE, { factor: "many" }), schedule: "step" })).toHaveProperty("factor");
  });

  it("is a file where a recipe learns from one", () => {
    expect(problemsOf(LINE, { recipe: { ...LINEAR, needs: "text" } })).toEqual({ data: "Name a file to learn from." });
  });

  it("says the bounds as they are", () => {
    const rule = { least: 0.0001, most: 0.5, whole: false };
    expect(["0", "1", "0.2", ""].map((text) => numberProblem(text, rule))).toEqual([
      ...["At least 0.0001.", "At most 0.5.", null, "A number is missing."],
    ]);
  });
});
