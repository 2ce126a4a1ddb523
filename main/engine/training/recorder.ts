/** The record of a run, kept up to date by what the run tells. */
import type { TrainItem, TrainRow, TrainRun, TrainSpec, TrainState } from "../../contract/views/train.ts";
import { Curve } from "./curves.ts";

type Started = Extract<TrainItem, { readonly kind: "started" }>;
type Validated = TrainRun["validation"][number];
type Sampled = TrainRun["samples"][number];

/** Points of each of these that are kept: the last ones. */
const MOST_POINTS = 1000;

export class Recorder {
  readonly #spec: TrainSpec;
  readonly #started: Started;
  readonly #curve = new Curve();
  readonly #validation: Validated[] = [];
  readonly #samples: Sampled[] = [];
  readonly #at = Date.now();
  #row: TrainRow;
  #norms: TrainRun["norms"] = [];
  #alarm: TrainRun["alarm"] = null;
  #quantized: TrainRun["quantized"] = null;

  constructor(spec: TrainSpec, started: Started) {
    this.#spec = spec;
    this.#started = started;
    const { run, title, recipe, device, from, steps, trainedParameters } = started;
    this.#row = {
      ...{ run, title, recipe, device, steps },
      at: this.#at,
      state: "running",
      step: from,
      ...{ seconds: 0, stepsPerSecond: 0 },
      parameters: trainedParameters,
      ...{ loss: null, validation: null, results: [], problem: null },
    };
  }

  get row(): TrainRow {
    return this.#row;
  }

  take(item: TrainItem): void {
    switch (item.kind) {
      case "steps":
        return this.#takeSteps(item);
      case "validation": {
        const { step, loss, accuracy } = item;
        this.#validation.push({ step, loss, accuracy });
        if (this.#validation.length > MOST_POINTS) this.#validation.shift();
        return this.#change({ validation: Number.isFinite(loss) ? loss : null });
      }
      case "sample": {
        const { step, prompt, text } = item;
        this.#samples.push({ step, prompt, text });
        if (this.#samples.length > MOST_POINTS) this.#samples.shift();
        return;
      }
      case "quantized":
        this.#quantized = item.quantized;
        return;
      case "norms":
        this.#norms = item.norms;
        return;
      case "alarm":
        this.#alarm = item.alarm;
        return this.#change({ problem: item.alarm.sentence });
      case "paused":
        return this.#change({ state: "paused" });
      case "resumed":
        return this.#change({ state: "running" });
      case "done": {
        const { state, steps, seconds, stepsPerSecond, loss, validation, results } = item;
        return this.#change({ state, step: steps, seconds, stepsPerSecond, loss, validation, results });
      }
      default:
        return;
    }
  }

  /** It ended without saying so itself. */
  end(state: TrainState, problem: string | null): void {
    this.#change({ state, problem });
  }

  run(): TrainRun {
    const { settings, update, memory, data } = this.#started;
    return {
      ...{ settings, update, memory, data },
      row: this.#row,
      spec: this.#spec,
      curve: this.#curve.columns(),
      validation: [...this.#validation],
      samples: [...this.#samples],
      norms: this.#norms,
      quantized: this.#quantized,
      alarm: this.#alarm,
    };
  }

  #takeSteps(item: Extract<TrainItem, { readonly kind: "steps" }>): void {
    const { step, loss, rate, norm, scale, elapsedSeconds, stepsPerSecond } = item;
    step.forEach((at, i) =>
      this.#curve.add({
        step: at,
        loss: loss[i] ?? NaN,
        rate: rate[i] ?? NaN,
        norm: norm[i] ?? NaN,
        scale: scale[i] ?? NaN,
      }),
    );
    const last = loss.at(-1) ?? NaN;
    this.#change({
      step: step.at(-1) ?? this.#row.step,
      loss: Number.isFinite(last) ? last : null,
      seconds: elapsedSeconds,
      stepsPerSecond,
    });
  }

  #change(change: Partial<TrainRow>): void {
    this.#row = { ...this.#row, ...change };
  }
}
