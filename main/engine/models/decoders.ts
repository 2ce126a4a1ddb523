/**
 * Decoders of open models on any device, one job at a time. Where a device keeps decoders, one is made per model, with a session
 * per context length: a finished conversation stays in its session's cache, so that the next question only feeds what is new.
 * Other devices make a decoder for each job.
 */
import type { PhaseItem, ReferenceNotice } from "../../contract/views/common.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { DecoderSession } from "../../runtime/decoderSession.ts";
import type { CacheType, DevicePhase } from "../../runtime/devices/provider.ts";
import type { EngineDecoder, EngineDevice, EngineDevices } from "../devices.ts";
import { noticeOf } from "../devices.ts";
import { progressStream } from "../progressStream.ts";
import type { OpenModel } from "./openModel.ts";
import { mappablePaths } from "./openModel.ts";

export interface DecoderChoice {
  /** The first of the list without it. */
  readonly device?: string;
  readonly context?: number | null;
  readonly threads?: number | null;
  readonly cacheType?: CacheType;
  readonly chunk?: number;
  readonly countsExperts?: boolean;
  /** Another device may stand in where this one is not here: not for measuring. */
  readonly standIn?: boolean;
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

/** Leases a decoder and yields its progress. A lease that arrives after its stream was dropped is released. */
export async function* leaseInPhases(
  decoders: Decoders,
  model: OpenModel,
  choice: DecoderChoice,
): AsyncGenerator<PhaseItem, Lease> {
  let arriving: Promise<Lease> | undefined;
  let ended = false;
  const steps = progressStream<DevicePhase, Lease>((emit) => (arriving = decoders.lease(model, choice, emit)));
  try {
    let next = await steps.next();
    while (next.done !== true) {
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

interface Held {
  readonly session: DecoderSession;
  busy: boolean;
}

export interface DecoderParts {
  readonly devices: EngineDevices;
  readonly defaultThreads: number;
  readonly defaultContext: number;
}

type Open = (context: number) => Promise<EngineDecoder>;

export function createDecoders({ devices, defaultThreads, defaultContext }: DecoderParts): Decoders {
  /** How a decoder of the model comes to be on the device. */
  const opener = (
    model: OpenModel,
    device: EngineDevice,
    choice: DecoderChoice,
    onPhase: (phase: DevicePhase) => void = () => undefined,
  ): Open => {
    const { cacheType, chunk, threads, countsExperts = false, signal = new AbortController().signal } = choice;
    return async (context) => {
      const paths = await mappablePaths(model, signal, onPhase);
      if (!paths)
        throw new WorkbenchError("INPUT_ARGUMENT", "[run] the weights of this model are not here", {
          hint: "Open a file with weights, or name its folder.",
        });
      return device.openDecoder({
        ...{ source: model, file: model.requireFile("run"), paths, context, signal, onPhase },
        threads: threads ?? defaultThreads,
        countsExperts,
        ...(cacheType === undefined ? {} : { cacheType }),
        ...(chunk === undefined ? {} : { chunk }),
      });
    };
  };

  return {
    async lease(model, choice, onPhase) {
      const chosen = choice.device === undefined ? devices.first : devices.able(choice.device, "tokens", "run");
      const device = choice.standIn === true ? devices.running(chosen) : chosen;
      const reference = device === chosen ? null : noticeOf(device, model.description.parameters);
      const open = opener(model, device, choice, onPhase);
      const threads = choice.threads ?? defaultThreads;
      const wanted = choice.context ?? defaultContext;
      if (device.kept === undefined) return leaseOnce(device, await open(wanted), reference, { wanted, threads });
      const key = `${device.id} ${choice.cacheType ?? device.kept.cacheType} ${choice.chunk ?? 0}${choice.countsExperts === true ? " experts" : ""}`;
      const decoder = await model.cachedLater(`decoder ${key}`, async () => {
        const made = await open(wanted);
        model.onDispose(() => void made.dispose());
        return made;
      });
      const context = Math.min(wanted, decoder.context);
      const held = model.cached(`session ${key} ${threads} ${context}`, (): Held => {
        const session = decoder.open({ context, threads });
        model.onDispose(() => session.dispose());
        return { session, busy: false };
      });
      if (held.busy)
        throw new WorkbenchError("HANDLE_BUSY", "[run] this model is answering already", {
          hint: "Stop the answer, or wait for its end.",
        });
      held.busy = true;
      const release = (): Promise<void> => {
        held.busy = false;
        return Promise.resolve();
      };
      return { device, decoder, session: held.session, reference, release };
    },
  };
}

async function leaseOnce(
  device: EngineDevice,
  decoder: EngineDecoder,
  reference: ReferenceNotice | null,
  { wanted, threads }: { readonly wanted: number; readonly threads: number },
): Promise<Lease> {
  try {
    const session = decoder.open({ context: Math.min(wanted, decoder.context), threads });
    const release = async (): Promise<void> => {
      session.dispose();
      await decoder.dispose();
    };
    return { device, decoder, session, reference, release };
  } catch (error) {
    await decoder.dispose();
    throw error;
  }
}
