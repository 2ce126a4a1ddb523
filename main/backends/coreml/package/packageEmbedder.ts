/**
 * Whole texts through a package, over any package runner: a text takes the smallest function that it fits into, and what
 * it leaves of it is padding, which the function's mask hides.
 */
import { invariant, WorkbenchError } from "../../../diagnostics/errors.ts";
import type { FunctionBindings } from "../export.ts";
import type { FeatureBinding } from "../lowering/lower.ts";
import type { PackageRunner } from "./packageRunner.ts";
import type { PackageTensor } from "./packageTensor.ts";
import { packageTensor } from "./packageTensor.ts";

/** Names of the graph's inputs and result. */
export interface TextNames {
  readonly tokens: string;
  readonly length: string;
  readonly embedding: string;
}

interface TextFunction {
  readonly name: string;
  readonly bindings: readonly FeatureBinding[];
  readonly tokens: number;
}

export class PackageEmbedder {
  /** Most tokens of a text. */
  readonly largestText: number;
  readonly #runner: PackageRunner;
  readonly #names: TextNames;
  /** The smallest first. */
  readonly #functions: readonly TextFunction[];

  constructor(runner: PackageRunner, bindings: FunctionBindings, names: TextNames) {
    this.#runner = runner;
    this.#names = names;
    this.#functions = Object.entries(bindings)
      .map(([name, list]) => {
        const tokens = list.find((b) => b.kind === "input" && b.name === names.tokens)?.shape[0] ?? 0;
        return { name, bindings: list, tokens };
      })
      .filter(({ tokens }) => tokens > 0)
      .sort((a, b) => a.tokens - b.tokens);
    this.largestText = this.#functions.at(-1)?.tokens ?? 0;
  }

  /** Rows of the text: [tokens or 1, width]. */
  async embed(tokens: Int32Array, signal?: AbortSignal): Promise<{ rows: number; width: number; data: Float32Array }> {
    const f = this.#functions.find((each) => each.tokens >= tokens.length);
    if (f === undefined)
      throw new WorkbenchError(
        "RUN_CONTEXT_FULL",
        `[${this.#runner.label}] got a text of ${tokens.length} tokens, expected at most ${this.largestText}`,
      );
    const padded = new Int32Array(f.tokens);
    padded.set(tokens);
    const given: Readonly<Record<string, ArrayLike<number>>> = {
      [this.#names.tokens]: padded,
      [this.#names.length]: [tokens.length],
    };
    const inputs: Record<string, PackageTensor> = {};
    for (const b of f.bindings) {
      if (b.kind !== "input") continue;
      const data = given[b.name] ?? this.#unknown(b.name);
      inputs[b.feature] = packageTensor(b.dtype, b.shape, data);
    }
    const made = await this.#runner.function(f.name).predict(inputs, signal === undefined ? {} : { signal });
    const output = f.bindings.find((b) => b.kind === "output" && b.name === this.#names.embedding);
    const value = output && made[output.feature];
    invariant(value, `${f.name} gave no ${this.#names.embedding}`);
    const [all = 1, width = 0] = value.shape;
    const rows = all === f.tokens && all > 1 ? tokens.length : all;
    return { rows, width, data: Float32Array.from(value.data.subarray(0, rows * width)) };
  }

  #unknown(input: string): never {
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[${this.#runner.label}] the package wants an input ${input} that a text does not have`,
      { hint: "Export the model again." },
    );
  }
}
