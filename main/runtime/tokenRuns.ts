/**
 * Token drawing for every session. An engine that draws itself does (`session.tokens`). For any other the logits are fetched,
 * and drawn and scored here.
 */
import { WorkbenchError } from "../diagnostics/errors.ts";
import { hostTensor } from "../ir/hostTensor.ts";
import type { HostTensor } from "../ir/hostTensor.ts";
import type { FetchedTensor, GraphSession, TokenResult, TokenRun, TokenRunner } from "../ir/session.ts";
import { draw, scoreRows } from "./sampleRows.ts";

export const tokensOf = (session: GraphSession): TokenRunner => session.tokens ?? drawnHere(session);

const drawnHere = (session: GraphSession): TokenRunner => ({
  follows: false,
  series: false,
  async run(request, signal) {
    const { logits: name, sample, score, follow, series, ...run } = request;
    if (follow !== undefined || series !== undefined)
      throw new WorkbenchError(
        "INPUT_ARGUMENT",
        `[tokens] ${follow === undefined ? "series" : "follow"}: not supported, because this engine does not draw tokens`,
      );
    if (name === undefined || (sample === undefined && score === undefined)) return session.run(run, signal);
    const asked = run.fetch ?? [];
    const result = await session.run({ ...run, fetch: [...new Set([...asked, name])] }, signal);
    const { [name]: fetched, ...others } = result.outputs;
    if (fetched === undefined)
      throw new WorkbenchError("INPUT_ARGUMENT", `[tokens] logits: got "${name}", expected an output of the graph`);
    return {
      ...result,
      outputs: asked.includes(name) ? result.outputs : others,
      ...drawnFrom(rowsOf(name, fetched), request),
    };
  },
});

function drawnFrom(logits: HostTensor, { sample, score }: TokenRun): Pick<TokenResult, "sampled" | "scored"> {
  return {
    ...(sample === undefined || logits.data.length === 0 ? {} : { sampled: draw(logits, sample) }),
    ...(score === undefined ? {} : { scored: scoreRows(logits, score) }),
  };
}

function rowsOf(name: string, { dtype, shape, bytes }: FetchedTensor): HostTensor {
  if (dtype !== "f32")
    throw new WorkbenchError("INPUT_ARGUMENT", `[tokens] logits "${name}": got ${dtype}, expected f32`);
  return hostTensor(dtype, shape, new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4));
}
