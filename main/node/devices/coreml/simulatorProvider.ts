/**
 * The simulator of Core ML as a device: exports the package to a temporary folder, reads it back from
 * disk, and runs its program in TypeScript. It checks packages where there is no Core ML.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { OpenPackage } from "../../../backends/coreml/package.ts";
import { openPackage } from "../../../backends/coreml/package.ts";
import { Simulator } from "../../../backends/coreml/simulator/simulator.ts";
import { STORED_TYPES } from "../../../backends/coreml/weights/forms.ts";
import type { CpuEngine } from "../../../backends/cpu/engine.ts";
import type { TargetSpec } from "../../../contract/views/common.ts";
import type { EngineDecoder, EngineDevice } from "../../../engine/devices.ts";
import { exportModel } from "../../../engine/models/exporting.ts";
import { hostedPackage } from "../../../engine/models/hostedPackage.ts";
import type { RunnerOpener } from "../../../engine/models/hybrid.ts";
import { planTarget } from "../../../engine/models/routes.ts";
import type { EmbedderModel } from "../../../runtime/embedderModel.ts";
import { requireDecoder, requireEmbedder } from "../../../models/architecture.ts";
import { decoderIn, embedderIn, packageDecoderSession, readerIn } from "../../../runtime/packageSession.ts";
import { GRADIENTS_ONLY } from "../../../runtime/devices/provider.ts";
import { packageReader, packageWriter } from "../../files/packageDirectory.ts";
import { packageTraining } from "../../library/packageTraining.ts";
import { packageCache } from "./packageFacts.ts";

export const SIMULATOR = "coreml-sim";

/** Most tokens of one run. */
const CHUNK = 64;
/** Positions of a simulated run: it is for checks, not for long chats. */
const CONTEXT = 512;
const NO_TIME = "A simulator’s speed says nothing of the device that it simulates.";

export interface SimulatorParts {
  /** Reads weights for the export, and runs host segments. */
  readonly engine: () => CpuEngine;
  readonly target: TargetSpec;
  /** Bytes that a package may take. */
  readonly memoryLimit: number;
}

export const openSimulator =
  (memoryLimit: number): RunnerOpener =>
  async (path) => {
    const reader = packageReader(path);
    try {
      return { runner: new Simulator(await openPackage(reader), memoryLimit), close: () => reader.close() };
    } catch (error) {
      await reader.close();
      throw error;
    }
  };

export function simulatorProvider({ engine, target, memoryLimit }: SimulatorParts): EngineDevice {
  return {
    id: SIMULATOR,
    title: "Core ML, simulated",
    backend: "coreml",
    capabilities: {
      tokens: true,
      measure: NO_TIME,
      profile: NO_TIME,
      rewind: true,
      train: GRADIENTS_ONLY,
      plan: "A simulator has no system that plans.",
      graphs: "A simulator: its time says nothing of a device.",
      segments: true,
    },
    weightTypes: STORED_TYPES,
    probe: () => ({
      ok: true,
      sentence: "Reads the package back from disk and runs its program in TypeScript: for checking, not for speed.",
    }),
    facts: () => ({
      truth: "simulated",
      backend: "Core ML (simulated)",
      kernels: "TypeScript",
      mapped: false,
      lane: { title: "Core ML, simulated", device: "cpu" },
      profileNote: "",
    }),
    segments: () => openSimulator(memoryLimit),
    training: (weights) =>
      packageTraining({
        ...{ id: SIMULATOR, title: "Core ML, simulated", units: "all", open: openSimulator(memoryLimit) },
        ...weights,
      }),
    async openDecoder({ source: model, file, context, signal }): Promise<EngineDecoder> {
      const stated = { ...target, context: Math.min(context, CONTEXT) };
      const own = planTarget(model, stated, "decode");
      const write = (path: string): Promise<unknown> =>
        exportModel(model, own, { directory: () => packageWriter(path), engine: engine(), signal });
      return inTemporaryPackage(write, async (opened, close) => {
        const simulator = new Simulator(opened, memoryLimit);
        const { runner, userDefined, ...hosted } = await hostedPackage(
          { runner: simulator, userDefined: opened.userDefined },
          { model, target: own, engine: engine(), signal },
        );
        const decoder = decoderIn(runner, userDefined);
        const reader = readerIn(runner, userDefined, requireDecoder(file).encoder);
        return {
          cacheType: packageCache(own),
          context: Math.min(decoder.capacity, own.context),
          steps: [],
          open: () => packageDecoderSession(decoder, { chunk: CHUNK, reader }),
          dispose: () => {
            hosted.dispose();
            return close();
          },
        };
      });
    },
    async openEmbedder({ source: model, file, pooling, signal }): Promise<EmbedderModel> {
      const own = planTarget(model, { ...target, context: CONTEXT }, "prefill");
      const { labels } = requireEmbedder(file);
      const write = (path: string): Promise<unknown> =>
        exportModel(model, own, {
          directory: () => packageWriter(path),
          engine: engine(),
          flexibility: "sizes",
          pooling,
          signal,
        });
      return inTemporaryPackage(write, async (opened, close) => {
        const { runner, userDefined, ...hosted } = await hostedPackage(
          { runner: new Simulator(opened, memoryLimit), userDefined: opened.userDefined },
          { model, target: own, engine: engine(), signal, flexibility: "sizes", pooling },
        );
        const dispose = (): void => {
          hosted.dispose();
          void close();
        };
        return embedderIn(runner, userDefined, { pooling, labels, dispose });
      });
    },
  };
}

/** What is made over a package that was just written; `dispose` closes and removes it. */
async function inTemporaryPackage<T>(
  write: (path: string) => Promise<unknown>,
  make: (opened: OpenPackage, dispose: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "rlx-sim-"));
  const closers = [(): Promise<void> => rm(folder, { recursive: true, force: true })];
  const dispose = async (): Promise<void> => {
    for (const close of closers.toReversed()) await close();
  };
  try {
    const path = join(folder, "model.mlpackage");
    await write(path);
    const reader = packageReader(path);
    closers.push(() => reader.close());
    return await make(await openPackage(reader), dispose);
  } catch (error) {
    await dispose();
    throw error;
  }
}
