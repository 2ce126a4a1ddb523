/**
 * Token drawing for every session. An engine that draws itself does (`session.tokens`). For any other, and for chains with a
 * step that the engine does not take, the logits are fetched, and drawn and scored here.
 */
import { WorkbenchError } from "../diagnostics/errors.ts";
import { hostTensor } from "../ir/hostTensor.ts";
import type { HostTensor } from "../ir/hostTensor.ts";
import type { FetchedTensor, GraphSession, SampleOptions, TokenResult, TokenRun, TokenRunner } from "../ir/session.ts";
import { draw, scoreRows } from "./sampleRows.ts";
import { stepsOf } from "./sampling/chain.ts";

export function tokensOf(session: GraphSession): TokenRunner {
  const here = drawnHere(session);
  const { tokens } = session;
  if (tokens === undefined) return here;
  return {
    ...tokens,
    run: (request, signal) =>
      (request.sample === undefined || takesAllSteps(tokens, request.sample) ? tokens : here).run(request, signal),
  };
}

/** Otherwise its logits are fetched: no run can follow such a draw, or draw several tokens. */
export const takesAllSteps = ({ steps }: TokenRunner, sample: SampleOptions): boolean =>
  stepsOf(sample).every((step) => steps.includes(step));

const drawnHere = (session: GraphSession): TokenRunner => ({
  follows: false,
  series: false,
  steps: [],
  async run(request, signal) {
    const { logits: name, sample, score, follow, series, ...run } = request;
    if (follow !== undefined || series !== undefined)
      throw new WorkbenchError(
        "INPUT_ARGUMENT",
        `[tokens] ${follow === undefined ? "series" : "follow"}: not supported, because this engine does not draw this token`,
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
