/**
 * A compiled model as a package runner: its functions are loaded when first called, features cross as typed arrays, halves are
 * converted in native code. A state is made by the function that needs it first and shared with the others.
 */
import type {
  PackageFunction,
  PackageRunner,
  PackageRunOptions,
  PackageState,
} from "../../../backends/coreml/package/packageRunner.ts";
import type { PackageTensor } from "../../../backends/coreml/package/packageTensor.ts";
import { packageTensor } from "../../../backends/coreml/package/packageTensor.ts";
import type { MilDtype } from "../../../backends/coreml/mil/types.ts";
import { isFloat } from "../../../backends/coreml/mil/types.ts";
import { invariant, WorkbenchError } from "../../../diagnostics/errors.ts";
import type { CoremlBridge, CoremlInput, CoremlModel, CoremlOutput, CoremlState, CoremlUnit } from "./native.ts";

const MIL_TYPES: Readonly<Record<string, MilDtype>> = {
  f16: "fp16",
  f32: "fp32",
  i32: "int32",
  i8: "int8",
};

/** A state that the first function creates. Earlier writes wait for it. */
class BridgeState implements PackageState {
  #held: CoremlState | undefined;
  #written = new Map<string, PackageTensor>();

  async of(model: CoremlModel): Promise<CoremlState | undefined> {
    if (this.#held === undefined && model.states.length > 0) this.#held = model.newState();
    for (const [name, tensor] of this.#written) await this.#held?.write(toFeature(name, tensor));
    this.#written = new Map();
    return this.#held;
  }

  async copy(): Promise<BridgeState> {
    const copy = new BridgeState();
    copy.#held = await this.#held?.copy();
    copy.#written = new Map(this.#written);
    return copy;
  }

  async read(name: string): Promise<PackageTensor | undefined> {
    const written = this.#written.get(name);
    if (written !== undefined || this.#held === undefined) return written;
    return fromFeature(await this.#held.read(name));
  }

  write(name: string, tensor: PackageTensor): void {
    this.#written.set(name, tensor);
  }

  dispose(): void {
    this.#held?.dispose();
    this.#held = undefined;
    this.#written = new Map();
  }
}

function toFeature(name: string, tensor: PackageTensor): CoremlInput {
  // A feature has at least one dim; a scalar is one element.
  const shape = tensor.shape.length === 0 ? [1] : tensor.shape;
  if (tensor.dtype === "int8") return { name, shape, data: Int8Array.from(tensor.data) };
  return { name, shape, data: tensor.data };
}

/** `type`: as the model declares it, which Core ML may give in another. */
function fromFeature(output: CoremlOutput, type: string = output.type): PackageTensor {
  const dtype = MIL_TYPES[type];
  invariant(dtype, `a type for ${output.name}`);
  return packageTensor(dtype, output.shape, isFloat(dtype) ? output.data : Int32Array.from(output.data));
}

export interface BridgeRunnerOptions {
  readonly compiled: string;
  readonly units: CoremlUnit;
  /** Of functions that read prompts; those of the others without it. */
  readonly prefillUnits?: CoremlUnit;
  /** Several functions are chosen by name; a single one is the default. */
  readonly functions: readonly string[];
  /** Input shapes change from call to call: the system optimises for each. */
  readonly flexible?: boolean;
}

/** One prediction by the clock. */
export interface PredictionTimes {
  readonly function: string;
  /** On the clock of performance.now(), in seconds. */
  readonly start: number;
  /** From the call to the last output copied. */
  readonly seconds: number;
  /** Inside Core ML. */
  readonly systemSeconds: number;
}

export class BridgeRunner implements PackageRunner {
  readonly label = "coreml";
  readonly truth: PackageRunner["truth"];
  /** Called for every prediction, for the profiler. */
  onPrediction: ((times: PredictionTimes) => void) | undefined;
  /** Seconds that loading took, over all functions. */
  loadSeconds = 0;
  readonly #bridge: CoremlBridge;
  readonly #options: BridgeRunnerOptions;
  readonly #models = new Map<string, Promise<CoremlModel>>();

  constructor(bridge: CoremlBridge, options: BridgeRunnerOptions) {
    this.#bridge = bridge;
    this.#options = options;
    this.truth = bridge.truth;
  }

  newState(): BridgeState {
    return new BridgeState();
  }

  function(name: string): PackageFunction {
    return { predict: (inputs, options = {}) => this.#predict(name, inputs, options) };
  }

  /** The model of a function; loading it is not cancelled, because the next call needs it too. */
  load(name: string): Promise<CoremlModel> {
    const known = this.#models.get(name);
    if (known !== undefined) return known;
    const { compiled, functions, prefillUnits, flexible = false } = this.#options;
    const units = (name.startsWith("prefill") ? prefillUnits : undefined) ?? this.#options.units;
    const chosen = functions.length > 1 ? { function: name } : {};
    const loaded = this.#bridge.load(compiled, { units, infrequentReshape: flexible, ...chosen });
    this.#models.set(name, loaded);
    loaded.then(
      (model) => (this.loadSeconds += model.loadSeconds),
      () => this.#models.delete(name),
    );
    return loaded;
  }

  async #predict(
    name: string,
    inputs: Readonly<Record<string, PackageTensor>>,
    { state, signal }: PackageRunOptions,
  ): Promise<Readonly<Record<string, PackageTensor>>> {
    const model = await this.load(name);
    if (state !== undefined && !(state instanceof BridgeState))
      throw new WorkbenchError("BUG_INVARIANT", "[coreml] a state of another runner");
    const held = await state?.of(model);
    const given = Object.entries(inputs).map(([input, tensor]) => toFeature(input, tensor));
    const start = performance.now() / 1000;
    const made = await model.predict(given, {
      ...(held === undefined ? {} : { state: held }),
      ...(signal === undefined ? {} : { signal }),
    });
    this.onPrediction?.({ function: name, start, seconds: made.seconds, systemSeconds: made.systemSeconds });
    return Object.fromEntries(
      made.outputs.map((output) => {
        const feature = model.outputs.find((one) => one.name === output.name);
        return [output.name, fromFeature(output, feature?.type)];
      }),
    );
  }

  async dispose(): Promise<void> {
    const loaded = await Promise.allSettled(this.#models.values());
    this.#models.clear();
    for (const one of loaded) if (one.status === "fulfilled") one.value.dispose();
  }
}
