/** Vectors of texts, their similarities, and documents sorted by a query. */
import type { EngineHandlers } from "../../contract/contract.ts";
import type { PhaseItem } from "../../contract/views/common.ts";
import { throwIfCancelled, WorkbenchError } from "../../diagnostics/errors.ts";
import type { Pooling } from "../../models/family.ts";
import type { TextRows } from "../../runtime/embedderModel.ts";
import { cosine, eachNormalised, poolingOf, similarities } from "../../runtime/embedderModel.ts";
import { rerankTokens } from "../../runtime/rerankPrompt.ts";
import type { EngineDevices } from "../devices.ts";
import type { JobHandle, Jobs } from "../jobs.ts";
import type { OpenedEmbedder } from "../models/embedders.ts";
import { openEmbedderOf } from "../models/embedders.ts";
import type { ModelStore } from "../models/modelStore.ts";
import type { OpenModel } from "../models/openModel.ts";
import { inSlices } from "../models/taskCache.ts";
import { progressStream } from "../progressStream.ts";
import type { DevicePhase } from "../../runtime/devices/provider.ts";

export interface EmbedParts {
  readonly store: ModelStore;
  readonly devices: EngineDevices;
  readonly jobs: Jobs;
  readonly defaultThreads: number;
}

/** Numbers of all answers together: 256 MB. */
const MOST_NUMBERS = 2 ** 26;

interface Wanted {
  readonly device: string;
  readonly threads: number | null;
  readonly pooling: Pooling | null;
}

type Before = PhaseItem | { readonly kind: "progress"; readonly done: number; readonly total: number };

export function embedHandlers(parts: EmbedParts): Pick<EngineHandlers["streams"], "embed.run" | "rerank.run"> {
  return {
    async *"embed.run"(input, { signal }) {
      const { texts, normalise, similarity } = input;
      const model = parts.store.get(input.model);
      const job = parts.jobs.start("run", model.description.title, model.id);
      try {
        if (similarity)
          requireComparable(poolingOf(model.requireFile("embed"), input.pooling ?? undefined), texts.length);
        const opened = yield* openInPhases(parts, model, input, signal);
        yield { kind: "start", reference: opened.reference };
        const { pooling, labels } = opened.model;
        const inTokens = texts.map((text) => () => inSlices(model.tokenizer.encodeSteps(text), signal));
        const made = yield* embedAll(opened, inTokens, { job, signal });
        const isVector = pooling !== "rank";
        yield {
          kind: "done",
          pooling,
          normalised: normalise && isVector,
          width: made[0]?.rows.width ?? 0,
          labels: isVector ? [] : [...labels],
          texts: made.map(({ tokens, rows }) => ({
            tokens,
            rows: rows.rows,
            vectors: normalise && isVector ? eachNormalised(rows).data : rows.data,
          })),
          similarity: similarity ? await inSlices(similarities(made.map(({ rows }) => rows.data)), signal) : null,
        };
      } finally {
        job.end();
      }
    },

    async *"rerank.run"(input, { signal }) {
      const { query, documents } = input;
      const model = parts.store.get(input.model);
      const job = parts.jobs.start("run", model.description.title, model.id);
      try {
        const file = model.requireFile("rerank");
        const pooling = poolingOf(file, undefined);
        if (pooling === "none") throw noVector();
        const opened = yield* openInPhases(parts, model, { ...input, pooling }, signal);
        yield { kind: "start", reference: opened.reference };
        const scored = pooling === "rank";
        const { tokenizer } = model;
        const inTokens = scored
          ? documents.map(
              (document) => () => inSlices(rerankTokens(file.metadata, tokenizer, { query, document }), signal),
            )
          : [query, ...documents].map((text) => () => inSlices(tokenizer.encodeSteps(text), signal));
        const made = yield* embedAll(opened, inTokens, { job, signal });
        const asked = scored ? undefined : made[0];
        const results = (scored ? made : made.slice(1)).map(({ tokens, rows }, document) => ({
          document,
          tokens,
          score: asked === undefined ? (rows.data[0] ?? NaN) : cosine(asked.rows.data, rows.data),
        }));
        yield {
          kind: "done",
          by: scored ? "score" : "cosine",
          results: results.toSorted((a, b) => b.score - a.score || a.document - b.document),
        };
      } finally {
        job.end();
      }
    },
  };
}

/** Similarities are of one vector for each text, and not of too many. */
function requireComparable(pooling: Pooling, texts: number): void {
  if (pooling === "rank" || pooling === "none")
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[embed] similarity: got pooling ${pooling}, expected one vector for each text`,
      { hint: "Choose mean, cls or last." },
    );
  const most = Math.sqrt(MOST_NUMBERS);
  if (texts > most)
    throw new WorkbenchError("INPUT_LIMIT", `[embed] similarity: got ${texts} texts, expected at most ${most}`, {
      hint: "Compare fewer texts at once.",
    });
}

const noVector = (): WorkbenchError =>
  new WorkbenchError(
    "UNSUPPORTED_MODEL_KIND",
    "[rerank] pooling: got none, expected a model with one vector for each text",
    {
      hint: "Use a reranker, or an embedder whose file names a pooling.",
    },
  );

async function* openInPhases(
  { devices, defaultThreads }: EmbedParts,
  model: OpenModel,
  { device, threads, pooling }: Wanted,
  signal: AbortSignal,
): AsyncGenerator<Before, OpenedEmbedder> {
  const steps = progressStream<DevicePhase, OpenedEmbedder>((onPhase) =>
    openEmbedderOf(devices, model, { device, pooling, threads: threads ?? defaultThreads, signal, onPhase }),
  );
  let next = await steps.next();
  while (next.done !== true) {
    yield { kind: "phase", fraction: null, ...next.value };
    next = await steps.next();
  }
  return next.value;
}

interface Made {
  readonly tokens: number;
  readonly rows: TextRows;
}

async function* embedAll(
  { model }: OpenedEmbedder,
  texts: readonly (() => Promise<Int32Array>)[],
  { job, signal }: { readonly job: JobHandle; readonly signal: AbortSignal },
): AsyncGenerator<Before, readonly Made[]> {
  const made: Made[] = [];
  let numbers = 0;
  for (const inTokens of texts) {
    throwIfCancelled(signal);
    const tokens = await inTokens();
    const rows = await model.embed(tokens, signal);
    numbers += rows.data.length;
    if (numbers > MOST_NUMBERS)
      throw new WorkbenchError("INPUT_LIMIT", `[embed] got more than ${MOST_NUMBERS} numbers, expected at most that`, {
        hint: "Embed fewer texts at once, or choose a pooling.",
      });
    made.push({ tokens: tokens.length, rows });
    job.update("embedding", made.length / texts.length);
    yield { kind: "progress", done: made.length, total: texts.length };
  }
  return made;
}
