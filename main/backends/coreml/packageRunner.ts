/**
 * Whatever runs the functions of a package: the simulator here, Core ML through the bridge on a Mac. Features are named and typed
 * as the package declares them; a state belongs to one conversation and is shared by the functions of a model.
 */
import type { SimTensor } from "./simulator/tensor.ts";

export interface PackageState {
  copy(): PackageState | Promise<PackageState>;
  /** What the state of this name holds; undefined as long as nothing wrote it, which is to be read as zeros. */
  read(name: string): SimTensor | undefined | Promise<SimTensor | undefined>;
  /** Takes the tensor, which is the caller's no longer. */
  write(name: string, tensor: SimTensor): void;
  /** Gives its memory back; harmless when there is none yet. */
  dispose(): void;
}

export interface PackageRunOptions {
  readonly state?: PackageState;
  readonly signal?: AbortSignal;
  /** Time spent per operator of the function, by index; only the simulator knows it. */
  readonly onOperation?: (index: number, milliseconds: number) => void;
}

export interface PackageFunction {
  predict(
    inputs: Readonly<Record<string, SimTensor>>,
    options?: PackageRunOptions,
  ): Promise<Readonly<Record<string, SimTensor>>>;
}

export interface PackageRunner {
  /** How the times of a run were obtained. */
  readonly label: "simulated" | "measured";
  newState(): PackageState;
  function(name: string): PackageFunction;
}
