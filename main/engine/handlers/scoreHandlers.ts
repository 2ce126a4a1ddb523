/** Tokens of a text, and their log-probabilities under a model. */
import type { EngineHandlers } from "../../contract/contract.ts";
import type { View } from "../../contract/define.ts";
import type { scoreInput } from "../../contract/views/score.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { textOrBytes } from "../../diagnostics/utf8.ts";
import { requireReadingDecoder } from "../../models/architecture.ts";
import type { EngineDevices } from "../devices.ts";
import { settledStream } from "../progressStream.ts";
import type { Jobs } from "../jobs.ts";
import type { Decoders } from "../models/decoders.ts";
import type { ModelStore } from "../models/modelStore.ts";
import type { OpenModel } from "../models/openModel.ts";
import { inSlices } from "../models/taskCache.ts";
import { counted } from "../words.ts";

export interface ScoreParts {
  readonly store: ModelStore;
  readonly decoders: Decoders;
  readonly devices: EngineDevices;
  readonly jobs: Jobs;
  readonly defaultThreads: number;
}

export function encodeHandler(store: ModelStore): EngineHandlers["calls"]["tokens.encode"] {
  return async ({ model, text, addSpecial }, { signal }) => {
    const { tokenizer } = store.get(model);
    const tokens = Int32Array.from(await inSlices(tokenizer.encodeSteps(text, { addSpecial }), signal));
    return { tokens, pieces: Array.from(tokens, (id) => textOrBytes(tokenizer.pieceBytes(id, true))) };
  };
}

export function scoreHandler(parts: ScoreParts): EngineHandlers["streams"]["score.run"] {
  return async function* score({ model: id, source, device, cache, chunk, threads }, { signal }) {
    const model = parts.store.get(id);
    requireReadingDecoder(model.requireFile("score"));
    const tokens = await tokensOf(model, source, "score", signal);
    if (tokens.length < 2)
      throw new WorkbenchError(
        "INPUT_ARGUMENT",
        `[score] got ${counted(tokens.length, "token")}, expected at least 2`,
        { hint: "Give a longer text, or more ids." },
      );
    // The type of the cache is asked for, so the device compiles the graph itself.
    parts.devices.able(device, "graphs", "score");
    const job = parts.jobs.start("run", model.description.title, model.id);
    try {
      const lease = await parts.decoders.lease(model, {
        device,
        context: tokens.length + 1,
        threads: threads ?? parts.defaultThreads,
        cacheType: cache,
        standIn: true,
        chunk,
        signal,
      });
      try {
        yield { kind: "start", reference: lease.reference };
        const logprobs = Float64Array.from(
          yield* settledStream<
            { readonly kind: "progress"; readonly done: number; readonly total: number },
            Float32Array
          >((emit) =>
            lease.session.score(tokens, {
              signal,
              onProgress: (done, total) => {
                job.update("scoring", done / total);
                emit({ kind: "progress", done, total });
              },
            }),
          ),
        );
        const known = logprobs.subarray(1);
        const perplexity = Math.exp(-known.reduce((sum, value) => sum + value, 0) / known.length);
        logprobs[0] = NaN;
        yield { kind: "done", tokens, pieces: piecesOf(model, tokens), logprobs, perplexity };
      } finally {
        await lease.release();
      }
    } finally {
      job.end();
    }
  };
}

/** Within the model's context. */
export async function tokensOf(
  model: OpenModel,
  source: View<typeof scoreInput>["source"],
  who: string,
  signal: AbortSignal,
): Promise<Int32Array> {
  const tokens =
    source.kind === "tokens"
      ? source.tokens
      : Int32Array.from(
          await inSlices(model.tokenizer.encodeSteps(source.text, { addSpecial: source.addSpecial }), signal),
        );
  const { context } = model.description;
  if (context !== undefined && tokens.length > context)
    throw new WorkbenchError(
      "RUN_CONTEXT_FULL",
      `[${who}] got ${tokens.length} tokens, expected at most ${context}: the model's context ends there`,
      { hint: "Give the text in parts." },
    );
  return tokens;
}

/** What the tokens say. Ids are scored without words, too: of a tokenizer that is not known, or behind the vocabulary's end. */
function piecesOf(model: OpenModel, tokens: Int32Array): readonly (string | null)[] {
  try {
    const { tokenizer } = model;
    return Array.from(tokens, (id) => (id < tokenizer.size ? textOrBytes(tokenizer.pieceBytes(id, true)) : null));
  } catch (error) {
    if (error instanceof WorkbenchError) return Array.from(tokens, () => null);
    throw error;
  }
}
