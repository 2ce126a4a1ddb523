/**
 * Decoders whose plan is kept on disk. A plan follows from the header of the file (keys and tensor table), from a few options and
 * from our own sources: the key holds all of them, so a warm start builds no graph at all (docs/decisions/0009).
 */
import { createHash } from "node:crypto";
import type { CpuEngine } from "../../backends/cpu/engine.ts";
import type { CompileStore } from "../../compiler/compileCache.ts";
import { cached } from "../../compiler/compileCache.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
import { CHUNK } from "../../models/template.ts";
import type { DecoderModel } from "../../runtime/decoderModel.ts";
import type { DecoderOptions } from "../../runtime/devices/cpu.ts";
import { decoderArtifact, openDecoder } from "../../runtime/devices/cpu.ts";
import { decodeArtifact, encodeArtifact } from "../../runtime/cpuArtifact.ts";
import type { DispatchPolicy } from "../../compiler/support.ts";

export interface PlanCache {
  readonly store: CompileStore;
  /** Hash of the sources that compile. */
  readonly build: string;
  /** Facts that `prepare` of the options depends on. */
  readonly dispatch: DispatchPolicy;
}

/** Header facts of a key: length, keys and tensor table (hashed) of each part of the file. */
export const headerFacts = (file: GgufFile): readonly (readonly [number, string])[] =>
  file.parts.map((part, i) => [part.byteLength, createHash("sha256").update(file.headerBytes(i)).digest("hex")]);

export function planKey(
  file: GgufFile,
  options: Pick<DecoderOptions, "cacheType" | "chunk" | "asGgml" | "countsExperts" | "precision" | "rings">,
  cache: Pick<PlanCache, "build" | "dispatch">,
): string {
  const {
    cacheType = "f16",
    chunk = CHUNK,
    asGgml = null,
    countsExperts = false,
    precision = "f32",
    rings = true,
  } = options;
  const scales = file.adapters.map(({ scale }) => scale);
  const parts = [
    cache.build,
    cache.dispatch,
    cacheType,
    chunk,
    asGgml,
    countsExperts,
    precision,
    rings,
    headerFacts(file),
    scales,
  ];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}

/** The decoder, and whether its plan came from the cache. */
export async function openCachedDecoder(
  engine: CpuEngine,
  file: GgufFile,
  paths: readonly string[],
  options: DecoderOptions,
  cache: PlanCache | undefined,
): Promise<{ readonly decoder: DecoderModel; readonly how: "hit" | "made" | "repaired" }> {
  if (cache === undefined || !file.hasData) return { decoder: openDecoder(engine, file, paths, options), how: "made" };
  const { value, how } = await cached(cache.store, planKey(file, options, cache), {
    read: (content) => {
      const artifact = decodeArtifact(content);
      return artifact === undefined ? undefined : openDecoder(engine, file, paths, options, artifact);
    },
    make: () => {
      const artifact = decoderArtifact(file, options);
      return { value: openDecoder(engine, file, paths, options, artifact), content: encodeArtifact(artifact) };
    },
  });
  return { decoder: value, how };
}
