/** From a spec to what a run needs: data that was read, a prepared recipe, a device, and what it will take. */
import type { TrainSettings, TrainSpec, UpdatePath } from "../../contract/views/train.ts";
import type { Figure } from "../../contract/views/common.ts";
import { throwIfCancelled, WorkbenchError } from "../../diagnostics/errors.ts";
import type { Graph } from "../../ir/graph.ts";
import { isLeaf } from "../../ir/graph.ts";
import { readNpy } from "../../training/data/npy.ts";
import { readNpz } from "../../training/data/npz.ts";
import { LARGEST_TEXT, textIn } from "../../training/data/text.ts";
import { assign } from "../../training/groups.ts";
import { locateIn, mappedFiles } from "../../runtime/decoderModel.ts";
import type { WeightFiles } from "../../ir/weightPlace.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
import type { Prepared, Recipe, RecipeData } from "../../training/recipes/recipe.ts";
import type { TrainingDevice } from "../../training/trainingDevice.ts";
import { trainingOn } from "../../training/trainingDevice.ts";
import type { EngineDevice, EngineDevices } from "../devices.ts";
import { figure } from "../measure/forecast.ts";
import { othersFirst } from "../models/taskCache.ts";
import type { ModelStore } from "../models/modelStore.ts";
import type { OpenModel } from "../models/openModel.ts";
import { mappablePaths } from "../models/openModel.ts";
import type { ModelFiles, TrainingFiles } from "../services.ts";
import { graphOfText } from "../text/subject.ts";
import { requireHeldBack } from "./fewBits.ts";
import { recipeModel } from "./recipeModel.ts";
import { optimizersOf, recipeOf, requireGroupsTake, settingsOf } from "./settings.ts";

const LARGEST_ARRAY = 2 ** 31;

export interface OpeningParts {
  readonly files: ModelFiles;
  readonly trainingFiles: TrainingFiles;
  readonly devices: EngineDevices;
  readonly threads: number;
  readonly store: ModelStore;
}

export interface OpenedTraining {
  readonly recipe: Recipe;
  readonly settings: TrainSettings;
  readonly title: string;
  readonly prepared: Prepared;
  readonly device: TrainingDevice;
  readonly optimizers: ReturnType<typeof optimizersOf>;
  readonly update: UpdatePath;
  readonly trainedParameters: number;
  readonly memory: Figure;
  /** With a recipe that needs a model. */
  readonly model?: OpenModel;
  /** Closes what was opened for this training alone. */
  close(): Promise<void>;
}

/** A model's own weights, as devices of both kinds read them. */
interface ModelWeights {
  readonly file: GgufFile;
  readonly files: WeightFiles;
}

export async function openTraining(parts: OpeningParts, spec: TrainSpec, signal: AbortSignal): Promise<OpenedTraining> {
  const recipe = recipeOf(spec.recipe);
  const settings = settingsOf(spec, recipe, parts.devices.first.id);
  const model = await modelOf(parts.store, spec, signal);
  try {
    return await openedOver(parts, { spec, recipe, settings, signal, ...(model === undefined ? {} : { model }) });
  } catch (error) {
    await closed(parts.store, spec, model);
    throw error;
  }
}

/** An open model, or one that is opened for this training. */
async function modelOf(store: ModelStore, { model }: TrainSpec, signal: AbortSignal): Promise<OpenModel | undefined> {
  if (model === undefined) return undefined;
  return model.kind === "open" ? store.get(model.model) : store.open(model, signal, []);
}

const closed = async (store: ModelStore, { model }: TrainSpec, opened: OpenModel | undefined): Promise<void> => {
  if (model?.kind === "path" && opened !== undefined) await store.close(opened.id);
};

interface Asked {
  readonly spec: TrainSpec;
  readonly recipe: Recipe;
  readonly settings: TrainSettings;
  readonly signal: AbortSignal;
  readonly model?: OpenModel;
}

async function openedOver(parts: OpeningParts, asked: Asked): Promise<OpenedTraining> {
  const { spec, recipe, settings, signal, model } = asked;
  // A graph in text has its parameters in itself.
  const file = model?.text === undefined ? model : undefined;
  const weights = file === undefined ? undefined : await weightsOf(file, signal);
  const device = trainingDeviceOf(parts.devices, settings.device, parts.threads, weights);
  const optimizers = optimizersOf(settings);
  const data = await dataOf(parts, recipe, spec, signal);
  const { batch, seed, fields, validation } = settings;
  const pace = async (): Promise<void> => {
    await othersFirst();
    throwIfCancelled(signal);
  };
  const share = validation.every === 0 ? 0 : validation.share;
  const prepared = await recipe.prepare({
    ...{ fields, batch, seed, share, pace },
    ...(data === undefined ? {} : { data }),
    ...(file === undefined ? {} : { model: recipeModel(file, signal) }),
    ...(model?.text === undefined ? {} : { graph: graphOfText(model.text) }),
  });
  requireHeldBack(recipe, settings, prepared);
  const weightsToTrain = trainedOf(prepared);
  requireGroupsTake(optimizers.groups, weightsToTrain, optimizers.optimizer);
  return {
    ...{ recipe, settings, prepared, device, optimizers },
    title: spec.title ?? (model === undefined ? recipe.title : `${recipe.title} of ${model.title}`),
    ...(model === undefined ? {} : { model }),
    close: () => closed(parts.store, spec, model),
    update: updateOf(device, settings.fused, settings.accumulate),
    trainedParameters: countOf(prepared),
    memory: memoryOf(prepared.forward, weightsToTrain, optimizers, settings.accumulate),
  };
}

async function dataOf(
  { files, trainingFiles }: OpeningParts,
  recipe: Recipe,
  { data }: TrainSpec,
  signal: AbortSignal,
): Promise<RecipeData | undefined> {
  if (data === undefined || data.kind === "built-in") return undefined;
  if (recipe.dataEndings.length === 0)
    throw new WorkbenchError("INPUT_ARGUMENT", `[train ${recipe.id}] data: this recipe takes no file`);
  const { source } = await files.open(data.path);
  try {
    const { name, byteLength } = source;
    if (/\.npz$/iu.test(name)) {
      const arrays = await readNpz(source, (bytes, most) => trainingFiles.inflate(bytes, most), signal);
      return { kind: "arrays", name, arrays };
    }
    const isArray = /\.npy$/iu.test(name);
    const most = isArray ? LARGEST_ARRAY : LARGEST_TEXT;
    if (byteLength > most)
      throw new WorkbenchError("INPUT_LIMIT", `[${name}] got ${byteLength} bytes, expected ${most} at most`, {
        hint: "Take a part of it.",
      });
    const bytes = await source.read(0, byteLength, signal);
    if (isArray)
      return { kind: "arrays", name, arrays: new Map([[name.slice(0, -".npy".length), readNpy(name, bytes)]]) };
    return { kind: "text", name, text: textIn(name, bytes) };
  } finally {
    await source.close();
  }
}

/** Why a device does not train here; undefined where it does. */
export function trainingProblem(devices: EngineDevices, device: EngineDevice): string | undefined {
  const running = devices.running(device);
  const probe = running.probe();
  if (!probe.ok) return probe.sentence;
  const { graphs } = running.capabilities;
  return running.training !== undefined || graphs === true ? undefined : graphs;
}

async function weightsOf(model: OpenModel, signal: AbortSignal): Promise<ModelWeights> {
  const file = model.requireFile("train");
  const paths = await mappablePaths(model, "train", signal);
  return { file, files: { ...mappedFiles(file, paths), locate: locateIn(file) } };
}

export function trainingDeviceOf(
  devices: EngineDevices,
  id: string,
  threads: number,
  weights?: ModelWeights,
): TrainingDevice {
  const chosen = devices.get(id, "train");
  const problem = trainingProblem(devices, chosen);
  const running = devices.running(chosen);
  const device = running.device?.({ threads, ...(weights === undefined ? {} : { weights: weights.files }) });
  if (problem === undefined && running.training !== undefined)
    return running.training(weights === undefined ? {} : { weights: weights.file });
  if (problem === undefined && device !== undefined) return trainingOn(device, running.backend);
  const able = devices.listed.filter((each) => trainingProblem(devices, each) === undefined);
  throw new WorkbenchError("ENV_NO_DEVICE", `[train] device ${id}: ${problem ?? "It compiles no graphs."}`, {
    hint: `Choose ${able.map((each) => each.id).join(", ")}.`,
  });
}

export function updateOf({ title, keepsVariables }: TrainingDevice, wantsFused: boolean, accumulated = 1): UpdatePath {
  if (!wantsFused)
    return { path: "gradient", fused: false, reason: "The update runs in float64 beside the device, as it was asked." };
  if (accumulated > 1)
    return {
      ...{ path: "gradient", fused: false },
      reason: `The gradients of ${accumulated} batches are added up beside the device, and the update runs there in float64.`,
    };
  if (keepsVariables !== true) return { path: "gradient", fused: false, reason: keepsVariables };
  return {
    path: "gradient",
    fused: true,
    reason: `Weights and moments stay on the device (${title}), and the update runs there.`,
  };
}

const lengthOf = (numbers: Prepared["initial"][string] | undefined): number =>
  numbers === undefined ? 0 : "data" in numbers ? numbers.data.length : numbers.length;

const countOf = ({ initial }: Prepared): number =>
  Object.values(initial).reduce((sum, numbers) => sum + lengthOf(numbers), 0);

const sizeOf = (shape: readonly (number | string | object)[]): number =>
  shape.reduce<number>((product, size) => product * (typeof size === "number" ? size : 1), 1);

/** Numbers of f32 of all results of operations: what the way back may ask for again. */
const activations = ({ nodes }: Graph): number =>
  nodes.reduce(
    (sum, node) => (isLeaf(node) ? sum : sum + node.outputs.reduce((own, { shape }) => own + sizeOf(shape), 0)),
    0,
  );

interface TrainedWeight {
  readonly name: string;
  readonly shape: readonly number[];
}

function trainedOf({ forward, trainable }: Prepared): readonly TrainedWeight[] {
  const names = new Set(trainable);
  return forward.nodes.flatMap((node) => {
    const name = String(node.attrs["name"]);
    if (!isLeaf(node) || !names.has(name)) return [];
    return [{ name, shape: (node.outputs[0]?.shape ?? []).map((size) => (typeof size === "number" ? size : 1)) }];
  });
}

function memoryOf(
  forward: Graph,
  trained: readonly TrainedWeight[],
  { optimizer, groups, lr }: OpenedTraining["optimizers"],
  accumulated: number,
): Figure {
  const owners = assign(trained, groups, { optimizer, lr });
  let [weights, moments] = [0, 0];
  for (const [i, { shape }] of trained.entries()) {
    weights += sizeOf(shape);
    moments += (owners[i]?.optimizer.slots(shape) ?? []).reduce((sum, slot) => sum + sizeOf(slot.shape), 0);
  }
  const kept = activations(forward);
  const sums = accumulated > 1 ? weights : 0;
  return figure(
    4 * (2 * weights + moments + kept + sums),
    "bytes",
    "predicted",
    `weights and gradients ${2 * weights + sums}, moments ${moments}, results of operations ${kept}, four bytes each`,
  );
}
