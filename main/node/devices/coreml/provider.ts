/**
 * Core ML as a device. A decoder is exported for this Mac's target, compiled and tried in a child
 * process, then loaded and run through the bridge. The parts of a cut graph run as one package.
 */
import { cp } from "node:fs/promises";
import { STORED_TYPES } from "../../../backends/coreml/weights/forms.ts";
import type { CpuEngine } from "../../../backends/cpu/engine.ts";
import type { TargetSpec } from "../../../contract/views/common.ts";
import type { EngineDecoder, EngineDevice, Verification, VerifyRequest } from "../../../engine/devices.ts";
import { changedSentence, systemBefore } from "../../../engine/models/compileLedger.ts";
import { partNotes } from "../../../engine/models/hostedPackage.ts";
import { planTarget } from "../../../engine/models/routes.ts";
import type { DeviceCheck, DevicePhase, Probe } from "../../../runtime/devices/provider.ts";
import { GRADIENTS_ONLY } from "../../../runtime/devices/provider.ts";
import { packageTraining } from "../../library/packageTraining.ts";
import { compileKeeper, targetWords } from "./compileKeeper.ts";
import { contentOf } from "./compiledModels.ts";
import type { CoremlAccess } from "./device.ts";
import { COREML, coremlMissing, coremlTruth, openRunner, unitsOf } from "./device.ts";
import type { CompileProgress } from "./prepare.ts";
import { partsOf, prepareModel } from "./prepare.ts";
import { systemOf } from "./ledger.ts";
import { thisMac } from "./thisMac.ts";
import { macFacts, macLines } from "./macFacts.ts";
import { packageCache } from "./packageFacts.ts";
import { plannedRoute } from "./plannedRoute.ts";
import { profileCoreml } from "./profile.ts";
import { openCoremlEmbedder, openCoremlSession } from "./session.ts";
import { SIMULATOR } from "./simulatorProvider.ts";
import { verify } from "./verify.ts";

/** Most tokens of a text that is embedded: there is a function for each of several lengths. */
const EMBEDDED = 512;

export interface CoremlParts {
  readonly access: CoremlAccess;
  /** Reads weights for the export, and runs host segments. */
  readonly engine: () => CpuEngine;
  readonly target: TargetSpec;
}

function probe(access: CoremlAccess): Probe {
  const missing = coremlMissing(access);
  if (missing !== undefined) return { ok: false, code: "ENV_NO_DEVICE", sentence: missing, hint: null };
  const bridge = access.bridge();
  if (bridge.truth === "simulated") return { ok: true, sentence: "Core ML is simulated: nothing is measured." };
  const { chip, os, ane } = bridge.machine();
  return { ok: true, sentence: `${chip}, macOS ${os}, ${ane ? "with" : "without"} a Neural Engine.` };
}

async function checks(access: CoremlAccess): Promise<readonly DeviceCheck[]> {
  const mac = macFacts(access);
  const first: DeviceCheck = {
    id: COREML,
    title: "Core ML",
    state: "info",
    sentence: probe(access).sentence,
    hint: mac?.rosetta === true ? "Use the arm64 build: translated programs do not reach the Neural Engine." : null,
    ...(mac === null ? {} : { details: macLines(mac) }),
  };
  if (mac === null) return [first];
  const { folder, entries, bytes, limit } = await access.models.facts();
  const kept: DeviceCheck = {
    id: `${COREML}-models`,
    title: "Compiled Core ML models",
    state: "info",
    sentence: `${entries}, ${(bytes / 1e6).toFixed(1)} of at most ${Math.round(limit / 1e6)} MB, in ${folder}.`,
    hint:
      entries === 0
        ? null
        : "rlx doctor --clear-cache removes them; those that were not used for a month go by themselves.",
  };
  const made = await compileKeeper(access).facts();
  const unsafe = made.entries.filter(({ record }) => made.unsafe(record) !== null).length;
  const before = systemBefore(made.entries, systemOf(access.bridge().machine()));
  const ledger: DeviceCheck = {
    id: `${COREML}-compiles`,
    title: "Loads of Core ML models",
    state: before === undefined && unsafe === 0 ? "info" : "warning",
    sentence: `${made.entries.length} in the ledger, ${unsafe} of models that ended their helper.${before === undefined ? "" : ` ${changedSentence(before, systemOf(access.bridge().machine()))}`}`,
    hint:
      before === undefined
        ? "rlx compiles lists them."
        : "rlx compiles --verify loads them again and says what changed.",
  };
  return [first, kept, ledger];
}

/** The answers are kept: after an update of the system they are what new ones are compared with. */
async function verifyAndKeep(access: CoremlAccess, request: VerifyRequest): Promise<Verification> {
  const verification = await verify(access, request);
  const answers = verification.answers.map(({ id, answer }) => ({ id, answer }));
  await access.ledger.appendAnswers({ version: 1, ...systemOf(verification.machine), answers });
  return verification;
}

const phasesOf =
  (onPhase: (phase: DevicePhase) => void) =>
  ({ stage, ...told }: CompileProgress): void =>
    onPhase({ name: stage, ...told });

export function coremlProvider({ access, engine, target }: CoremlParts): EngineDevice {
  const title = "Core ML";
  return {
    id: COREML,
    title,
    backend: "coreml",
    capabilities: {
      tokens: true,
      measure: true,
      profile: true,
      rewind: true,
      train: GRADIENTS_ONLY,
      plan: true,
      graphs: "Core ML is not calibrated; Bench measures whole steps on it.",
      segments: true,
    },
    weightTypes: STORED_TYPES,
    instead: SIMULATOR,
    probe: () => probe(access),
    facts() {
      const truth = coremlTruth(access);
      return {
        truth,
        backend: truth === "measured" ? title : `${title} (simulated)`,
        kernels: title,
        mapped: false,
        lane: { title, device: "cpu" },
        profileNote: "",
      };
    },
    checks: () => checks(access),
    here: () => thisMac(access),
    mac: () => macFacts(access),
    models: access.models,
    compiles: compileKeeper(access),
    verify: (request) => verifyAndKeep(access, request),
    planned: (request) => plannedRoute({ coreml: access, engine }, request),
    withTarget: (other) => coremlProvider({ access, engine, target: { ...other, ...thisMac(access) } }),
    segments: (route, signal) => async (path) => {
      const units = unitsOf(route.target);
      // Copied to where compiled models live, because the package given here is temporary.
      const write = (to: string): Promise<void> => cp(path, to, { recursive: true });
      const compiled = await prepareModel(access, {
        units,
        facts: [await contentOf(path, signal)],
        write,
        subject: partsOf(targetWords(route.target, "fixed")),
        signal,
      });
      const runner = openRunner(access, compiled, units);
      return { runner, close: () => runner.dispose() };
    },
    training: (weights) =>
      packageTraining({
        ...weights,
        id: COREML,
        title,
        units: "all",
        async open(path) {
          const write = (to: string): Promise<void> => cp(path, to, { recursive: true });
          const compiled = await prepareModel(access, { units: "all", facts: [await contentOf(path)], write });
          const runner = openRunner(access, compiled, "all");
          return { runner, close: () => runner.dispose() };
        },
      }),
    async openDecoder({ source: model, context, signal, onPhase }): Promise<EngineDecoder> {
      const own = planTarget(model, { ...target, context }, "decode");
      const opened = await openCoremlSession(access, {
        ...{ model, target: own, engine: engine(), signal },
        onProgress: phasesOf(onPhase),
      });
      const { session, runner, hosted, compiled } = opened;
      return {
        cacheType: packageCache(own),
        context: session.facts.capacity,
        steps: [],
        open: () => session,
        profile: (_session, request) =>
          profileCoreml(access, model, { session, runner, hosted, compiled, target: own }, request),
        notes: () => partNotes(hosted),
        dispose: () => opened.dispose(),
      };
    },
    openEmbedder: ({ source: model, pooling, signal, onPhase }) =>
      openCoremlEmbedder(
        access,
        {
          ...{
            model,
            target: planTarget(model, { ...target, context: EMBEDDED }, "prefill"),
            engine: engine(),
            signal,
          },
          onProgress: phasesOf(onPhase),
        },
        pooling,
      ),
  };
}
