/**
 * From a package to a model that may be loaded here: written, compiled and tried function by function in a helper, each stage told,
 * with the time that earlier loads took. Every trial leaves a line in the ledger.
 */
import { stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { MODEL_PATH, WEIGHTS_PATH } from "../../../backends/coreml/package.ts";
import type { CompileEstimate } from "../../../contract/views/compiles.ts";
import type { LedgerEntry } from "../../../engine/models/compileLedger.ts";
import { changedSentence, estimateLoad, systemBefore } from "../../../engine/models/compileLedger.ts";
import type { CompiledModel } from "./compiledModels.ts";
import { exportKey } from "./compiledModels.ts";
import type { CoremlAccess } from "./device.ts";
import type { LedgerSubject } from "./ledger.ts";
import { systemOf, trialKeyOf, tryRecorded } from "./ledger.ts";
import type { CoremlUnit } from "./native.ts";
import type { TrialProgress, TrialStage } from "./trial.ts";
import { TRIAL_SENTENCES } from "./trial.ts";

export interface CompileProgress {
  /** "system": it was updated since the last loads; said once. */
  readonly stage: "system" | "write" | TrialStage;
  readonly sentence: string;
  readonly elapsedSeconds: number;
  readonly fraction: number | null;
}

export interface PrepareRequest {
  readonly units: CoremlUnit;
  /** What makes this package different from others: facts of its weights, target. */
  readonly facts: readonly string[];
  /** `report`: how much of it is written. */
  readonly write: (path: string, report: (fraction: number | null) => void) => Promise<void>;
  /** For the ledger; without it the parts of a graph. */
  readonly subject?: LedgerSubject;
  /** Input shapes change from call to call. */
  readonly flexible?: boolean;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: CompileProgress) => void;
}

/** Parts of a graph that is cut between devices. */
export const partsOf = (target: string): LedgerSubject => ({
  title: "Parts of a graph",
  identity: "title:Parts of a graph",
  path: null,
  target,
});

/** Functions to try one by one; a single one is the default. */
export const triedFunctions = (model: CompiledModel): readonly string[] =>
  model.functions.length > 1 ? model.functions : [""];

/** The compiled and tried model of a package. It has not run in this process yet. */
export async function prepareModel(access: CoremlAccess, request: PrepareRequest): Promise<CompiledModel> {
  const bridge = access.bridge();
  const { signal } = request;
  const started = performance.now();
  const report = (stage: CompileProgress["stage"], sentence: string, fraction: number | null): void =>
    request.onProgress?.({ stage, sentence, fraction, elapsedSeconds: (performance.now() - started) / 1000 });
  const attempt = async (packagePath: string, model: CompiledModel): Promise<void> => {
    await tryFunctions(access, request, { packagePath, model, report });
    // A deleted model is compiled again. Its verdict stands.
    await bridge.compile(packagePath, model.path, signal);
  };
  const key = exportKey(access.build, ...request.facts);
  const known = await access.models.find(key);
  if (known !== undefined) {
    await attempt(known.path, known);
    return known;
  }
  const write = (path: string): Promise<void> => {
    report("write", "Writing the package", null);
    return request.write(path, (fraction) => report("write", "Writing the package", fraction));
  };
  return access.models.make(key, write, attempt, signal);
}

interface Attempt {
  readonly packagePath: string;
  readonly model: CompiledModel;
  readonly report: (stage: CompileProgress["stage"], sentence: string, fraction: number | null) => void;
}

async function tryFunctions(
  access: CoremlAccess,
  request: PrepareRequest,
  { packagePath, model, report }: Attempt,
): Promise<void> {
  const { units, signal, subject = partsOf("") } = request;
  const { book, ledger } = access;
  const bridge = access.bridge();
  const machine = bridge.machine();
  const names = triedFunctions(model);
  const [system, packageBytes] = [systemOf(machine), await bytesOfPackage(packagePath)];
  let entries: readonly LedgerEntry[] | undefined;
  for (const [i, name] of names.entries()) {
    const key = trialKeyOf(model.content, machine, units, name);
    if ((await book.find(key)) === undefined && entries === undefined) {
      ({ entries } = await ledger.read());
      const before = systemBefore(entries, system);
      if (before !== undefined) report("system", changedSentence(before, system), null);
    }
    const { identity, target } = subject;
    const estimate = estimateLoad(entries ?? [], { identity, target, units, function: name, system });
    const place = names.length > 1 ? ` (${name}, ${i + 1} of ${names.length})` : "";
    await tryRecorded({
      ...{ book, ledger, bridge, machine, key, subject, packageBytes, why: "first" },
      request: {
        program: join(dirname(bridge.path), "rlx-coreml-trial"),
        packagePath,
        compiled: model.path,
        units,
        function: name,
        infrequentReshape: request.flexible === true,
        ...(signal === undefined ? {} : { signal }),
        onProgress: (progress) => {
          const fraction = fractionOf(progress, estimate);
          report(
            progress.stage,
            sentenceOf(progress, place, estimate),
            fraction === null ? null : (i + fraction) / names.length,
          );
        },
      },
    });
  }
}

/** The last part of a load that takes longer than those before it is not told as done. */
const MOST_DONE = 0.95;

function fractionOf({ elapsedSeconds }: TrialProgress, { seconds }: CompileEstimate): number | null {
  if (seconds === null || seconds.typical <= 0) return null;
  return Math.min(MOST_DONE, elapsedSeconds / seconds.typical);
}

const sentenceOf = ({ stage }: TrialProgress, place: string, estimate: CompileEstimate): string =>
  stage === "compile" || stage === "load"
    ? `${TRIAL_SENTENCES[stage]}${place}. ${estimate.sentence.replace(/\.$/u, "")}`
    : `${TRIAL_SENTENCES[stage]}${place}`;

/** null where there is no package: a compiled model that is tried again. */
async function bytesOfPackage(path: string): Promise<number | null> {
  const sizes = await Promise.all(
    [MODEL_PATH, WEIGHTS_PATH].map((part) =>
      stat(join(path, part)).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  );
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  return bytes === 0 ? null : bytes;
}
