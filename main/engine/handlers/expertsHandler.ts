/** Which experts each layer chooses while a model reads a text. */
import type { EngineHandlers } from "../../contract/contract.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { ExpertUse } from "../../runtime/expertUse.ts";
import { expertUse, requireExperts } from "../../runtime/expertUse.ts";
import { settledStream } from "../progressStream.ts";
import type { ScoreParts } from "./scoreHandlers.ts";
import { tokensOf } from "./scoreHandlers.ts";

export function expertsHandler(parts: ScoreParts): EngineHandlers["streams"]["experts.run"] {
  return async function* experts({ model: id, source, device, threads }, { signal }) {
    const model = parts.store.get(id);
    const layers = requireExperts(model.requireFile("experts"));
    const tokens = await tokensOf(model, source, "experts", signal);
    if (tokens.length === 0)
      throw new WorkbenchError("INPUT_ARGUMENT", "[experts] got no tokens, expected at least 1", {
        hint: "Give a text, or ids.",
      });
    // The graph has outputs of its own here, so the device compiles it itself.
    parts.devices.able(device, "graphs", "experts");
    const job = parts.jobs.start("run", model.description.title, model.id);
    try {
      const lease = await parts.decoders.lease(model, {
        device,
        context: tokens.length,
        threads: threads ?? parts.defaultThreads,
        countsExperts: true,
        standIn: true,
        signal,
      });
      try {
        yield { kind: "start", reference: lease.reference };
        lease.session.truncate(0);
        const use = yield* settledStream<
          { readonly kind: "progress"; readonly done: number; readonly total: number },
          ExpertUse
        >((emit) =>
          expertUse(lease.session, layers, tokens, {
            signal,
            onProgress: (done, total) => {
              job.update("reading", done / total);
              emit({ kind: "progress", done, total });
            },
          }),
        );
        yield { kind: "done", ...use };
      } finally {
        await lease.release();
      }
    } finally {
      job.end();
    }
  };
}
