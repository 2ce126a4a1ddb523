/** Several files of one model held against one of them, over a text: what `rlx choose` does, for programs. */
import type { Distance } from "../../runtime/quality.ts";
import { distanceFrom, mostTokens, readReference } from "../../runtime/quality.ts";
import type { DecoderSession } from "../../runtime/decoderSession.ts";
import type { Model, Prompt, SessionOptions } from "./model.ts";

export type QualityOptions = Pick<SessionOptions, "device" | "threads" | "signal">;

/** For each of the others, how far its distributions are from the reference's. */
export async function compareQuality(
  reference: Model,
  others: readonly Model[],
  prompt: Prompt | Int32Array,
  options: QualityOptions = {},
): Promise<readonly Distance[]> {
  const { signal } = options;
  let tokens = prompt instanceof Int32Array ? prompt : await reference.encode(prompt, signal);
  const read = async <R>(model: Model, work: (session: DecoderSession) => Promise<R>): Promise<R> => {
    const session = await model.openSession({ ...options, context: tokens.length + 1 });
    try {
      return await work(session.decoder);
    } finally {
      session.dispose();
    }
  };
  const rows = await read(reference, (session) => {
    tokens = tokens.subarray(0, mostTokens(session.facts.vocabulary));
    return readReference(session, tokens, { signal });
  });
  const distances: Distance[] = [];
  for (const other of others)
    distances.push(await read(other, (session) => distanceFrom(rows, session, tokens, { signal })));
  return distances;
}
