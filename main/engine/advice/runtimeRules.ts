/** Advice beyond one program: another runtime, other threads, another file. */
import type { Backend } from "../../contract/views/graph.ts";
import { BACKENDS, RUNTIMES } from "../../contract/views/graph.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { planQuantize } from "../../quantize/plan.ts";
import type { QuantizePlan } from "../../quantize/plan.ts";
import { recipeOf } from "../../quantize/recipes.ts";
import { heldAsStored } from "../../ir/heldBytes.ts";
import { secondsText } from "../measure/advice.ts";
import { bytesFigure } from "../measure/forecast.ts";
import { heldBytes } from "../measure/shape.ts";
import { counted } from "../words.ts";
import type { AdviceRule, StepForecast, Subject } from "./rule.ts";
import type { Span } from "./seconds.ts";
import { stepText, timesText } from "./words.ts";

/** A runtime is advised where it is clearly ahead: its slow end is not far behind the other's middle. */
const CLEARLY = 1.2;

export const otherRuntime: AdviceRule = {
  name: "runtime",
  title: "Run it on another runtime",
  backends: BACKENDS.map(({ backend }) => backend),
  async find(subject) {
    const now = await subject.forecast(subject.backend);
    if (now === undefined) return undefined;
    const others: (StepForecast & { readonly of: Backend })[] = [];
    for (const { backend } of BACKENDS) {
      const found = backend === subject.backend ? undefined : await subject.forecast(backend);
      if (found !== undefined) others.push({ ...found, of: backend });
    }
    const [best] = others.sort((a, b) => a.seconds.value - b.seconds.value);
    if (best === undefined || now.seconds.value < CLEARLY * best.seconds.value) return undefined;
    return {
      claim: runtimeClaim(subject, now, best),
      ops: [],
      before: now.seconds,
      after: best.seconds,
      change: { kind: "backend", backend: best.of },
      risk: subject.model.isGraphAlone
        ? "Another program with other roundings."
        : "Another program with other roundings: answers may differ where two tokens are close.",
    };
  },
};

function runtimeClaim(subject: Subject, now: StepForecast, best: StepForecast): string {
  const [step, before, after] = [stepText(subject), secondsText(now.seconds.value), secondsText(best.seconds.value)];
  if (now.short || best.short)
    return `${best.title} is predicted to take ${after} for ${step} where ${now.title} takes ${before}. Such short steps are mostly starting things, which no forecast knows well: measure both.`;
  const less = `${timesText(now.seconds.value, best.seconds.value)} less time`;
  return `${best.title} reads ${bytesFigure(best.bytes)} for ${step} where ${now.title} reads ${bytesFigure(now.bytes)}, and takes ${after} where ${now.title} takes ${before}: ${less}, by bytes against memory bandwidth, arithmetic against the rate, and what starting takes.`;
}

/** What a step can gain where it waits for the slowest core: nothing where memory decides, a quarter where arithmetic does. */
const WAITING = 0.25;

export const fewerThreads: AdviceRule = {
  name: "threads",
  title: "Use the fast cores only",
  backends: [RUNTIMES.cpu],
  async find(subject) {
    const { threads, fastCores } = subject;
    if (fastCores === undefined || threads <= fastCores) return undefined;
    const now = await subject.forecast(RUNTIMES.cpu);
    if (now === undefined || now.short) return undefined;
    const times = (span: Span, by: number): Span => ({
      value: span.value * by,
      low: span.low * by,
      high: span.high * by,
    });
    return {
      claim: `${counted(threads, "thread")} share the work, and ${counted(fastCores, "core")} of this machine are equally fast: ${stepText(subject)} waits for the slowest.`,
      ops: [],
      before: now.seconds,
      after: times(now.seconds, 1 - WAITING / 2),
      gain: { value: (now.seconds.value * WAITING) / 2, low: 0, high: now.seconds.value * WAITING },
      change: { kind: "threads", threads: fastCores },
      risk: "None where memory decides; a few per cent are lost where the slow cores would have helped. Measure it.",
    };
  },
};

/** The one that loses little and is made from anything. */
const RECIPE = "q4_k_m";
/** A smaller file is advised where it has a fifth less to read. */
const SMALLER = 0.8;

function plannedAs(subject: Subject, recipe: string): QuantizePlan | undefined {
  const { file } = subject.model;
  if (file === undefined) return undefined;
  try {
    return planQuantize(file, { recipe: recipeOf(recipe) });
  } catch (error) {
    // A file that cannot be quantised is no subject of this advice.
    if (error instanceof WorkbenchError && !error.code.startsWith("BUG_")) return undefined;
    throw error;
  }
}

export const quantisation: AdviceRule = {
  name: "quantisation",
  title: "Take a smaller quantisation",
  backends: [RUNTIMES.mlx, RUNTIMES.cpu],
  async find(subject) {
    if (subject.phase !== "decode") return undefined;
    const now = await subject.forecast(subject.backend);
    const plan = now === undefined || now.short ? undefined : plannedAs(subject, RECIPE);
    if (now === undefined || plan === undefined) return undefined;
    const before = heldBytes(subject.model.requireFile("advice").tensors, heldAsStored);
    const ratio = plan.byteLength / before;
    if (ratio > SMALLER) return undefined;
    const after = { value: now.seconds.value * ratio, low: now.seconds.low * ratio, high: now.seconds.high };
    return {
      claim: `${bytesFigure(before)} of weights are read for each token. As ${RECIPE.toUpperCase()} they are ${bytesFigure(plan.byteLength)}, ${plan.bitsPerWeight.toFixed(1)} bits a weight.`,
      ops: [],
      before: now.seconds,
      after,
      change: { kind: "quantize", recipe: RECIPE },
      risk: "Quality: measure it with `rlx score` before and after. Weights that are packed already lose more.",
    };
  },
};
