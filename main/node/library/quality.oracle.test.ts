// Distances between two files of a model: llama.cpp's distributions of the same files give the same numbers.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { llamaForget, llamaLogprobs, llamaMissing } from "../../testing/llama.ts";
import type { Rows } from "../../testing/llama.ts";
import { compareQuality } from "./quality.ts";
import { openModel, sampleModel } from "./model.ts";
import { quantizeModel } from "./quantize.ts";

const TEXT =
  "The Neural Engine runs the first layers. The GPU takes what is left, and the CPU reads the table of words.";

test.skipIf(llamaMissing() !== undefined)("distances are those of llama.cpp's distributions", async () => {
  const folder = await mkdtemp(join(tmpdir(), "rlx-quality-"));
  const reference = await openModel(sampleModel());
  const path = join(folder, "small.gguf");
  try {
    await quantizeModel(reference, path, { to: "q4_0" });
    const small = await openModel(path);
    try {
      const tokens = await reference.encode(TEXT);
      const [same, far] = await compareQuality(reference, [reference, small], tokens);
      expect(same?.divergence).toEqual({ mean: 0, error: 0, median: 0, high: 0 });
      expect(same?.sameTop).toBe(1);
      const ours = await llamaLogprobs(sampleModel(), [...tokens]);
      const theirs = await llamaLogprobs(path, [...tokens]);
      const known = distance(ours, theirs, tokens);
      expect(known.mean).toBeGreaterThan(0.001);
      // llama.cpp rounds the activations of packed products to eight bits, each engine in its own way.
      expect(far?.divergence.mean).toBeCloseTo(known.mean, 2);
      expect(Math.abs(1 - (far?.perplexity ?? NaN) / known.perplexity)).toBeLessThan(0.02);
      expect(Math.abs((far?.sameTop ?? NaN) - known.sameTop)).toBeLessThanOrEqual(1.5 / (tokens.length - 1));
    } finally {
      await small.close();
    }
  } finally {
    await reference.close();
    await llamaForget();
    await rm(folder, { recursive: true, force: true });
  }
});

/** Σ p (ln p − ln q) in the plainest form, over all rows but the last. */
function distance(p: Rows<Float64Array>, q: Rows<Float64Array>, tokens: Int32Array) {
  const rows = tokens.length - 1;
  let [sum, same, logs] = [0, 0, 0];
  for (let at = 0; at < rows; at++) {
    const [a, b] = [p.row(at), q.row(at)];
    for (const [i, value] of a.entries()) sum += Math.exp(value) * (value - (b[i] ?? NaN));
    if (a.indexOf(Math.max(...a)) === b.indexOf(Math.max(...b))) same += 1;
    logs += b[tokens[at + 1] ?? -1] ?? NaN;
  }
  return { mean: sum / rows, sameTop: same / rows, perplexity: Math.exp(-logs / rows) };
}
