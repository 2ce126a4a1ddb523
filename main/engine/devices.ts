/**
 * The devices of this machine as the contract tells them, and what a device may do for the engine beyond running decoders: plan
 * a route, run the parts of a cut graph, describe this Mac. Handlers ask for these and for capabilities, never for an id.
 */
import { CACHE_TYPES } from "../models/blocks.ts";
import type { Route } from "../backends/coreml/hybrid/route.ts";
import type {
  CompileChange,
  CompileFailure,
  CompileList,
  CompileRecord,
  CompileSystem,
  VerifyAgainItem,
} from "../contract/views/compiles.ts";
import type { Ability, Phase, ReferenceNotice, TargetSpec } from "../contract/views/common.ts";
import type { DeviceInfo } from "../contract/views/engine.ts";
import type { MacAnswer, MacFacts, VerifyItem } from "../contract/views/mac.ts";
import type { PlannedRoute } from "../contract/views/route.ts";
import type { ProfileView } from "../contract/views/run.ts";
import { toWireError } from "../diagnostics/errors.ts";
import type { DecoderSession } from "../runtime/decoderSession.ts";
import type { DeviceDecoder, DeviceProvider } from "../runtime/devices/provider.ts";
import type { GgufFile } from "../formats/gguf/file.ts";
import type { TrainingDevice } from "../training/trainingDevice.ts";
import type { DeviceRegistry } from "../runtime/devices/registry.ts";
import { figure } from "./measure/forecast.ts";
import type { LedgerEntry } from "./models/compileLedger.ts";
import type { RunnerOpener } from "./models/hybrid.ts";
import type { OpenModel } from "./models/openModel.ts";
import type { KeptFolder } from "./services.ts";
import { cannot } from "./views/overviewView.ts";

export interface ProfileRequest {
  readonly promptTokens: number;
  readonly generateTokens: number;
  readonly signal: AbortSignal;
  readonly onProgress: (fraction: number) => void;
  /** Bytes of the engine's process now. */
  readonly processBytes: () => number;
}

export interface EngineDecoder extends DeviceDecoder {
  /** Its own way to a profile, where it has no list of instructions to time. */
  readonly profile?: (session: DecoderSession, request: ProfileRequest) => Promise<ProfileView>;
  /** What else a benchmark says of the runs so far. */
  readonly notes?: () => readonly string[];
}

export interface PlannedRequest {
  readonly model: OpenModel;
  readonly target: TargetSpec;
  readonly phase: Phase;
  readonly signal: AbortSignal;
}

export interface VerifyRequest {
  readonly signal: AbortSignal;
  readonly onAnswer: (answer: MacAnswer) => void;
}
export type Verification = Omit<Extract<VerifyItem, { readonly kind: "done" }>, "kind">;

/** A package to be tried once, in a helper. */
export interface PieceRequest {
  readonly path: string;
  readonly units: TargetSpec["units"];
  readonly signal: AbortSignal;
  readonly onStage: (stage: string) => void;
}
export interface TriedPiece {
  readonly result: "ok" | "failed" | "killed";
  readonly seconds: number;
  readonly code: string | null;
  readonly message: string | null;
  readonly failure: CompileFailure | null;
}

export interface VerifyAgainRequest {
  readonly signal: AbortSignal;
  readonly emit: (item: Exclude<VerifyAgainItem, { readonly kind: "done" }>) => void;
}
export interface VerifiedAgain {
  readonly before: CompileSystem | null;
  readonly after: CompileSystem;
  readonly models: number;
  readonly changes: CompileChange[];
}

/** The records of a device's compiles, and what may be done with what they name. */
export interface CompileKeeper {
  /** Why nothing can be compiled here; undefined where it can. */
  missing(): string | undefined;
  system(): CompileList["system"];
  facts(): Promise<{
    readonly entries: readonly LedgerEntry[];
    readonly damaged: number;
    readonly kept: ReadonlySet<string>;
    readonly unsafe: (record: CompileRecord) => string | null;
  }>;
  /** Lets an unsafe model be tried once more. False: there is no such verdict. */
  allow(verdict: string): Promise<boolean>;
  tryPiece(request: PieceRequest): Promise<TriedPiece>;
  verifyAgain(request: VerifyAgainRequest): Promise<VerifiedAgain>;
}

export interface EngineDevice extends DeviceProvider<OpenModel, EngineDecoder> {
  /** With the capability `plan`: the system's own plan beside the prediction. */
  readonly planned?: (request: PlannedRequest) => Promise<PlannedRoute>;
  /** With the capability `segments`: what runs the package of a route's parts. */
  readonly segments?: (route: Route, signal: AbortSignal) => RunnerOpener;
  /** What trains on it where it compiles no graphs by itself (`graphs`): gradients run as a package. */
  readonly training?: (options: { readonly weights?: GgufFile }) => TrainingDevice;
  /** The same device for another target of this machine, for one that makes packages. */
  readonly withTarget?: (target: TargetSpec) => EngineDevice;
  /** This machine as a target, where the device knows the machine. */
  here?(): Pick<TargetSpec, "chip" | "os"> | undefined;
  mac?(): MacFacts | null;
  /** Compiled models that it keeps. */
  readonly models?: KeptFolder & { usedByOthers(): Promise<number> };
  /** Records of its compiles. */
  readonly compiles?: CompileKeeper;
  /** Questions that only the device on this machine can answer. */
  readonly verify?: (request: VerifyRequest) => Promise<Verification>;
}

export type EngineDevices = DeviceRegistry<EngineDevice>;

const FLOAT_CACHES = ["f16", "f32"] as const;

export function deviceInfo(devices: EngineDevices, device: EngineDevice): DeviceInfo {
  const { ok, sentence } = devices.running(device).probe();
  const { id, title, backend = null, capabilities, instead = null } = device;
  const { kept } = device;
  const cacheTypes = kept === undefined ? {} : { cacheTypes: [...(kept.packs === true ? CACHE_TYPES : FLOAT_CACHES)] };
  return { id, title, backend, available: ok, sentence, instead, capabilities: { ...capabilities }, ...cacheTypes };
}

export const deviceList = (devices: EngineDevices): readonly DeviceInfo[] =>
  devices.listed.map((device) => deviceInfo(devices, device));

/** This Mac, where a device knows that it is one. */
export const macOf = ({ listed }: EngineDevices): MacFacts | null =>
  listed.reduce<MacFacts | null>((found, device) => found ?? device.mac?.() ?? null, null);

/** Why the device is not here; undefined where it is. */
export function missingOf(device: EngineDevice): Ability | undefined {
  const probe = device.probe();
  return probe.ok ? undefined : cannot(probe.code, probe.sentence, probe.hint);
}

/** Why a model of so many parameters does not run where this device was chosen; undefined where it does. */
export function runRefusal(devices: EngineDevices, device: EngineDevice, parameters: number): Ability | undefined {
  const running = devices.running(device);
  const refusal = running.refuses?.(parameters);
  if (refusal === undefined) return missingOf(running);
  const { code, message, hint } = toWireError(refusal);
  const why = message.replace(/^\[[^\]]*\] /u, "This model is larger: ");
  return cannot(code, `${running.probe().sentence} ${why}.`, hint ?? null);
}

/** What to say before a run where another device stands in; null where none does. */
export function noticeOf(device: EngineDevice, parameters: number): ReferenceNotice | null {
  const notice = device.notice?.(parameters);
  if (notice === undefined) return null;
  const { low, high } = notice.secondsPerToken;
  const basis = "by parameters alone, on a machine that does nothing else";
  const secondsPerToken = figure((low + high) / 2, "seconds", "predicted", basis, { low, high });
  return { sentence: notice.sentence, secondsPerToken };
}
