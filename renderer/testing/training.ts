/** An engine that trains, for tests: two recipes, runs that go on step by step, are paused and stopped, and are kept. */
import type { StreamItemOf } from "../../main/contract/contract.ts";
import { DEFAULT_DEVICE } from "../../main/contract/views/engine.ts";
import type {
  TrainRecipe,
  TrainRecipes,
  TrainRow,
  TrainRun,
  TrainSettings,
  TrainSpec,
} from "../../main/contract/views/train.ts";
import { trainSpec } from "../../main/contract/views/train.ts";
import type { Figure } from "../../main/contract/views/common.ts";
import { WorkbenchError } from "../../main/diagnostics/errors.ts";
import type { RecordedOptions } from "../engine/recorded/replay.ts";
import { pause } from "../engine/recorded/replay.ts";

const memory: Figure = { value: 1_200_000, low: null, high: null, unit: "bytes", truth: "predicted", basis: "sums" };
const update = { path: "gradient", fused: true, reason: "The update is part of the graph of the step." } as const;

const DEFAULTS: TrainRecipe["defaults"] = {
  ...{
    steps: 60,
    batch: 8,
    optimizer: { name: "sgd", options: {} },
    lr: 0.2,
    accumulate: 1,
    groups: [],
    average: 0,
    quantize: null,
  },
  ...{ schedule: { kind: "constant", warmUp: 0 }, clip: { norm: null, value: null }, precision: "f32" },
  ...{ device: DEFAULT_DEVICE, fused: true, seed: 0, validation: { every: 10, share: 0.1 }, sample: null },
  norms: { every: 10 },
};

export const LINEAR: TrainRecipe = {
  ...{ id: "linear", title: "Linear regression", about: "A line through eight points: the smallest training." },
  ...{ needs: "nothing", dataEndings: ["npz"], dataSentence: "Arrays x and target." },
  result: { ending: "safetensors", sentence: "The weights, as safetensors." },
  fields: [
    {
      ...{ id: "width", label: "Width", about: "Numbers of each point.", kind: "whole", value: 3 },
      ...{ least: 1, most: 64, choices: [] },
    },
  ],
  defaults: DEFAULTS,
};

export const LORA: TrainRecipe = {
  ...{ id: "lora", title: "Adapter of a model", about: "A LoRA over the packed weights of a GGUF, from a text." },
  ...{ needs: "model", dataEndings: ["txt", "jsonl"], dataSentence: "A text, or a chat file." },
  result: { ending: "gguf", sentence: "The adapter, as a GGUF that llama.cpp opens." },
  fields: [],
  defaults: {
    ...DEFAULTS,
    ...{ optimizer: { name: "adamw", options: { weightDecay: 0 } }, lr: 3e-4 },
    schedule: { kind: "cosine", warmUp: 10, to: 0 },
    clip: { norm: 1, value: null },
    sample: { every: 20, prompt: "Once", tokens: 40, temperature: 0.8 },
  },
};

export const RECIPES: TrainRecipes = {
  recipes: [LINEAR, LORA],
  devices: [{ id: DEFAULT_DEVICE, title: "CPU", available: true, reason: "The engine of this program.", update }],
  optimizers: [
    { name: "sgd", options: { momentum: 0, nesterov: false } },
    { name: "adamw", options: { beta1: 0.9, beta2: 0.999, weightDecay: 0.01 } },
  ],
};

const settingsOf = (recipe: TrainRecipe, spec: TrainSpec): TrainSettings => {
  const { steps, batch, lr, seed } = recipe.defaults;
  return {
    ...recipe.defaults,
    ...{ steps: spec.steps ?? steps, batch: spec.batch ?? batch, lr: spec.lr ?? lr, seed: spec.seed ?? seed },
    optimizer: { name: spec.optimizer?.name ?? recipe.defaults.optimizer.name, options: {} },
    fields: {
      ...Object.fromEntries(recipe.fields.map(({ id, value }) => [id, value])),
      ...(spec.fields as TrainSettings["fields"] | undefined),
    },
  };
};

interface Kept {
  readonly run: TrainRun;
  paused: boolean;
  stopped: boolean;
}

const lossAt = (step: number, lr: number): number =>
  2.4 * Math.exp(-step * lr * 0.12) + 0.02 + 0.04 * Math.sin(step) ** 2;

/** `stepMs`: between two reports; `alarmAt`: the step whose loss is no number. */
export function trainingEngine({ stepMs = 0, alarmAt = Infinity }: { stepMs?: number; alarmAt?: number } = {}) {
  const kept = new Map<string, Kept>();
  const asked: TrainSpec[] = [];
  const find = (run: string): Kept => {
    const found = kept.get(run);
    if (found === undefined) throw new WorkbenchError("INPUT_NOT_FOUND", `[train] there is no run ${run}`);
    return found;
  };
  const change = (id: string, part: Partial<TrainRow>, more: Partial<TrainRun> = {}): void => {
    const each = find(id);
    kept.set(id, Object.assign(each, { run: { ...each.run, ...more, row: { ...each.run.row, ...part } } }));
  };
  const options = {
    calls: {
      "train.recipes": () => RECIPES,
      "train.plan": (spec) => ({
        ...{ title: spec.recipe, device: DEFAULT_DEVICE, update, parameters: 3, trainedParameters: 3, memory },
        ...{ data: "8 points, made here.", suggestedPath: `/made/${spec.recipe}.safetensors`, can: { ok: true } },
      }),
      "train.pause": ({ run }) => {
        find(run).paused = true;
        return { ok: true };
      },
      "train.resume": ({ run }) => {
        find(run).paused = false;
        return { ok: true };
      },
      "train.stop": ({ run }) => {
        find(run).stopped = true;
        return { ok: true };
      },
      "train.runs": () => ({ runs: [...kept.values()].map(({ run }) => run.row).reverse(), damaged: 0 }),
      "train.run": ({ run }) => find(run).run,
      "train.forget": ({ run }) => {
        kept.delete(run);
        return { ok: true };
      },
    },
    streams: {
      async *"train.start"(spec, { signal }): AsyncGenerator<StreamItemOf<"train.start">> {
        asked.push(spec);
        const recipe = RECIPES.recipes.find(({ id }) => id === spec.recipe) ?? LINEAR;
        const settings = settingsOf(recipe, spec);
        const run = `run-${asked.length}`;
        const title = spec.title ?? recipe.title;
        const { steps, lr } = settings;
        const row: TrainRow = {
          ...{ run, title, recipe: recipe.id, at: 1_700_000_000_000 + asked.length, device: "CPU", state: "running" },
          ...{ step: 0, steps, seconds: 0, stepsPerSecond: 0, parameters: 3, loss: null, validation: null },
          ...{ results: [], problem: null },
        };
        const curve = { step: [] as number[], loss: [] as number[], rate: [] as number[], norm: [] as number[] };
        const columns = () => ({
          step: Float64Array.from(curve.step),
          loss: Float64Array.from(curve.loss),
          rate: Float64Array.from(curve.rate),
          norm: Float64Array.from(curve.norm),
          scale: new Float64Array(curve.step.length).fill(1),
        });
        const validation: { step: number; loss: number; accuracy: number | null }[] = [];
        kept.set(run, {
          ...{ paused: false, stopped: false },
          run: {
            ...{ row, spec: trainSpec.parse(spec), settings, update, memory, data: "8 points.", curve: columns() },
            ...{ validation, samples: [], norms: [], quantized: null, alarm: null },
          },
        });
        yield { kind: "phase", name: "compile", sentence: "Compiling", fraction: null, elapsedSeconds: 0 };
        yield {
          ...{ kind: "started", run, title, recipe: recipe.id, device: DEFAULT_DEVICE, deviceTitle: "CPU", update },
          ...{ parameters: 3, trainedParameters: 3, memory, data: "8 points.", from: 0, steps, settings },
        };
        for (let step = 1; step <= steps && !find(run).stopped; step++) {
          await pause(stepMs);
          if (signal.aborted) {
            change(run, { state: "cancelled" });
            return;
          }
          if (find(run).paused) {
            yield { kind: "paused", step: step - 1 };
            while (find(run).paused && !find(run).stopped && !signal.aborted) await pause(1);
            yield { kind: "resumed", step: step - 1 };
          }
          const loss = step >= alarmAt ? Number.NaN : lossAt(step, lr);
          for (const [name, value] of [
            ["step", step],
            ["loss", loss],
            ["rate", lr],
            ["norm", loss / 2],
          ] as const)
            curve[name].push(value);
          const one = (value: number): Float64Array => Float64Array.of(value);
          yield {
            ...{ kind: "steps", step: one(step), loss: one(loss), rate: one(lr), norm: one(loss / 2), scale: one(1) },
            ...{ stepsPerSecond: 400 + 10 * Math.sin(step), memoryBytes: 90_000_000, elapsedSeconds: step / 100 },
            secondsLeft: (steps - step) / 100,
          };
          change(run, { step, loss, seconds: step / 100, stepsPerSecond: 400 }, { curve: columns() });
          if (step >= alarmAt) {
            const alarm = {
              ...{ step, op: "softmax", place: "the loss", sentence: "The loss is no number." },
              advice: "Take a lower learning rate.",
            };
            yield { kind: "alarm", alarm };
            change(run, { state: "failed", problem: alarm.sentence }, { alarm });
            yield doneOf(run, "failed", step, loss);
            return;
          }
          if (step % 10 === 0) {
            validation.push({ step, loss: loss * 1.1, accuracy: null });
            yield { kind: "validation", step, loss: loss * 1.1, accuracy: null };
            const norms = [
              { layer: "blk.0", norm: loss },
              { layer: "blk.1", norm: loss / 50 },
            ];
            yield { kind: "norms", step, norms };
            if (recipe.defaults.sample !== null)
              yield { kind: "sample", step, prompt: "Once", text: " there was a mill at the bend of the river." };
            change(run, { validation: loss * 1.1 }, { norms });
          }
        }
        const { step, loss } = find(run).run.row;
        const state = find(run).stopped ? "stopped" : "done";
        const results = spec.output === undefined ? [] : [resultOf(recipe, spec.output.path)];
        for (const result of results) yield { kind: "saved", step, result };
        change(run, { state, results });
        yield doneOf(run, state, step, loss ?? 0, results);
      },
    },
  } satisfies RecordedOptions;
  return { options: options as RecordedOptions, asked, kept };
}

const resultOf = ({ id, result }: TrainRecipe, path: string): TrainRow["results"][number] => ({
  ...{ what: id === "lora" ? "adapter" : "weights", path, bytes: 4096, opens: id === "lora" ? "adapter" : "no" },
  ...{ model: id === "lora" ? "/models/m.gguf" : null, sentence: result.sentence },
});

const doneOf = (
  run: string,
  state: "done" | "stopped" | "failed",
  steps: number,
  loss: number,
  results: TrainRow["results"] = [],
): StreamItemOf<"train.start"> => ({
  ...{ kind: "done", run, state, steps, seconds: steps / 100, stepsPerSecond: 400, loss: loss, validation: null },
  ...{ results, sentence: `${steps} steps in ${steps / 100} s.` },
});
