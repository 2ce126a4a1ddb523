/** A spec made complete with what its recipe takes by itself, and what the training session is made with. */
import type {
  TrainDefaults,
  TrainField,
  TrainRecipe,
  TrainSchedule,
  TrainSettings,
  TrainSpec,
} from "../../contract/views/train.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { withAverage } from "../../training/average.ts";
import type { GroupRule } from "../../training/groups.ts";
import { assign } from "../../training/groups.ts";
import { optimizerNamed } from "../../training/optimisers/index.ts";
import type { Optimizer } from "../../training/optimisers/optimizer.ts";
import { RECIPES } from "../../training/recipes/index.ts";
import type { Recipe, RecipeField } from "../../training/recipes/recipe.ts";
import { fieldValues } from "../../training/recipes/recipe.ts";
import type { Schedule } from "../../training/schedules.ts";
import { constant, cosine, inverseSqrt, linear, stepDecay, warmUp } from "../../training/schedules.ts";
import { quantizeOf } from "./fewBits.ts";

interface Named {
  readonly name: string;
  readonly shape: readonly number[];
}

const SAMPLE_TOKENS = 100;
const TEMPERATURE = 0.8;

export function recipeOf(id: string): Recipe {
  const found = RECIPES.find((recipe) => recipe.id === id);
  if (found !== undefined) return found;
  throw new WorkbenchError(
    "INPUT_ARGUMENT",
    `[train] recipe: got ${id}, expected one of ${RECIPES.map((recipe) => recipe.id).join(", ")}`,
  );
}

export function defaultsOf({ defaults }: Recipe, device: string): TrainDefaults {
  const { steps, batch, optimizer, lr, clipNorm, validationEvery, validationShare, normsEvery } = defaults;
  const schedule: TrainSchedule =
    defaults.schedule.kind === "constant"
      ? { ...defaults.schedule, kind: "constant" }
      : { ...defaults.schedule, kind: defaults.schedule.kind, to: 0 };
  return {
    ...{ steps, batch, accumulate: 1, optimizer, groups: [], average: 0, quantize: null, lr, schedule, device },
    clip: { norm: clipNorm, value: null },
    precision: "f32",
    fused: true,
    seed: 1,
    validation: { every: validationEvery, share: validationShare },
    sample: defaults.sample === null ? null : { ...defaults.sample, tokens: SAMPLE_TOKENS, temperature: TEMPERATURE },
    norms: { every: normsEvery },
  };
}

/** Everything that the run is made with; options of the recipe and ranges are checked. */
export function settingsOf(spec: TrainSpec, recipe: Recipe, firstDevice: string): TrainSettings {
  const own = defaultsOf(recipe, firstDevice);
  const { steps, batch, lr, schedule, clip, precision, device, fused, seed, validation, sample, norms } = spec;
  if (sample !== undefined && sample.every > 0 && own.sample === null)
    throw new WorkbenchError("INPUT_ARGUMENT", `[train ${recipe.id}] sample: this recipe writes no text`, {
      hint: "Leave it out.",
    });
  if (spec.model !== undefined && recipe.needs !== "model")
    throw new WorkbenchError("INPUT_ARGUMENT", `[train ${recipe.id}] model: this recipe takes no model`, {
      hint: "Leave it out.",
    });
  const quantize = quantizeOf(spec, recipe, {
    steps: steps ?? own.steps,
    validation: validation ?? own.validation,
  });
  return {
    steps: steps ?? own.steps,
    batch: batch ?? own.batch,
    accumulate: spec.accumulate ?? own.accumulate,
    optimizer: spec.optimizer ?? own.optimizer,
    groups: spec.groups ?? own.groups,
    average: spec.average ?? own.average,
    quantize,
    lr: lr ?? own.lr,
    schedule: schedule ?? own.schedule,
    clip: clip === undefined ? own.clip : { norm: clip.norm ?? null, value: clip.value ?? null },
    precision: precision ?? own.precision,
    device: device ?? own.device,
    fused: fused ?? own.fused,
    seed: seed ?? own.seed,
    validation: validation ?? own.validation,
    sample:
      own.sample === null || sample === undefined
        ? own.sample
        : { ...sample, prompt: sample.prompt ?? own.sample.prompt },
    norms: norms ?? own.norms,
    fields: fieldValues(recipe, spec.fields ?? {}),
  };
}

/** The rate by step. Forms that end do so at the run's last step. */
export function scheduleFor(rate: number, form: TrainSchedule, steps: number): Schedule {
  const rest = Math.max(1, steps - form.warmUp);
  const after = (): Schedule => {
    switch (form.kind) {
      case "constant":
        return constant(rate);
      case "linear":
        return linear(rate, form.to, rest);
      case "cosine":
        return cosine(rate, rest, form.to);
      case "step":
        return stepDecay(rate, form.factor, form.every);
      case "inverse-sqrt":
        return inverseSqrt(rate, form.warmUp);
    }
  };
  return form.warmUp === 0 || form.kind === "inverse-sqrt" ? after() : warmUp(form.warmUp, after());
}

const fieldView = ({ id, label, about, kind, value, least, most, choices }: RecipeField): TrainField => ({
  ...{ id, label, about, kind, value },
  least: least ?? null,
  most: most ?? null,
  choices: choices ?? [],
});

export function recipeView(recipe: Recipe, device: string): TrainRecipe {
  const { id, title, about, dataEndings, dataSentence, fields } = recipe;
  return {
    ...{ id, title, about, dataEndings, dataSentence },
    needs: recipe.needs,
    result: {
      ending: recipe.resultEnding,
      sentence: recipe.resultSentence ?? "The trained weights, as a safetensors file.",
    },
    fields: fields.map(fieldView),
    defaults: defaultsOf(recipe, device),
  };
}

/** What trains which parameters: the run's own optimiser, and groups with others or at other rates. */
export function optimizersOf(settings: TrainSettings): {
  readonly optimizer: Optimizer;
  readonly lr: Schedule;
  readonly groups: readonly GroupRule[];
} {
  const { schedule, steps, average } = settings;
  const averaged = (own: Optimizer): Optimizer => (average === 0 ? own : withAverage(own, average));
  const optimizer = averaged(optimizerNamed(settings.optimizer.name, settings.optimizer.options));
  const groups = settings.groups.map(({ names, rank, optimizer: own, lr }): GroupRule => ({
    ...(names === undefined ? {} : { names }),
    ...(rank === undefined ? {} : { rank }),
    optimizer: own === undefined ? optimizer : averaged(optimizerNamed(own.name, own.options)),
    ...(lr === undefined ? {} : { lr: scheduleFor(lr, schedule, steps) }),
  }));
  return { optimizer, groups, lr: scheduleFor(settings.lr, schedule, steps) };
}

/** A group that takes nothing is a slip. */
export function requireGroupsTake(groups: readonly GroupRule[], trainable: readonly Named[], rest: Optimizer): void {
  const taken = new Set(assign(trainable, groups, { optimizer: rest, lr: 0 }).map(({ group }) => group));
  const idle = groups.findIndex((_, i) => !taken.has(i));
  if (idle < 0) return;
  const some = trainable.slice(0, 6).map(({ name, shape }) => `${name} (rank ${shape.length})`);
  throw new WorkbenchError("INPUT_ARGUMENT", `[train] group ${idle + 1}: takes no parameter, expected at least one`, {
    hint: `Parameters are ${some.join(", ")}${trainable.length > some.length ? ` and ${trainable.length - some.length} more` : ""}; the first group that fits takes them.`,
  });
}
