/** The model in smaller types: the plan of a recipe, progress, and the report. */
import type { QuantizeItem, QuantizePlanView } from "../../../main/contract/views/quantize.ts";
import type { WireError } from "../../../main/diagnostics/errors.ts";
import { toWireError } from "../../../main/diagnostics/errors.ts";
import type { Async } from "../../session/async.ts";
import { createQuestions, createTask, current, IDLE, isCancelled } from "../../session/async.ts";
import type { SliceTools } from "../../session/slice.ts";

export type QuantizeReport = Extract<QuantizeItem, { kind: "done" }>;
export type QuantizeProgress = Extract<QuantizeItem, { kind: "progress" }>;

export interface QuantizeSlice {
  readonly recipe: string;
  /** A path on the engine's machine; empty for none. */
  readonly importancePath: string;
  readonly quantizePlan: Async<QuantizePlanView>;
  readonly quantizePath: string;
  readonly quantizeOverwrite: boolean;
  readonly quantizeProgress: QuantizeProgress | null;
  readonly quantizeRunning: boolean;
  readonly quantizeSince: number;
  readonly quantizeReport: QuantizeReport | null;
  readonly quantizeError: WireError | null;
  readonly quantizeSaid: string;
  readonly setRecipe: (recipe: string) => void;
  readonly setImportancePath: (path: string) => void;
  readonly setQuantizePath: (path: string) => void;
  readonly setQuantizeOverwrite: (on: boolean) => void;
  readonly loadQuantizePlan: () => Promise<void>;
  readonly startQuantize: () => Promise<void>;
  readonly stopQuantize: () => void;
}

const START = "q4_k_m";
const CANCELLED = "Cancelled. Nothing was left behind.";
const NO_QUANTIZE = {
  recipe: START,
  importancePath: "",
  quantizePlan: IDLE,
  quantizePath: "",
  quantizeOverwrite: false,
  quantizeProgress: null,
  quantizeRunning: false,
  quantizeReport: null,
  quantizeError: null,
  quantizeSaid: "",
} as const;

export function createQuantizeSlice({ engine, set, get, on }: SliceTools<QuantizeSlice>): QuantizeSlice {
  const task = createTask();
  const plans = createQuestions();
  let suggested = "";
  on("modelLeft", ({ opensAgain }) => {
    if (opensAgain) return;
    task.abandon();
    plans.drop();
    suggested = "";
    set(NO_QUANTIZE);
  });
  const choice = (model: string): { model: string; recipe: string; importance?: string } => {
    const { recipe, importancePath } = get();
    const importance = importancePath.trim();
    return { model, recipe, ...(importance === "" ? {} : { importance }) };
  };
  return {
    ...NO_QUANTIZE,
    quantizeSince: 0,
    setRecipe(recipe) {
      set({ recipe, quantizeError: null });
      void get().loadQuantizePlan();
    },
    setImportancePath(importancePath) {
      set({ importancePath, quantizeError: null });
      void get().loadQuantizePlan();
    },
    // An error was about the path before.
    setQuantizePath: (quantizePath) => set({ quantizePath, quantizeError: null }),
    setQuantizeOverwrite: (quantizeOverwrite) => set({ quantizeOverwrite, quantizeError: null }),
    async loadQuantizePlan() {
      const open = current(get().model);
      if (open === null || open.file === null) return;
      await plans.ask(
        get().quantizePlan,
        () => engine.call("quantize.plan", choice(open.model)),
        (plan) => {
          set({ quantizePlan: plan });
          if (plan.kind !== "ready") return;
          // A path that a person typed stays; a suggestion follows the recipe.
          const { quantizePath } = get();
          if (quantizePath === "" || quantizePath === suggested) set({ quantizePath: plan.value.suggestedPath });
          suggested = plan.value.suggestedPath;
        },
      );
    },
    async startQuantize() {
      const { model, quantizePath: path, quantizeOverwrite: overwrite, quantizeRunning } = get();
      const open = current(model);
      if (open === null || quantizeRunning || path.trim() === "") return;
      const { signal, isCurrent } = task.begin();
      set({
        quantizeRunning: true,
        quantizeSince: Date.now(),
        quantizeProgress: null,
        quantizeError: null,
        quantizeSaid: "",
      });
      get().noteCommand({ kind: "quantize", recipe: get().recipe, path });
      try {
        let done = false;
        const input = { ...choice(open.model), path: path.trim(), overwrite };
        for await (const item of engine.stream("quantize.run", input, { signal })) {
          if (!isCurrent()) return;
          if (item.kind === "done") {
            done = true;
            set({ quantizeReport: item, quantizeProgress: null });
          } else set({ quantizeProgress: item });
        }
        if (!done && isCurrent()) set({ quantizeSaid: CANCELLED });
      } catch (error) {
        if (!isCurrent()) return;
        if (isCancelled(error)) set({ quantizeSaid: CANCELLED });
        else set({ quantizeError: toWireError(error) });
      } finally {
        if (isCurrent()) set({ quantizeRunning: false, quantizeProgress: null });
      }
    },
    stopQuantize: task.stop,
  };
}
