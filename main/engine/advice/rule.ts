/**
 * What a rule of advice is: a value that looks at a subject (model, runtime, target, phase) and finds what would make it faster, with
 * the ops that it is about, seconds before and after, what *Apply* changes, and what that costs.
 */
import type { Route } from "../../backends/coreml/hybrid/route.ts";
import type { PaletteBits } from "../../backends/coreml/weights/forms.ts";
import type { StepCost } from "../../compiler/cost/stepCost.ts";
import type { Phase, TargetSpec } from "../../contract/views/common.ts";
import type { AdviceChange } from "../../contract/views/advice.ts";
import type { Backend } from "../../contract/views/graph.ts";
import type { OpenModel } from "../models/openModel.ts";
import type { Span } from "./seconds.ts";

/** A forecast of one step on a runtime: seconds, and what is read for it. */
export interface StepForecast {
  readonly title: string;
  readonly seconds: Span;
  readonly bytes: number;
  /** Starting things takes most of it, or all around it takes longer: no forecast knows such a step well. */
  readonly short: boolean;
}

/** A predicted route with what a step of it costs. */
export interface CostedRoute extends Route {
  readonly cost: StepCost;
}

export interface Subject {
  readonly model: OpenModel;
  readonly backend: Backend;
  readonly target: TargetSpec;
  readonly phase: Phase;
  /** Predicted routes of the model; of the subject's phase unless another is named. */
  readonly route: (target: TargetSpec) => Promise<CostedRoute>;
  /** Undefined where there is no forecast, as for ops that the runtime cannot run. */
  readonly forecast: (backend: Backend) => Promise<StepForecast | undefined>;
  /** What a palette of so many bits would lose of the model's weights, ‖W′ − W‖ / ‖W‖; undefined where there is no data. */
  readonly paletteError: (bits: PaletteBits) => Promise<number | undefined>;
  /** That run at once, as set; and how many cores this machine has that are all equally fast, where it is known. */
  readonly threads: number;
  readonly fastCores: number | undefined;
}

export interface Finding {
  /** A sentence with numbers. */
  readonly claim: string;
  /** Nodes of the legal graph for the subject's target and phase. */
  readonly ops: readonly number[];
  readonly before: Span;
  readonly after: Span;
  /** Absent: the difference of the two. */
  readonly gain?: Span;
  readonly change: AdviceChange;
  /** What it costs, and what may go wrong. */
  readonly risk: string;
}

export interface AdviceRule {
  readonly name: string;
  readonly title: string;
  /** Runtimes that it has something to say about. */
  readonly backends: readonly Backend[];
  readonly find: (subject: Subject) => Promise<Finding | undefined>;
}
