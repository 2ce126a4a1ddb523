/**
 * What runs the functions of a package: the simulator anywhere, Core ML through the bridge on a Mac. Features are named and typed as
 * the package declares them; a state belongs to one conversation and is shared by the functions of a model.
 */
import type { PackageTensor } from "./packageTensor.ts";

export interface PackageState {
  copy(): PackageState | Promise<PackageState>;
  /** What the state of this name holds; undefined as long as nothing wrote it, which is to be read as zeros. */
  read(name: string): PackageTensor | undefined | Promise<PackageTensor | undefined>;
  /** Takes the tensor, which is the caller's no longer. */
  write(name: string, tensor: PackageTensor): void;
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
    inputs: Readonly<Record<string, PackageTensor>>,
    options?: PackageRunOptions,
  ): Promise<Readonly<Record<string, PackageTensor>>>;
}

export interface PackageRunner {
  /** In the brackets of error messages: "coreml", "coreml-sim". */
  readonly label: string;
  /** How the times of a run were obtained. */
  readonly truth: "simulated" | "measured";
  newState(): PackageState;
  function(name: string): PackageFunction;
}
