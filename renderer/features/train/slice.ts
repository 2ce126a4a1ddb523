/** Training: what is to be trained, what that comes to, and the run of this window, which goes on behind other tabs. */
import type {
  TrainPlan,
  TrainRecipe,
  TrainRecipes,
  TrainResult,
  TrainSpec,
} from "../../../main/contract/views/train.ts";
import type { WireError } from "../../../main/diagnostics/errors.ts";
import { toWireError } from "../../../main/diagnostics/errors.ts";
import type { Async } from "../../session/async.ts";
import { createQuestions, createTask, current, failed, IDLE, isCancelled } from "../../session/async.ts";
import type { SessionState } from "../../session/sessionSlice.ts";
import type { SliceTools } from "../../session/slice.ts";
import type { CurveView } from "./curve.ts";
import type { AskedTraining, TrainForm } from "./form.ts";
import { askedOf, formOf, formOfSpec } from "./form.ts";
import type { LiveRun } from "./live.ts";
import { isOver, newRun, withItem } from "./live.ts";
import type { KeptRunsSlice } from "./runsSlice.ts";

export interface TrainSlice {
  readonly trainRecipes: Async<TrainRecipes>;
  /** null until the recipes are known. */
  readonly trainForm: TrainForm | null;
  /** What the form comes to; its data is read for it. */
  readonly trainPlan: Async<TrainPlan>;
  /** The last run of this window, whether it goes on or not. */
  readonly trainRun: LiveRun | null;
  /** The form, while a run stands there that has ended. */
  readonly trainFormShown: boolean;
  readonly curveView: CurveView;
  readonly loadTrainRecipes: () => Promise<void>;
  readonly chooseRecipe: (id: string) => void;
  readonly setTrain: (part: Partial<TrainForm>) => void;
  /** Asks for the plan of the form as it is now. */
  readonly planTraining: () => Promise<void>;
  readonly askedTraining: () => AskedTraining | null;
  readonly startTraining: () => Promise<void>;
  readonly pauseTraining: () => Promise<void>;
  readonly resumeTraining: () => Promise<void>;
  /** Ends it after its step, and saves. */
  readonly stopTraining: () => Promise<void>;
  /** Ends it at once, and saves nothing. */
  readonly dropTraining: () => void;
  readonly showTrainForm: (shown: boolean) => void;
  /** The form of the next run, as another run was made. */
  readonly trainLike: (spec: TrainSpec) => void;
  readonly openTrained: (result: TrainResult) => Promise<void>;
  readonly setCurveView: (part: Partial<CurveView>) => void;
}

export const recipeOf = (recipes: TrainRecipes | null, id: string | undefined): TrainRecipe | null =>
  recipes?.recipes.find((recipe) => recipe.id === id) ?? null;

/** A failure that a second try with another answer mends. */
export const isThereAlready = ({ details }: WireError): boolean => details?.["exists"] === true;

export function createTrainSlice({
  engine,
  set,
  get,
  on,
}: SliceTools<TrainSlice, SessionState & TrainSlice & KeptRunsSlice>): TrainSlice {
  const task = createTask();
  const questions = createQuestions();
  const change = (part: Partial<LiveRun>): void => {
    const { trainRun } = get();
    if (trainRun !== null) set({ trainRun: { ...trainRun, ...part } });
  };
  /** The handle of the open model is gone; a file with a path is trained on. */
  on("modelLeft", ({ opensAgain }) => {
    if (opensAgain) return;
    set({ trainPlan: IDLE });
    questions.drop();
    const { trainRun } = get();
    if (trainRun !== null && !isOver(trainRun) && trainRun.spec.model?.kind === "open") task.stop();
  });

  /** Asks the engine something about the run that goes on; the stream says when it has happened. */
  const ask = async (
    call: "train.pause" | "train.resume" | "train.stop",
    states: { readonly during: LiveRun["state"]; readonly refused: string },
  ): Promise<void> => {
    const before = get().trainRun;
    const run = before?.started?.run;
    if (before === null || run === undefined || isOver(before)) return;
    change({ state: states.during });
    try {
      await engine.call(call, { run });
    } catch (error) {
      const now = get().trainRun;
      if (now?.started?.run !== run || isOver(now)) return;
      if (now.state === states.during) change({ state: before.state });
      get().notifyError(states.refused, error);
    }
  };

  return {
    trainRecipes: IDLE,
    trainForm: null,
    trainPlan: IDLE,
    trainRun: null,
    trainFormShown: true,
    curveView: { scale: "log", smoothing: 20 },
    async loadTrainRecipes() {
      if (current(get().trainRecipes) !== null && get().trainRecipes.kind === "ready") return;
      try {
        const recipes = await engine.call("train.recipes", {});
        const { trainForm } = get();
        const recipe = recipeOf(recipes, trainForm?.recipe) ?? recipes.recipes[0];
        set({ trainRecipes: { kind: "ready", value: recipes } });
        if (recipe !== undefined) set({ trainForm: trainForm?.recipe === recipe.id ? trainForm : formOf(recipe) });
      } catch (error) {
        if (!isCancelled(error)) set({ trainRecipes: failed(error) });
      }
    },
    chooseRecipe(id) {
      const recipe = recipeOf(current(get().trainRecipes), id);
      if (recipe === null || get().trainForm?.recipe === id) return;
      questions.drop();
      set({ trainForm: formOf(recipe), trainPlan: IDLE });
    },
    setTrain(part) {
      const { trainForm } = get();
      if (trainForm !== null) set({ trainForm: { ...trainForm, ...part } });
    },
    askedTraining() {
      const { trainForm: form, trainRecipes, trainPlan, model } = get();
      const recipes = current(trainRecipes);
      const recipe = recipeOf(recipes, form?.recipe);
      if (form === null || recipes === null || recipe === null) return null;
      const suggestedPath = current(trainPlan)?.suggestedPath ?? null;
      return askedOf(form, { recipe, optimizers: recipes.optimizers, open: current(model), suggestedPath });
    },
    async planTraining() {
      const asked = get().askedTraining();
      if (asked === null) return;
      if (!asked.ok) {
        questions.drop();
        set({ trainPlan: IDLE });
        return;
      }
      // Where it is written is no part of what it comes to.
      const { output: _, ...spec } = asked.spec;
      await questions.ask(
        get().trainPlan,
        () => engine.call("train.plan", spec),
        (trainPlan) => set({ trainPlan }),
      );
    },
    async startTraining() {
      const { trainRun, trainRecipes } = get();
      const asked = get().askedTraining();
      if (asked?.ok !== true || (trainRun !== null && !isOver(trainRun))) return;
      const { spec } = asked;
      const { signal, isCurrent } = task.begin();
      const title = spec.title ?? recipeOf(current(trainRecipes), spec.recipe)?.title ?? spec.recipe;
      set({ trainRun: newRun(spec, title, Date.now()), trainFormShown: false });
      get().noteCommand({ kind: "train", spec });
      try {
        for await (const item of engine.stream("train.start", spec, { signal })) {
          if (!isCurrent()) return;
          const { trainRun: before } = get();
          if (before !== null) set({ trainRun: withItem(before, item) });
        }
      } catch (error) {
        if (isCurrent() && !isCancelled(error)) change({ state: "failed", error: toWireError(error) });
      } finally {
        const { trainRun: after } = get();
        if (isCurrent()) {
          if (after !== null && !isOver(after)) change({ state: "dropped" });
          // What was wrong with the form is mended in the form.
          if ((after?.started ?? null) === null) set({ trainFormShown: true });
          await get().loadTrainRuns();
        }
      }
    },
    pauseTraining: () => ask("train.pause", { during: "pausing", refused: "The training could not be paused" }),
    resumeTraining: () => ask("train.resume", { during: "resuming", refused: "The training could not go on" }),
    stopTraining: () => ask("train.stop", { during: "stopping", refused: "The training could not be stopped" }),
    dropTraining: task.stop,
    showTrainForm: (trainFormShown) => set({ trainFormShown }),
    trainLike(spec) {
      const recipe = recipeOf(current(get().trainRecipes), spec.recipe);
      if (recipe === null) {
        const text = `This version of the workbench has no recipe ${spec.recipe}.`;
        get().notify({
          level: "warning",
          title: "This run cannot be repeated",
          code: null,
          text,
          hint: null,
          details: null,
        });
        return;
      }
      set({ trainForm: formOfSpec(recipe, spec), trainFormShown: true, trainPlan: IDLE });
    },
    async openTrained({ opens, path, model: of }) {
      if (opens === "no") return;
      if (opens === "model") {
        await get().open({ kind: "path", path });
        return;
      }
      const open = current(get().model);
      if (open === null || (of !== null && open.file?.path !== of)) {
        if (of === null) return;
        await get().open({ kind: "path", path: of });
        if (current(get().model) === null) return;
      }
      const { adapters } = get();
      if (!adapters.some((each) => each.path === path)) await get().setAdapters([...adapters, { path, scale: 1 }]);
      get().setTab("run");
    },
    setCurveView: (part) => set({ curveView: { ...get().curveView, ...part } }),
  };
}
