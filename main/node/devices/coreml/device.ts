/**
 * The device `coreml`: a package is made, compiled and tried out in a child process, then loaded here and run through the bridge.
 * Decoders and hybrid graphs run over it exactly as over the simulator.
 */
import type { ShapeFlexibility } from "../../../backends/coreml/flexible.ts";
import type { PlanTarget } from "../../../backends/coreml/plan/target.ts";
import { WorkbenchError } from "../../../diagnostics/errors.ts";
import { BUILD_HASH } from "../../buildHash.ts";
import { VERSION } from "../../../contract/version.ts";
import { BridgeRunner } from "./bridgeRunner.ts";
import type { CompiledModel } from "./compiledModels.ts";
import { CompiledModels } from "./compiledModels.ts";
import { createHistories } from "../../files/histories.ts";
import type { BridgeTruth, CoremlBridge, CoremlUnit } from "./native.ts";
import { loadCoreml } from "./native.ts";
import { CompileLedger, trialKeyOf } from "./ledger.ts";
import { triedFunctions } from "./prepare.ts";
import type { TrialTimes } from "./trial.ts";
import { TrialBook } from "./trial.ts";

/** Its id in the registry. */
export const COREML = "coreml";

export interface CoremlAccess {
  /** The bridge. Throws an error that says what is missing. */
  readonly bridge: () => CoremlBridge;
  readonly models: CompiledModels;
  readonly book: TrialBook;
  readonly ledger: CompileLedger;
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
    ledger: new CompileLedger(createHistories(dataFolder)),
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

/** Seconds of compile, load and first run in the trial, per function. */
export async function trialTimes(
  access: CoremlAccess,
  model: CompiledModel,
  units: CoremlUnit,
): Promise<readonly TrialTimes[]> {
  const machine = access.bridge().machine();
  const verdicts = await Promise.all(
    triedFunctions(model).map((name) => access.book.find(trialKeyOf(model.content, machine, units, name))),
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
