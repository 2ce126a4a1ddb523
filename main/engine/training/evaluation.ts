/** What is measured beside a training: the loss over held data, and what the model writes. Each compiles its graph once. */
import type { Graph } from "../../ir/graph.ts";
import { numbersIn } from "../../ir/hostBytes.ts";
import type { FetchedTensor } from "../../ir/session.ts";
import { inputsOf } from "../../runtime/device.ts";
import { typedInputs } from "../../runtime/numbers.ts";
import { randomOf } from "../../training/data/order.ts";
import type { Validation, Writing } from "../../training/recipes/recipe.ts";
import type { TrainingSession } from "../../training/session.ts";
import type { TrainingDevice, TrainingRunner } from "../../training/trainingDevice.ts";
import { othersFirst } from "../models/taskCache.ts";

type Arrays = Readonly<Record<string, Float32Array>>;

/** Weights as they are to be used. */
export async function weightsOf(session: TrainingSession): Promise<Arrays> {
  const params = await session.params(true);
  return Object.fromEntries(Object.entries(params).map(([name, { data }]) => [name, Float32Array.from(data)]));
}

const numbersOf = (outputs: Readonly<Record<string, FetchedTensor>>, name: string): ArrayLike<number> => {
  const tensor = outputs[name];
  return tensor === undefined ? [] : numbersIn(tensor.dtype, tensor.bytes);
};

export interface Measured {
  readonly loss: number;
  readonly accuracy: number | null;
}

export class Evaluation {
  readonly #device: TrainingDevice;
  readonly #opened = new Map<Graph, Promise<TrainingRunner>>();

  constructor(device: TrainingDevice) {
    this.#device = device;
  }

  #open(graph: Graph): Promise<TrainingRunner> {
    const opened = this.#opened.get(graph);
    if (opened !== undefined) return opened;
    const runner = this.#device.open(graph, "f32");
    this.#opened.set(graph, runner);
    return runner;
  }

  async validate({ graph, batches, hasAnswers }: Validation, weights: Arrays, signal: AbortSignal): Promise<Measured> {
    const runner = await this.#open(graph);
    const inputs = inputsOf(graph);
    let [loss, correct] = [0, 0];
    for (const batch of batches) {
      const fetch = hasAnswers ? ["loss", "correct"] : ["loss"];
      const made = await runner.run(typedInputs(inputs, { ...weights, ...batch }), fetch, signal);
      loss += numbersOf(made, "loss")[0] ?? NaN;
      if (hasAnswers) correct += numbersOf(made, "correct")[0] ?? NaN;
      await othersFirst();
    }
    return { loss: loss / batches.length, accuracy: hasAnswers ? correct / batches.length : null };
  }

  /** Token by token: the window holds the last ones, and what comes behind them is not looked at. */
  async write(
    { graph, input, length, words, ...text }: Writing,
    weights: Arrays,
    asked: { readonly prompt: string; readonly tokens: number; readonly temperature: number; readonly seed: number },
    signal: AbortSignal,
  ): Promise<string> {
    const runner = await this.#open(graph);
    const random = randomOf(asked.seed, 0x53414d50);
    const ids = [...text.encode(asked.prompt)];
    if (ids.length === 0) ids.push(0);
    const begin = ids.length;
    while (ids.length < begin + asked.tokens) {
      const seen = ids.slice(-length);
      const window = new Int32Array(length);
      window.set(seen);
      const made = await runner.run({ ...weights, [input]: window }, ["logits"], signal);
      const logits = Array.from(
        { length: words },
        (_, i) => numbersOf(made, "logits")[(seen.length - 1) * words + i] ?? NaN,
      );
      ids.push(drawn(logits, asked.temperature, random()));
      await othersFirst();
    }
    return text.decode(ids.slice(begin));
  }

  async dispose(): Promise<void> {
    for (const opened of this.#opened.values()) {
      const runner = await opened.catch(() => undefined);
      await runner?.dispose();
    }
  }
}

/** The place of the largest at temperature 0; else by chance, as softmax shares it out. */
function drawn(logits: readonly number[], temperature: number, chance: number): number {
  const largest = logits.reduce((most, value) => Math.max(most, value), -Infinity);
  if (temperature === 0) return Math.max(0, logits.indexOf(largest));
  const shares = logits.map((value) => Math.exp((value - largest) / temperature));
  let left = chance * shares.reduce((sum, share) => sum + share, 0);
  const found = shares.findIndex((share) => (left -= share) < 0);
  return found < 0 ? shares.length - 1 : found;
}
