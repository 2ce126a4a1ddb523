/** Pause, resume and stop of a run from outside. A run asks between two steps. */
import { throwIfCancelled } from "../../diagnostics/errors.ts";

export class Control {
  #isPaused = false;
  #isStopped = false;
  #wake: (() => void) | undefined;

  get isPaused(): boolean {
    return this.#isPaused;
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.#wake?.();
  }

  stop(): void {
    this.#isStopped = true;
    this.#wake?.();
  }

  /** Until it goes on or ends. */
  async rest(signal: AbortSignal): Promise<void> {
    while (this.#isPaused && !this.#isStopped) {
      throwIfCancelled(signal);
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          signal.removeEventListener("abort", wake);
          this.#wake = undefined;
          resolve();
        };
        this.#wake = wake;
        signal.addEventListener("abort", wake, { once: true });
      });
    }
    throwIfCancelled(signal);
  }
}
