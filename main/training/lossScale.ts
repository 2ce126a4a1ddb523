/**
 * Loss scaling for f16, whose small gradients would be zero: the loss is multiplied by a scale, and the gradients divided by it.
 * Dynamic, as in Micikevicius et al. 2018: halved where a gradient is no number, and doubled after a while without that.
 */
import { WorkbenchError } from "../diagnostics/errors.ts";

export interface LossScaleOptions {
  readonly start?: number;
  /** Steps with finite gradients after which the scale is doubled. */
  readonly growAfter?: number;
  readonly largest?: number;
}

export interface LossScaleState {
  readonly scale: number;
  /** Steps with finite gradients since the last one without. */
  readonly good: number;
}

export class LossScale {
  readonly #growAfter: number;
  readonly #largest: number;
  #scale: number;
  #good = 0;

  constructor({ start = 2 ** 10, growAfter = 2000, largest = 2 ** 15 }: LossScaleOptions = {}) {
    for (const [name, value] of Object.entries({ start, growAfter, largest }))
      if (!Number.isFinite(value) || value < 1)
        throw new WorkbenchError("INPUT_ARGUMENT", `[lossScale] ${name}: got ${value}, expected a number from 1`);
    this.#scale = Math.min(start, largest);
    this.#growAfter = growAfter;
    this.#largest = largest;
  }

  get scale(): number {
    return this.#scale;
  }

  /** What the next step depends on. */
  get state(): LossScaleState {
    return { scale: this.#scale, good: this.#good };
  }

  set state({ scale, good }: LossScaleState) {
    this.#scale = scale;
    this.#good = good;
  }

  /** After a step; true where its gradients may be used. */
  after(isFinite: boolean): boolean {
    this.#good = isFinite ? this.#good + 1 : 0;
    if (!isFinite) this.#scale = Math.max(1, this.#scale / 2);
    else if (this.#good % this.#growAfter === 0) this.#scale = Math.min(this.#largest, this.#scale * 2);
    return isFinite;
  }
}
