/**
 * The device `coreml`: a package is made, compiled and tried out in a child process, then loaded here and run through the bridge.
 * Decoders and hybrid graphs run over it exactly as over the simulator.
 */
import { dirname, join } from "node:path";
import type { ShapeFlexibility } from "../../../backends/coreml/flexible.ts";
import type { PlanTarget } from "../../../backends/coreml/plan/target.ts";
import { WorkbenchError } from "../../../diagnostics/errors.ts";
import { BUILD_HASH } from "../../buildHash.ts";
import { VERSION } from "../../../contract/version.ts";
import { BridgeRunner } from "./bridgeRunner.ts";
import type { CompiledModel } from "./compiledModels.ts";
import { CompiledModels, exportKey } from "./compiledModels.ts";
import type { BridgeTruth, CoremlBridge, CoremlMachine, CoremlUnit } from "./native.ts";
import { loadCoreml } from "./native.ts";
import type { TrialKey, TrialProgress, TrialTimes } from "./trial.ts";
import { TrialBook, tryOnce } from "./trial.ts";

/** Its id in the registry. */
export const COREML = "coreml";

export interface CoremlAccess {
  /** The bridge. Throws an error that says what is missing. */
  readonly bridge: () => CoremlBridge;
  readonly models: CompiledModels;
  readonly book: TrialBook;
  /** How many new tokens the functions of a decoder take. */
  readonly flexibility: ShapeFlexibility;
  /** Hash of the sources that make packages; their version where nothing was built. */
  readonly build: string;
}

/** `addon`: path of a module instead of the usual places. */
export function coremlAccess(
  dataFolder: string,
  addon: string | null = null,
  flexibility: ShapeFlexibility = "fixed",
  build: string = BUILD_HASH ?? VERSION,
): CoremlAccess {
  let bridge: CoremlBridge | undefined;
  let failure: Error | undefined;
  return {
    bridge() {
      if (failure !== undefined) throw failure;
      try {
        return (bridge ??= loadCoreml(addon));
      } catch (error) {
        failure = error instanceof Error ? error : new Error(String(error));
        throw failure;
      }
    },
    models: new CompiledModels(dataFolder),
    book: new TrialBook(dataFolder),
    flexibility,
    build,
  };
}

const UNITS: Readonly<Record<PlanTarget["units"], CoremlUnit>> = {
  cpu: "cpu",
  "cpu-gpu": "cpu-gpu",
  all: "all",
  "cpu-ane": "cpu-ane",
};
export const unitsOf = (target: PlanTarget): CoremlUnit => UNITS[target.units];
/** Of the prefill function, where it has units of its own. */
export function prefillUnitsOf({ options }: PlanTarget): CoremlUnit | undefined {
  const units = options?.prefillUnits ?? null;
  return units === null ? undefined : UNITS[units];
}

export interface PrepareRequest {
  readonly units: CoremlUnit;
  /** What makes this package different from others: facts of its weights, target. */
  readonly facts: readonly string[];
  readonly write: (path: string) => Promise<void>;
  /** Input shapes change from call to call. */
  readonly flexible?: boolean;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: TrialProgress) => void;
}

/** Functions to try one by one; a single one is the default. */
const triedFunctions = (model: CompiledModel): readonly string[] =>
  model.functions.length > 1 ? model.functions : [""];

const trialKey = (
  model: CompiledModel,
  { os, chip }: Pick<CoremlMachine, "os" | "chip">,
  units: CoremlUnit,
  name: string,
): TrialKey => ({ model: model.content, os, chip, units, function: name });

/** The compiled and tried model of a package. It has not run in this process yet. */
export async function prepareModel(access: CoremlAccess, request: PrepareRequest): Promise<CompiledModel> {
  const bridge = access.bridge();
  const { units, signal, onProgress } = request;
  const machine = bridge.machine();
  const attempt = async (packagePath: string, model: CompiledModel): Promise<void> => {
    for (const name of triedFunctions(model))
      await tryOnce(access.book, trialKey(model, machine, units, name), {
        program: join(dirname(bridge.path), "rlx-coreml-trial"),
        packagePath,
        compiled: model.path,
        units,
        function: name,
        infrequentReshape: request.flexible === true,
        ...(signal === undefined ? {} : { signal }),
        ...(onProgress === undefined ? {} : { onProgress }),
      });
    // A deleted model is compiled again. Its verdict stands.
    await bridge.compile(packagePath, model.path, signal);
  };
  const key = exportKey(access.build, ...request.facts);
  const known = await access.models.find(key);
  if (known !== undefined) {
    await attempt(known.path, known);
    return known;
  }
  return access.models.make(key, request.write, attempt, signal);
}

/** Seconds of compile, load and first run in the trial, per function. */
export async function trialTimes(
  access: CoremlAccess,
  model: CompiledModel,
  units: CoremlUnit,
): Promise<readonly TrialTimes[]> {
  const machine = access.bridge().machine();
  const verdicts = await Promise.all(
    triedFunctions(model).map((name) => access.book.find(trialKey(model, machine, units, name))),
  );
  return verdicts.flatMap((verdict) => (verdict?.kind === "safe" ? [verdict.times] : []));
}

export function openRunner(
  access: CoremlAccess,
  model: CompiledModel,
  units: CoremlUnit,
  {
    flexible = false,
    prefillUnits,
  }: { readonly flexible?: boolean; readonly prefillUnits?: CoremlUnit | undefined } = {},
): BridgeRunner {
  const { path: compiled, functions } = model;
  return new BridgeRunner(access.bridge(), {
    ...{ compiled, units, functions, flexible },
    ...(prefillUnits !== undefined && { prefillUnits }),
  });
}

/** How its times were obtained. */
export const coremlTruth = (coreml: CoremlAccess): BridgeTruth => coreml.bridge().truth;

/** Why there is no Core ML here, in one sentence; undefined where there is. */
export function coremlMissing(access: CoremlAccess): string | undefined {
  try {
    access.bridge();
    return undefined;
  } catch (error) {
    return error instanceof WorkbenchError ? error.message.replace("[coreml] ", "") : String(error);
  }
}
