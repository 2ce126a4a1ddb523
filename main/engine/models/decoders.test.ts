import { expect, it, vi } from "vitest";
import type { GgufFile } from "../../formats/gguf/file.ts";
import type { DecoderSession } from "../../runtime/decoderSession.ts";
import type { DevicePhase } from "../../runtime/devices/provider.ts";
import { deviceRegistry } from "../../runtime/devices/registry.ts";
import type { EngineDecoder, EngineDevice } from "../devices.ts";
import { createDecoders, leaseInPhases } from "./decoders.ts";
import { OpenModel } from "./openModel.ts";

const model = new OpenModel("m1", {
  kind: "model",
  file: {} as GgufFile,
  data: { kind: "paths", paths: ["/m.gguf"] },
  offer: undefined,
  argument: null,
  openedInSeconds: 0,
});
const phase: DevicePhase = { name: "compile", sentence: "Compiling", elapsedSeconds: 0 };

/** Decoders of a device that keeps none. Its decoder tells a phase and arrives when `arrive` is called. */
function slowDevice(open: () => DecoderSession): {
  decoders: ReturnType<typeof createDecoders>;
  arrive: () => void;
  dispose: () => void;
} {
  let arrive = (): void => undefined;
  const promise = new Promise<void>((resolve) => (arrive = resolve));
  const dispose = vi.fn<() => void>();
  const device: Partial<EngineDevice> = {
    id: "slow",
    openDecoder: async ({ onPhase }) => {
      onPhase(phase);
      await promise;
      return { cacheType: "f16", context: 8, steps: [], open, dispose } satisfies EngineDecoder;
    },
  };
  const devices = deviceRegistry([device as EngineDevice]);
  return {
    decoders: createDecoders({ devices, defaultThreads: 1, defaultContext: 8, freeBytes: () => Infinity }),
    arrive,
    dispose,
  };
}

it("disposes a decoder that opens no session", async () => {
  const { decoders, arrive, dispose } = slowDevice(() => {
    throw new Error("no memory");
  });
  arrive();
  await expect(decoders.lease(model, {})).rejects.toThrow("no memory");
  expect(dispose).toHaveBeenCalledOnce();
});

it("releases a lease that arrives after its stream was dropped", async () => {
  const session = { dispose: vi.fn<() => void>() };
  const { decoders, arrive, dispose } = slowDevice(() => session as unknown as DecoderSession);
  const stream = leaseInPhases(decoders, model, {});
  expect(await stream.next()).toMatchObject({ value: { kind: "phase", name: "compile" } });
  await stream.return(undefined as never);
  arrive();
  await vi.waitFor(() => expect(dispose).toHaveBeenCalledOnce());
  expect(session.dispose).toHaveBeenCalledOnce();
});

it("lets answers wait for each other where each makes a decoder", async () => {
  const { decoders, arrive, dispose } = slowDevice(
    () => ({ dispose: vi.fn<() => void>() }) as unknown as DecoderSession,
  );
  arrive();
  const first = await decoders.lease(model, { prompt: [1] });
  let came = false;
  const second = decoders.lease(model, { prompt: [1] }).then((lease) => ((came = true), lease));
  await new Promise((resolve) => setImmediate(resolve));
  expect(came).toBe(false);
  await first.release();
  expect(dispose).toHaveBeenCalledOnce();
  await (await second).release();
  // A failed one gives its turn back.
  const broken = slowDevice(() => {
    throw new Error("no memory");
  });
  broken.arrive();
  for (let i = 0; i < 2; i++) await expect(broken.decoders.lease(model, { prompt: [1] })).rejects.toThrow("no memory");
});

it("leaves a lease that its stream gave to its user", async () => {
  const { decoders, arrive, dispose } = slowDevice(() => ({}) as DecoderSession);
  const stream = leaseInPhases(decoders, model, {});
  await stream.next();
  arrive();
  expect(await stream.next()).toMatchObject({ done: true, value: { reference: null } });
  await stream.return(undefined as never);
  expect(dispose).not.toHaveBeenCalled();
});
