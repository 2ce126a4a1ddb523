/** Which experts the layers of a mixture choose while a text is read: the heat map of a run. */
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { GgufFile } from "../formats/gguf/file.ts";
import { requireArchitecture } from "../models/architecture.ts";
import { expertOutput } from "../models/blocks.ts";
import { expertLayers } from "../models/experts.ts";
import type { DecoderSession, FeedOptions } from "./decoderSession.ts";

export interface ExpertUse {
  /** Tokens that were read. */
  readonly tokens: number;
  readonly layers: readonly LayerUse[];
}

export interface LayerUse {
  readonly layer: number;
  /** For each expert: the tokens that it took. */
  readonly counts: Uint32Array;
}

/** Layers of the model that have experts; throws for a model without. */
export function requireExperts(file: GgufFile): readonly number[] {
  const { tensors } = requireArchitecture(file);
  const read = tensors((name) => file.tensor(name) !== undefined);
  const layers = expertLayers(read.map(({ name }) => name));
  if (layers.length > 0) return layers;
  throw new WorkbenchError(
    "INPUT_ARGUMENT",
    `[experts] ${file.name}: got a model without experts, expected a mixture`,
    {
      hint: "A mixture of experts has a router in its layers; `rlx inspect` says which models are one.",
    },
  );
}

/** Feeds tokens to a session of a decoder with `countsExperts`, and counts what the routers pick. */
export async function expertUse(
  session: DecoderSession,
  layers: readonly number[],
  tokens: ArrayLike<number>,
  options: Pick<FeedOptions, "signal" | "onProgress"> = {},
): Promise<ExpertUse> {
  const names = layers.map(expertOutput);
  const sums: (Uint32Array | undefined)[] = layers.map(() => undefined);
  await session.feed(tokens, {
    ...options,
    outputs: {
      names,
      take: (outputs) =>
        names.forEach((name, i) => {
          const bytes = outputs[name]?.bytes ?? new Uint8Array();
          const counts = new Int32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
          const sum = (sums[i] ??= new Uint32Array(counts.length));
          counts.forEach((count, expert) => (sum[expert] = (sum[expert] ?? 0) + count));
        }),
    },
  });
  return {
    tokens: tokens.length,
    layers: layers.map((layer, i) => ({ layer, counts: sums[i] ?? new Uint32Array() })),
  };
}
