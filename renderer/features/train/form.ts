/**
 * What is to be trained, as it is typed: numbers stay text until they are asked for. A spec names only what differs from its
 * recipe, so that it reads like one that was written by hand.
 */
import type { RunDevice } from "../../../main/contract/views/engine.ts";
import type { Precision } from "../../../main/contract/views/graph.ts";
import type { Overview } from "../../../main/contract/views/model.ts";
import type {
  TrainGroup,
  TrainRecipe,
  TrainRecipes,
  TrainSchedule,
  TrainSpec,
} from "../../../main/contract/views/train.ts";
import { TRAIN_LIMITS } from "../../../main/contract/views/train.ts";
import { typedPath } from "../../session/openSource.ts";
import type { GroupForm } from "./groups.ts";
import { groupForms, groupsOf } from "./groups.ts";
import type { NumberRule } from "./numbers.ts";
import { numberProblem, rule } from "./numbers.ts";

const { steps, batch, every, tokens, accumulate, bits, calibration } = TRAIN_LIMITS;

export const NUMBERS = {
  steps: rule("Steps", "Updates of the weights; each reads one batch.", 1, steps, true),
  batch: rule("Batch", "Examples in each step.", 1, batch, true),
  accumulate: rule(
    "Batches of an update",
    "Their gradients are averaged before the weights move.",
    1,
    accumulate,
    true,
  ),
  average: {
    ...rule(
      "Average of the weights",
      "Its decay, as 0.999: the average is validated and written. Empty: none.",
      0,
      0.999999,
    ),
    optional: true,
  },
  weightBits: {
    ...rule(
      "Bits of weights",
      "One grid for each output. Empty: the net stays in floats.",
      bits.least,
      bits.weights,
      true,
    ),
    optional: true,
  },
  activationBits: rule("Bits of activations", "One grid for each product.", bits.least, bits.activations, true),
  quantizeAfter: {
    ...rule(
      "Steps in floats",
      "The steps behind them train the net in few bits. Empty: it is only calibrated, at the end.",
      1,
      steps,
      true,
    ),
    optional: true,
  },
  calibrationBatches: rule("Batches to calibrate with", "They say how wide each grid is.", 1, calibration, true),
  lr: rule("Learning rate", "How far a step goes: the highest of the run.", 0, 1000),
  warmUp: rule("Warm-up", "Steps in which the rate rises from 0 to its highest.", 0, steps, true),
  to: rule("Last rate", "The rate of the last step.", 0, 1000),
  everySteps: rule("Falls every", "Steps between two falls of the rate.", 1, every, true),
  factor: rule("Falls to", "What is left of the rate after each fall, as a share.", 0, 1),
  clipNorm: {
    ...rule("Longest gradient", "All gradients together are shortened to this length. Empty: never.", 0, 1e9),
    optional: true,
  },
  clipValue: {
    ...rule("Largest number in it", "Each number of a gradient is cut to this. Empty: never.", 0, 1e9),
    optional: true,
  },
  seed: rule(
    "Seed",
    "The same seed gives the same first weights and the same order of the data.",
    0,
    0xffff_ffff,
    true,
  ),
  validationEvery: rule(
    "Validate every",
    "Steps between two looks at data that is not trained on; 0: never.",
    0,
    every,
    true,
  ),
  validationShare: rule("Kept for validation", "The share of the data that is not trained on.", 0.0001, 0.5),
  sampleEvery: rule("Write every", "Steps between two samples of the model’s words; 0: never.", 0, every, true),
  sampleTokens: rule("Length of a sample", "Tokens that are written each time.", 1, tokens, true),
  temperature: rule("Temperature", "0 always takes the likeliest word.", 0, 10),
  normsEvery: rule(
    "Look at gradients every",
    "Steps between two looks at each layer’s gradient; 0: never.",
    0,
    every,
    true,
  ),
  checkpointEvery: rule("Save every", "Steps between two checkpoints; 0: at the end only.", 0, every, true),
} as const satisfies Readonly<Record<string, NumberRule>>;
export type NumberName = keyof typeof NUMBERS;

export type ScheduleKind = TrainSchedule["kind"];
/** Each kind of schedule, and the numbers that it has. */
export const SCHEDULES: Readonly<
  Record<ScheduleKind, { readonly title: string; readonly numbers: readonly NumberName[] }>
> = {
  constant: { title: "Constant", numbers: ["warmUp"] },
  linear: { title: "Falls in a line", numbers: ["warmUp", "to"] },
  cosine: { title: "Falls as a cosine", numbers: ["warmUp", "to"] },
  step: { title: "Falls in steps", numbers: ["warmUp", "everySteps", "factor"] },
  "inverse-sqrt": { title: "1 / √step", numbers: ["warmUp"] },
};

export interface TrainForm {
  readonly recipe: string;
  readonly numbers: Readonly<Record<NumberName, string>>;
  readonly title: string;
  /** A path on the engine's machine; empty: the recipe's own data. */
  readonly data: string;
  /** A path; empty: the open model. */
  readonly model: string;
  readonly optimizer: string;
  /** Options of the optimiser; one that is missing is its own. */
  readonly options: Readonly<Record<string, string>>;
  readonly groups: readonly GroupForm[];
  readonly schedule: ScheduleKind;
  readonly precision: Precision;
  readonly device: RunDevice;
  readonly fused: boolean;
  readonly prompt: string;
  readonly checkpoint: string;
  readonly resume: string;
  readonly writes: boolean;
  /** Empty: the path that the plan suggests. */
  readonly output: string;
  readonly overwrite: boolean;
  /** The recipe's own fields. */
  readonly fields: Readonly<Record<string, string>>;
}

type Setting = number | boolean | string;
const textsOf = (values: Readonly<Record<string, Setting>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(values).map(([id, value]) => [id, String(value)]));

/** Numbers of a schedule that it does not have stand ready for the kinds that have them. */
const scheduleNumbers = (schedule: TrainSchedule) => ({
  warmUp: String(schedule.warmUp),
  to: String("to" in schedule ? schedule.to : 0),
  everySteps: String("every" in schedule ? schedule.every : 1000),
  factor: String("factor" in schedule ? schedule.factor : 0.5),
});

/** Those of a net in few bits stand ready, and count where the first is filled in. */
const quantizeNumbers = (quantize: TrainSpec["quantize"]) => ({
  weightBits: optional(quantize?.weights),
  activationBits: String(quantize?.activations ?? 8),
  quantizeAfter: optional(quantize?.after),
  calibrationBatches: String(quantize?.batches ?? 8),
});

const optional = (value: number | null | undefined): string =>
  value === null || value === undefined ? "" : String(value);

/** The form with what the recipe itself would take. */
export function formOf(recipe: TrainRecipe): TrainForm {
  const { defaults: own } = recipe;
  return {
    recipe: recipe.id,
    numbers: {
      ...{ steps: String(own.steps), batch: String(own.batch), lr: String(own.lr), seed: String(own.seed) },
      ...scheduleNumbers(own.schedule),
      ...{ accumulate: String(own.accumulate), average: own.average === 0 ? "" : String(own.average) },
      ...quantizeNumbers(own.quantize ?? undefined),
      ...{ clipNorm: optional(own.clip.norm), clipValue: optional(own.clip.value) },
      ...{ validationEvery: String(own.validation.every), validationShare: String(own.validation.share) },
      sampleEvery: String(own.sample?.every ?? 0),
      sampleTokens: String(own.sample?.tokens ?? 100),
      temperature: String(own.sample?.temperature ?? 0.8),
      ...{ normsEvery: String(own.norms.every), checkpointEvery: "0" },
    },
    ...{ title: "", data: "", model: "" },
    ...{ optimizer: own.optimizer.name, options: textsOf(own.optimizer.options), schedule: own.schedule.kind },
    groups: groupForms(own.groups),
    ...{ precision: own.precision, device: own.device, fused: own.fused },
    ...{ prompt: own.sample?.prompt ?? "", checkpoint: "", resume: "" },
    // A small example is looked at, and what it learnt is thrown away.
    ...{ writes: recipe.needs !== "nothing", output: "", overwrite: false },
    fields: textsOf(Object.fromEntries(recipe.fields.map(({ id, value }) => [id, value]))),
  };
}

/** The same run again: the recipe's form with what the spec of another run says. */
export function formOfSpec(recipe: TrainRecipe, spec: TrainSpec): TrainForm {
  const own = formOf(recipe);
  const { schedule, clip, validation, sample, optimizer, output, checkpoint } = spec;
  const numbers: Partial<Record<NumberName, number | undefined>> = {
    ...{ steps: spec.steps, batch: spec.batch, lr: spec.lr, seed: spec.seed },
    ...{ accumulate: spec.accumulate, average: spec.average === 0 ? undefined : spec.average },
    ...{ clipNorm: clip?.norm, clipValue: clip?.value },
    ...{ validationEvery: validation?.every, validationShare: validation?.share },
    ...{ sampleEvery: sample?.every, sampleTokens: sample?.tokens, temperature: sample?.temperature },
    ...{ normsEvery: spec.norms?.every, checkpointEvery: checkpoint?.every },
  };
  const said = Object.entries(numbers).flatMap(([id, value]) => (value === undefined ? [] : [[id, String(value)]]));
  return {
    ...own,
    numbers: {
      ...own.numbers,
      ...(schedule === undefined ? {} : scheduleNumbers(schedule)),
      ...quantizeNumbers(spec.quantize),
      ...(Object.fromEntries(said) as Partial<Record<NumberName, string>>),
    },
    title: spec.title ?? "",
    data: spec.data?.kind === "path" ? spec.data.path : "",
    model: spec.model?.kind === "path" ? spec.model.path : "",
    ...(optimizer === undefined ? {} : { optimizer: optimizer.name, options: textsOf(optimizer.options) }),
    ...(spec.groups === undefined ? {} : { groups: groupForms(spec.groups) }),
    schedule: schedule?.kind ?? own.schedule,
    precision: spec.precision ?? own.precision,
    device: spec.device ?? own.device,
    fused: spec.fused ?? own.fused,
    prompt: sample?.prompt ?? own.prompt,
    checkpoint: checkpoint?.path ?? "",
    ...{ writes: output !== undefined, output: output?.path ?? "" },
    fields: { ...own.fields, ...textsOf(spec.fields ?? {}) },
  };
}

/** What is wrong, by the key of its field. */
export type Problems = Readonly<Record<string, string>>;
export type AskedTraining =
  { readonly ok: true; readonly spec: TrainSpec } | { readonly ok: false; readonly problems: Problems };

export const fieldKey = (id: string): string => `field:${id}`;
export const optionKey = (id: string): string => `option:${id}`;

/** A model's file has its own types, and without data that is held back nothing says what bits cost. */
export const canQuantize = ({ needs, defaults }: Pick<TrainRecipe, "needs" | "defaults">): boolean =>
  needs !== "model" && defaults.validation.every > 0;

const CLIP = new Set<NumberName>(["clipNorm", "clipValue"]);

/** The numbers that this form shows: others are not read. */
function shownNumbers(recipe: TrainRecipe, { schedule, checkpoint }: TrainForm): readonly NumberName[] {
  return [
    ...(["steps", "batch", "lr", ...SCHEDULES[schedule].numbers, "clipNorm", "clipValue", "seed"] as const),
    ...(["accumulate", "average"] as const),
    ...(canQuantize(recipe) ? (["weightBits", "activationBits", "quantizeAfter", "calibrationBatches"] as const) : []),
    ...(["validationEvery", "validationShare", "normsEvery"] as const),
    ...(recipe.defaults.sample === null ? [] : (["sampleEvery", "sampleTokens", "temperature"] as const)),
    ...(checkpoint.trim() === "" ? [] : (["checkpointEvery"] as const)),
  ];
}

/** What the plan adds: the path for the result. */
export interface AskedWith {
  readonly recipe: TrainRecipe;
  readonly optimizers: TrainRecipes["optimizers"];
  readonly open: Pick<Overview, "model" | "file" | "argument"> | null;
  readonly suggestedPath: string | null;
}

/** The spec, or all that is wrong with the form. */
export function askedOf(form: TrainForm, { recipe, optimizers, open, suggestedPath }: AskedWith): AskedTraining {
  const problems: Record<string, string> = {};
  for (const name of shownNumbers(recipe, form)) {
    const problem = numberProblem(form.numbers[name], NUMBERS[name]);
    if (problem !== null) problems[name] = problem;
    else if (CLIP.has(name) && form.numbers[name].trim() !== "" && Number(form.numbers[name]) === 0)
      problems[name] = "More than 0, or empty.";
  }
  const fields = settingsOf(
    form.fields,
    recipe.fields.map(({ id, kind, value, least, most }) => ({
      ...{ id, value, key: fieldKey(id), whole: kind === "whole" },
      ...{ least: least ?? -Infinity, most: most ?? Infinity },
    })),
    problems,
  );
  const known = optimizers.find(({ name }) => name === form.optimizer)?.options ?? {};
  const options = settingsOf(
    form.options,
    Object.entries(known).map(([id, value]) => ({
      ...{ id, value, key: optionKey(id), whole: false, least: -Infinity, most: Infinity },
    })),
    problems,
  );
  const groups = groupsOf(form.groups, problems);
  const model = modelOf(form, recipe, open);
  if (model === null) problems["model"] = "Open a model, or name the path of one.";
  const data = typedPath(form.data);
  if (recipe.needs === "text" && data === "") problems["data"] = "Name a file to learn from.";
  if (Object.keys(problems).length > 0 || model === null) return { ok: false, problems };
  return {
    ok: true,
    spec: { ...shortSpec(form, recipe, { fields, options, groups }), ...model, ...placesOf(form, suggestedPath) },
  };
}

/** The model of the spec; {}: the recipe has none; null: there is none. */
function modelOf(form: TrainForm, recipe: TrainRecipe, open: AskedWith["open"]): Pick<TrainSpec, "model"> | null {
  if (recipe.needs !== "model") return {};
  const path = typedPath(form.model);
  if (path !== "") return { model: { kind: "path", path } };
  if (open === null) return null;
  // By its path it can be closed while the run goes on. A file that was sent here goes with its window.
  const own = open.file?.path ?? null;
  if (open.argument !== null && own !== null) return { model: { kind: "path", path: own } };
  return { model: { kind: "open", model: open.model } };
}

function placesOf(
  form: TrainForm,
  suggestedPath: string | null,
): Pick<TrainSpec, "data" | "checkpoint" | "resume" | "output"> {
  const [data, checkpoint, resume] = [typedPath(form.data), typedPath(form.checkpoint), typedPath(form.resume)];
  const output = typedPath(form.output) || suggestedPath;
  return {
    ...(data === "" ? {} : { data: { kind: "path", path: data } }),
    ...(checkpoint === "" ? {} : { checkpoint: { path: checkpoint, every: Number(form.numbers.checkpointEvery) } }),
    ...(resume === "" ? {} : { resume }),
    ...(form.writes && output !== null ? { output: { path: output, overwrite: form.overwrite } } : {}),
  };
}

interface SettingRule {
  readonly id: string;
  /** What is taken where nothing is said; says of what kind it is. */
  readonly value: Setting;
  readonly key: string;
  readonly least: number;
  readonly most: number;
  readonly whole: boolean;
}

/** Those that differ from their own value; what is wrong goes into `problems`. */
function settingsOf(
  texts: Readonly<Record<string, string>>,
  rules: readonly SettingRule[],
  problems: Record<string, string>,
) {
  const settings: Record<string, Setting> = {};
  for (const each of rules) {
    const text = texts[each.id] ?? String(each.value);
    if (text === String(each.value)) continue;
    const problem = typeof each.value === "number" ? numberProblem(text, each) : null;
    if (problem !== null) problems[each.key] = problem;
    else if (typeof each.value === "number") settings[each.id] = Number(text);
    else settings[each.id] = typeof each.value === "boolean" ? text === "true" : text;
  }
  return settings;
}

function scheduleOf({ schedule, numbers }: TrainForm): TrainSchedule {
  const [warmUp, to] = [Number(numbers.warmUp), Number(numbers.to)];
  if (schedule === "linear" || schedule === "cosine") return { kind: schedule, warmUp, to };
  if (schedule === "step")
    return { kind: schedule, warmUp, every: Number(numbers.everySteps), factor: Number(numbers.factor) };
  return schedule === "constant" ? { kind: schedule, warmUp } : { kind: schedule, warmUp: Math.max(1, warmUp) };
}

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

interface OwnSettings {
  readonly fields: Readonly<Record<string, Setting>>;
  readonly options: Readonly<Record<string, Setting>>;
  readonly groups: readonly TrainGroup[];
}

/** Only what differs from the recipe. */
function shortSpec(form: TrainForm, recipe: TrainRecipe, { fields, options, groups }: OwnSettings): TrainSpec {
  const own = recipe.defaults;
  const number = (name: NumberName): number => Number(form.numbers[name]);
  const numberOr = (name: NumberName): number | undefined =>
    form.numbers[name].trim() === "" ? undefined : number(name);
  const differing = <K extends keyof TrainSpec>(name: K, value: TrainSpec[K], usual: unknown): Partial<TrainSpec> =>
    same(value, usual) ? {} : { [name]: value };
  const clip = { norm: numberOr("clipNorm"), value: numberOr("clipValue") };
  const usualClip = { norm: own.clip.norm ?? undefined, value: own.clip.value ?? undefined };
  return {
    recipe: recipe.id,
    ...(form.title.trim() === "" ? {} : { title: form.title.trim() }),
    ...differing("steps", number("steps"), own.steps),
    ...differing("batch", number("batch"), own.batch),
    ...(form.optimizer === own.optimizer.name && same(form.options, textsOf(own.optimizer.options))
      ? {}
      : { optimizer: { name: form.optimizer, options } }),
    ...differing("accumulate", number("accumulate"), own.accumulate),
    ...differing("groups", [...groups], own.groups),
    ...differing("average", numberOr("average") ?? 0, own.average),
    ...(canQuantize(recipe) ? quantizeOf(form) : {}),
    ...differing("lr", number("lr"), own.lr),
    ...differing("schedule", scheduleOf(form), own.schedule),
    ...(same(clip, usualClip) ? {} : { clip: JSON.parse(JSON.stringify(clip)) as NonNullable<TrainSpec["clip"]> }),
    ...differing("precision", form.precision, own.precision),
    ...differing("device", form.device, own.device),
    ...differing("fused", form.fused, own.fused),
    ...differing("seed", number("seed"), own.seed),
    ...differing("validation", { every: number("validationEvery"), share: number("validationShare") }, own.validation),
    ...(own.sample === null ? {} : differing("sample", sampleOf(form), own.sample)),
    ...differing("norms", { every: number("normsEvery") }, own.norms),
    ...(Object.keys(fields).length === 0 ? {} : { fields }),
  };
}

function quantizeOf({ numbers }: TrainForm): Pick<TrainSpec, "quantize"> {
  const { weightBits, activationBits, quantizeAfter, calibrationBatches } = numbers;
  if (weightBits.trim() === "") return {};
  return {
    quantize: {
      ...{ weights: Number(weightBits), activations: Number(activationBits), batches: Number(calibrationBatches) },
      ...(quantizeAfter.trim() === "" ? {} : { after: Number(quantizeAfter) }),
    },
  };
}

const sampleOf = ({ numbers, prompt }: TrainForm): NonNullable<TrainSpec["sample"]> => ({
  ...{ every: Number(numbers.sampleEvery), prompt, tokens: Number(numbers.sampleTokens) },
  temperature: Number(numbers.temperature),
});
