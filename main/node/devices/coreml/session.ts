/** An open model as a decoder session on Core ML: exported for the target, compiled and tried out, then loaded and run. */
import type { ExportProgress } from "../../../backends/coreml/export.ts";
import { takesShapes } from "../../../backends/coreml/flexible.ts";
import type { HostedRunner } from "../../../backends/coreml/hybrid/hostedRunner.ts";
import type { PlanTarget } from "../../../backends/coreml/plan/target.ts";
import type { CpuEngine } from "../../../backends/cpu/engine.ts";
import type { DecoderSession } from "../../../runtime/decoderSession.ts";
import type { EmbedderModel } from "../../../runtime/embedderModel.ts";
import { decoderIn, embedderIn, packageDecoderSession, readerIn } from "../../../runtime/packageSession.ts";
import { exportModel } from "../../../engine/models/exporting.ts";
import { hostedPackage } from "../../../engine/models/hostedPackage.ts";
import type { OpenModel } from "../../../engine/models/openModel.ts";
import { requireDecoder, requireEmbedder } from "../../../models/architecture.ts";
import type { Pooling } from "../../../models/family.ts";
import { packageWriter } from "../../files/packageDirectory.ts";
import type { BridgeRunner } from "./bridgeRunner.ts";
import type { CompiledModel } from "./compiledModels.ts";
import type { CoremlAccess } from "./device.ts";
import { openRunner, prefillUnitsOf, unitsOf } from "./device.ts";
import type { CompileProgress } from "./prepare.ts";
import { prepareModel } from "./prepare.ts";
import { subjectOf, targetWords } from "./compileKeeper.ts";
import { weightFacts } from "./weightFacts.ts";

export interface CoremlSession {
  readonly session: DecoderSession;
  readonly runner: BridgeRunner;
  /** Where parts of the graph run on the host. */
  readonly hosted: HostedRunner | undefined;
  readonly compiled: CompiledModel;
  dispose(): Promise<void>;
}

/** A session on Core ML with the data for a profile. */
export interface CoremlLease extends Omit<CoremlSession, "dispose"> {
  readonly target: PlanTarget;
}

export interface SessionRequest {
  readonly model: OpenModel;
  readonly target: PlanTarget;
  /** Reads weights for the export. */
  readonly engine: CpuEngine;
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: CompileProgress) => void;
}

/** The compiled package of a model with decode and prefill, or of texts of some lengths, made once per file and target. */
export async function compiledDecoder(
  access: CoremlAccess,
  request: SessionRequest,
  pooling?: Pooling,
): Promise<CompiledModel> {
  const { model, target, engine, signal, onProgress } = request;
  const flexibility = pooling === undefined ? access.flexibility : "sizes";
  // The key has no phase: the package has a function for each.
  const { phase: _, ...facts } = target;
  // Throws before anything is read if there is no Core ML.
  access.bridge();
  return prepareModel(access, {
    units: unitsOf(target),
    facts: [
      ...(await weightFacts(model, signal)),
      JSON.stringify(facts),
      flexibility,
      ...(pooling === undefined ? [] : [pooling]),
    ],
    flexible: takesShapes(flexibility),
    subject: { ...subjectOf(model), target: targetWords(target, flexibility) },
    write: async (path, report) => {
      const directory = (): ReturnType<typeof packageWriter> => packageWriter(path);
      const how = {
        ...{ directory, engine, flexibility, signal },
        onProgress: (progress: ExportProgress) =>
          report(progress.kind === "progress" ? progress.doneBytes / Math.max(1, progress.totalBytes) : null),
      };
      await exportModel(model, target, pooling === undefined ? how : { ...how, pooling });
    },
    signal,
    ...(onProgress === undefined ? {} : { onProgress }),
  });
}

export async function openCoremlSession(access: CoremlAccess, request: SessionRequest): Promise<CoremlSession> {
  const compiled = await compiledDecoder(access, request);
  const runner = openRunner(access, compiled, unitsOf(request.target), {
    flexible: takesShapes(access.flexibility),
    prefillUnits: prefillUnitsOf(request.target),
  });
  try {
    const { encoder } = requireDecoder(request.model.requireFile("run"));
    const { userDefined, hosted, ...whole } = await hostedPackage(
      { runner, userDefined: compiled.userDefined },
      { ...request, flexibility: access.flexibility },
    );
    const reader = readerIn(whole.runner, userDefined, encoder);
    const session = packageDecoderSession(decoderIn(whole.runner, userDefined), { clocked: true, reader });
    const dispose = async (): Promise<void> => {
      session.dispose();
      whole.dispose();
      await runner.dispose();
    };
    return { session, runner, hosted, compiled, dispose };
  } catch (error) {
    await runner.dispose();
    throw error;
  }
}

/** Vectors of whole texts on Core ML. */
export async function openCoremlEmbedder(
  access: CoremlAccess,
  request: SessionRequest,
  pooling: Pooling,
): Promise<EmbedderModel> {
  const compiled = await compiledDecoder(access, request, pooling);
  const runner = openRunner(access, compiled, unitsOf(request.target));
  const { labels } = requireEmbedder(request.model.requireFile("embed"));
  const whole = await hostedPackage(
    { runner, userDefined: compiled.userDefined },
    { ...request, flexibility: "sizes", pooling },
  );
  const dispose = (): void => {
    whole.dispose();
    void runner.dispose();
  };
  return embedderIn(whole.runner, whole.userDefined, { pooling, labels, dispose });
}
