/**
 * Decoders of open models on any device. Where a device keeps decoders, one is made per model, with sessions per context length
 * (main/runtime/slots.ts): several answers run at once, each in a session of its own, and a finished conversation stays in its
 * session's cache, so that the next question only feeds what is new. Other devices make a decoder for each job.
 */
import type { PhaseItem, ReferenceNotice, TargetSpec } from "../../contract/views/common.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { PrecisionPolicy } from "../../ir/precision.ts";
import { requireDecoder } from "../../models/architecture.ts";
import type { DecoderSession } from "../../runtime/decoderSession.ts";
import { MOST_SLOTS, Slots } from "../../runtime/slots.ts";
import type { CacheType } from "../../models/blocks.ts";
import type { DevicePhase } from "../../runtime/devices/provider.ts";
import { requireCacheType } from "../../runtime/devices/provider.ts";
import type { EngineDecoder, EngineDevice, EngineDevices } from "../devices.ts";
import { noticeOf } from "../devices.ts";
import type { JobHandle } from "../jobs.ts";
import { progressStream } from "../progressStream.ts";
import type { OpenModel } from "./openModel.ts";
import { mappablePaths } from "./openModel.ts";

export interface DecoderChoice {
  /** The first of the list without it. */
  readonly device?: string;
  readonly context?: number | null;
  readonly threads?: number | null;
  readonly cacheType?: CacheType | null;
  readonly chunk?: number;
  readonly countsExperts?: boolean;
  /** In which floats it computes; f32 without it. */
  readonly precision?: PrecisionPolicy;
  /** A session of its own, that goes with the lease: for measurements beside each other. */
  readonly own?: boolean;
  /** Another device may stand in where this one is not here: not for measuring. */
  readonly standIn?: boolean;
  /** The tokens to answer: it then runs beside other answers, or waits in order for its turn. Without them a job runs alone. */
  readonly prompt?: ArrayLike<number>;
  /** Another Core ML target than the device's own. */
  readonly target?: TargetSpec;
  readonly signal?: AbortSignal;
}

export interface Lease {
  /** What runs. */
  readonly device: EngineDevice;
  readonly decoder: EngineDecoder;
  readonly session: DecoderSession;
  /** What to say when the TypeScript reference stands in; null when it does not. */
  readonly reference: ReferenceNotice | null;
  /** Gives the session back; another job may use it. */
  release(): Promise<void>;
}

export interface Decoders {
  lease(model: OpenModel, choice: DecoderChoice, onPhase?: (phase: DevicePhase) => void): Promise<Lease>;
}

/** Leases a decoder and yields its progress, which its job shows, too. A lease that arrives after its stream was dropped is released. */
export async function* leaseInPhases(
  decoders: Decoders,
  model: OpenModel,
  choice: DecoderChoice,
  job?: Pick<JobHandle, "update">,
): AsyncGenerator<PhaseItem, Lease> {
  let arriving: Promise<Lease> | undefined;
  let ended = false;
  const steps = progressStream<DevicePhase, Lease>((emit) => (arriving = decoders.lease(model, choice, emit)));
  try {
    let next = await steps.next();
    while (next.done !== true) {
      job?.update(next.value.name, next.value.fraction ?? null);
      yield { kind: "phase", fraction: null, ...next.value };
      next = await steps.next();
    }
    ended = true;
    return next.value;
  } finally {
    // A dropped stream has no reader for an error.
    if (!ended) void arriving?.then((lease) => lease.release()).catch(() => undefined);
  }
}

export interface DecoderParts {
  readonly devices: EngineDevices;
  readonly defaultThreads: number;
  readonly defaultContext: number;
  /** Memory for the caches of more answers at once. */
  readonly freeBytes: () => number;
}

type Open = (context: number) => Promise<EngineDecoder>;

export function createDecoders({ devices, defaultThreads, defaultContext, freeBytes }: DecoderParts): Decoders {
  /** How a decoder of the model comes to be on the device. */
  const opener = (
    model: OpenModel,
    device: EngineDevice,
    choice: DecoderChoice,
    onPhase: (phase: DevicePhase) => void = () => undefined,
  ): Open => {
    const {
      cacheType,
      chunk,
      threads,
      precision,
      countsExperts = false,
      signal = new AbortController().signal,
    } = choice;
    return async (context) => {
      // Nothing is laid out for a model that does not run.
      if (model.data.kind === "made") requireDecoder(model.requireFile("run"));
      const paths = await mappablePaths(model, "run", signal, onPhase);
      return device.openDecoder({
        ...{ source: model, file: model.requireFile("run"), paths, context, signal, onPhase },
        threads: threads ?? defaultThreads,
        countsExperts,
        ...(typeof cacheType === "string" && { cacheType }),
        ...(chunk === undefined ? {} : { chunk }),
        ...(precision === undefined ? {} : { precision }),
      });
    };
  };

  return {
    async lease(model, choice, onPhase) {
      const chosen = choice.device === undefined ? devices.first : devices.able(choice.device, "tokens", "run");
      const running = choice.standIn === true ? devices.running(chosen) : chosen;
      const device = (choice.target && running.withTarget?.(choice.target)) ?? running;
      const reference = running === chosen ? null : noticeOf(device, model.description.parameters);
      requirePrecision(device, choice.precision);
      requireCacheType(device, choice.cacheType ?? undefined);
      const open = opener(model, device, choice, onPhase);
      const threads = choice.threads ?? defaultThreads;
      const wanted = choice.context ?? defaultContext;
      if (device.kept === undefined) {
        const turn = choice.prompt === undefined ? NO_TURN : await turnOf(model, device, choice.signal);
        try {
          return await leaseOnce(device, await open(wanted), reference, { wanted, threads, turn });
        } catch (error) {
          turn();
          throw error;
        }
      }
      const key = `${device.id} ${choice.cacheType ?? device.kept.cacheType} ${choice.chunk ?? 0}${choice.countsExperts === true ? " experts" : ""} ${choice.precision ?? "f32"}`;
      const decoder = await model.cachedLater(`decoder ${key}`, async () => {
        const made = await open(wanted);
        model.onDispose(() => void made.dispose());
        model.hold(`decoder ${key}`, model.requireFile("run").byteLength);
        return made;
      });
      const context = Math.min(wanted, decoder.context);
      if (choice.own === true) return leaseOwn(model, { device, decoder, reference }, { context, threads });
      const name = `sessions ${key} ${threads} ${context}`;
      const slots = model.cached(name, () => {
        let sessions = 0;
        const openSlot = (): DecoderSession => {
          const session = decoder.open({ context, threads });
          sessions += 1;
          model.hold(name, sessions * session.cacheBytes);
          return session;
        };
        const made = new Slots({ open: openSlot, most: MOST_SLOTS, freeBytes });
        model.onDispose(() => made.dispose());
        return made;
      });
      const session =
        choice.prompt === undefined ? slots.takeAlone() : await slots.acquire(choice.prompt, choice.signal);
      if (session === undefined)
        throw new WorkbenchError("HANDLE_BUSY", "[run] this model is answering already", {
          hint: "Stop the answer, or wait for its end.",
        });
      const release = (): Promise<void> => Promise.resolve(slots.release(session));
      return { device, decoder, session, reference, release };
    },
  };
}

/** Packages have the floats of their weight profile, and the reference has float64. */
function requirePrecision({ title, backend }: EngineDevice, precision: PrecisionPolicy = "f32"): void {
  if (precision === "f32" || backend === "cpu" || backend === "mlx") return;
  throw new WorkbenchError("INPUT_ARGUMENT", `[run] precision: got ${precision} on ${title}, expected f32`, {
    hint: "The CPU engine and MLX take a precision; a Core ML package has that of its profile.",
  });
}

function leaseOwn(
  model: OpenModel,
  of: Pick<Lease, "device" | "decoder" | "reference">,
  settings: { readonly context: number; readonly threads: number },
): Lease {
  const session = of.decoder.open(settings);
  let isOpen = true;
  const close = (): void => {
    if (isOpen) session.dispose();
    isOpen = false;
  };
  model.onDispose(close);
  const release = (): Promise<void> => {
    close();
    return Promise.resolve();
  };
  return { ...of, session, release };
}

const NO_TURN = (): void => undefined;
const NO_SESSION = { past: 0, largestCacheBytes: 0, shared: () => 0, dispose: NO_TURN };

/** Answers on a device that makes a decoder for each come one after the other. Resolves with what ends the turn. */
async function turnOf(model: OpenModel, device: EngineDevice, signal?: AbortSignal): Promise<() => void> {
  const turns = model.cached(`turns ${device.id}`, () => {
    const made = new Slots({ open: () => ({ ...NO_SESSION }), most: 1, freeBytes: () => 0 });
    model.onDispose(() => made.dispose());
    return made;
  });
  const turn = await turns.acquire([], signal);
  return () => turns.release(turn);
}

async function leaseOnce(
  device: EngineDevice,
  decoder: EngineDecoder,
  reference: ReferenceNotice | null,
  { wanted, threads, turn }: { readonly wanted: number; readonly threads: number; readonly turn: () => void },
): Promise<Lease> {
  try {
    const session = decoder.open({ context: Math.min(wanted, decoder.context), threads });
    const release = async (): Promise<void> => {
      session.dispose();
      await decoder.dispose();
      turn();
    };
    return { device, decoder, session, reference, release };
  } catch (error) {
    await decoder.dispose();
    throw error;
  }
}
