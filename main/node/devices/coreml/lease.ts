/** A session on Core ML for one job; what happens until it is there can take minutes and is told as phases. */
import type { PlanTarget } from "../../../backends/coreml/plan/target.ts";
import type { PhaseItem, TargetSpec } from "../../../contract/views/common.ts";
import type { CpuAccess } from "../../../engine/devices.ts";
import { during } from "../../../engine/during.ts";
import type { OpenModel } from "../../../engine/models/openModel.ts";
import { planTarget } from "../../../engine/models/routes.ts";
import type { CoremlAccess } from "./device.ts";
import type { BridgeTruth } from "./native.ts";
import type { CoremlSession } from "./session.ts";
import { openCoremlSession } from "./session.ts";
import type { TrialProgress } from "./trial.ts";
import { TRIAL_SENTENCES } from "./trial.ts";

export interface CoremlLease extends Omit<CoremlSession, "dispose"> {
  readonly target: PlanTarget;
  release(): Promise<void>;
}

export interface LeaseParts {
  readonly coreml: CoremlAccess;
  readonly cpu: CpuAccess;
  readonly initialTarget: TargetSpec;
}

export async function* coremlLease(
  parts: LeaseParts,
  model: OpenModel,
  context: number | null,
  signal: AbortSignal,
): AsyncGenerator<PhaseItem, CoremlLease> {
  const stated = { ...parts.initialTarget, context: context ?? parts.initialTarget.context };
  const target = planTarget(model, stated, "decode");
  const steps = during<TrialProgress, CoremlSession>((emit) =>
    openCoremlSession(parts.coreml, { model, target, engine: parts.cpu.engine(), signal, onProgress: emit }),
  );
  let next = await steps.next();
  while (next.done !== true) {
    const { stage, elapsedSeconds } = next.value;
    yield { kind: "phase", name: stage, sentence: TRIAL_SENTENCES[stage], fraction: null, elapsedSeconds };
    next = await steps.next();
  }
  const opened = next.value;
  const { session, runner, compiled } = opened;
  return { session, runner, compiled, target, release: () => opened.dispose() };
}

/** How times of this Core ML come about. */
export const coremlTruth = (coreml: CoremlAccess): BridgeTruth => coreml.bridge().truth;
