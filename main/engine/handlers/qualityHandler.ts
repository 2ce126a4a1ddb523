/** Several files of one model read the same text; the first is what the others are held against. */
import type { EngineHandlers } from "../../contract/contract.ts";
import type { QualityFile, QualityItem } from "../../contract/views/quality.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { requireReadingDecoder } from "../../models/architecture.ts";
import type { DecoderSession } from "../../runtime/decoderSession.ts";
import type { ReferenceRows } from "../../runtime/quality.ts";
import { distanceFrom, mostTokens, readReference } from "../../runtime/quality.ts";
import type { OpenModel } from "../models/openModel.ts";
import { settledStream } from "../progressStream.ts";
import { counted } from "../words.ts";
import type { ScoreParts } from "./scoreHandlers.ts";
import { tokensOf } from "./scoreHandlers.ts";

type Progress = Extract<QualityItem, { readonly kind: "progress" }>;

export function qualityHandler(parts: ScoreParts): EngineHandlers["streams"]["quality.run"] {
  return async function* quality({ model, others, source, most, device, threads }, { signal }) {
    const models = [model, ...others].map((id) => parts.store.get(id));
    const first = parts.store.get(model);
    for (const each of models) requireReadingDecoder(each.requireFile("quality"));
    parts.devices.able(device, "graphs", "quality");
    const text = await tokensOf(first, source, "quality", signal);
    if (text.length < 2)
      throw new WorkbenchError(
        "INPUT_ARGUMENT",
        `[quality] got ${counted(text.length, "token")}, expected at least 2`,
        { hint: "Give a longer text." },
      );
    for (const other of models.slice(1)) {
      const same = source.kind === "tokens" ? text : await tokensOf(other, source, "quality", signal);
      requireSameTokens(first, text, other, same);
    }
    const job = parts.jobs.start("run", `${counted(models.length, "file")} of ${first.description.title}`, model);
    try {
      const files: QualityFile[] = [];
      let reference: ReferenceRows | undefined;
      let tokens = text.subarray(0, most);
      for (const each of models) {
        const lease = await parts.decoders.lease(each, {
          device,
          context: tokens.length + 1,
          threads: threads ?? parts.defaultThreads,
          cacheType: "f16",
          own: true,
          standIn: true,
          signal,
        });
        try {
          if (files.length === 0) {
            yield { kind: "start", reference: lease.reference };
            tokens = tokens.subarray(0, mostTokens(lease.session.facts.vocabulary));
          }
          const before = files.length * (tokens.length - 1);
          const total = models.length * (tokens.length - 1);
          const read = <R>(work: (session: DecoderSession, onProgress: (done: number) => void) => Promise<R>) =>
            settledStream<Progress, R>((emit) =>
              work(lease.session, (done) => {
                job.update(`reading with ${each.requireFile("quality").name}`, (before + done) / total);
                emit({ kind: "progress", title: each.requireFile("quality").name, done: before + done, total });
              }),
            );
          const known = reference;
          if (known === undefined) {
            reference = yield* read((session, onProgress) => readReference(session, tokens, { signal, onProgress }));
            files.push({ ...factsOf(each), perplexity: reference.perplexity, divergence: null, sameTop: null });
          } else {
            const far = yield* read((session, onProgress) =>
              distanceFrom(known, session, tokens, { signal, onProgress }),
            );
            files.push({ ...factsOf(each), ...far });
          }
        } finally {
          await lease.release();
        }
      }
      yield { kind: "done", tokens: tokens.length, textTokens: text.length, files };
    } finally {
      job.end();
    }
  };
}

function requireSameTokens(first: OpenModel, tokens: Int32Array, other: OpenModel, same: Int32Array): void {
  if (tokens.length === same.length && tokens.every((id, i) => id === same[i])) return;
  throw new WorkbenchError(
    "INPUT_ARGUMENT",
    `[quality] ${other.requireFile("quality").name} cuts the text into other tokens than ${first.requireFile("quality").name}: got ${same.length}, expected the same ${tokens.length}`,
    { hint: "Compare files that were made of the same model." },
  );
}

const factsOf = (model: OpenModel): Pick<QualityFile, "model" | "title" | "bytes" | "bitsPerWeight"> => ({
  model: model.id,
  // Files of one model: their names tell them apart.
  title: model.requireFile("quality").name,
  bytes: model.requireFile("quality").byteLength,
  bitsPerWeight: model.description.bitsPerWeight ?? null,
});
