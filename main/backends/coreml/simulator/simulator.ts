/**
 * Runs a package without Core ML: reads the program and the weight file back from disk and executes MIL semantics in plain
 * TypeScript. It shows that what was written means what it should; its speed says nothing about a Mac. Every result is
 * labelled simulated.
 */
import { WorkbenchError } from "../../../diagnostics/errors.ts";
import type { OpenPackage } from "../package.ts";
import type { PackageRunner } from "../package/packageRunner.ts";
import { DEFAULT_MEMORY_LIMIT, SimulatorMemory } from "./memory.ts";
import { Constants } from "./constants.ts";
import { SimFunction, SimState } from "./simFunction.ts";

export class Simulator implements PackageRunner {
  readonly label = "coreml-sim";
  readonly truth = "simulated";
  readonly #package: OpenPackage;
  readonly #functions = new Map<string, SimFunction>();
  /** Both functions of a model use the same weights: one copy. */
  readonly #constants: Constants;

  constructor(opened: OpenPackage, memoryLimit: number = DEFAULT_MEMORY_LIMIT) {
    this.#package = opened;
    this.#constants = new Constants(opened.weights, new SimulatorMemory(memoryLimit));
  }

  get functionNames(): readonly string[] {
    return this.#package.program.functions.map((f) => f.name);
  }

  newState(): SimState {
    return new SimState();
  }

  function(name: string = this.#package.defaultFunction): SimFunction {
    const known = this.#functions.get(name);
    if (known !== undefined) return known;
    const mil = this.#package.program.functions.find((f) => f.name === name);
    if (mil === undefined)
      throw new WorkbenchError(
        "INPUT_ARGUMENT",
        `[coreml-sim] no function ${name}: this model has ${this.functionNames.join(", ")}`,
      );
    const made = new SimFunction(mil, this.#constants);
    this.#functions.set(name, made);
    return made;
  }
}
