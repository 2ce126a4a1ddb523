// A prompt read, against the same prompt loaded from a prompt cache, in turns: seconds of each, medians.
//   npx tsx bench/promptCache.ts FILE [--tokens 1000] [--repeats 5] [--threads 2]
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openModel } from "../main/node/library/index.ts";
import { median } from "../main/runtime/statistics.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    tokens: { type: "string", default: "1000" },
    repeats: { type: "string", default: "5" },
    threads: { type: "string", default: "2" },
  },
});
const [count, repeats, threads] = [values.tokens, values.repeats, values.threads].map(Number) as [
  number,
  number,
  number,
];
const [path] = positionals;
if (path === undefined) throw new Error("no model: npx tsx bench/promptCache.ts FILE");

const folder = mkdtempSync(join(tmpdir(), "rlx-bench-prompt-cache-"));
const cache = join(folder, "prompt.rlxcache");
const model = await openModel(path);
const prompt = Int32Array.from({ length: count }, (_, i) => 100 + ((i * 7919) % 20_000));
const session = await model.openSession({ context: 2 * count, threads });
const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const begun = performance.now();
  await work();
  return (performance.now() - begun) / 1000;
};
const rows: [read: number, saved: number, loaded: number][] = [];
try {
  // The first round brings the weights into memory.
  for (let round = 0; round <= repeats; round++) {
    session.decoder.truncate(0);
    const read = await timed(() => session.decoder.feed(prompt));
    const saved = await timed(() => session.save(cache, { overwrite: true }));
    session.decoder.truncate(0);
    const loaded = await timed(() => session.load(cache));
    if (session.decoder.past !== count) throw new Error(`loaded ${session.decoder.past} tokens of ${count}`);
    if (round > 0) rows.push([read, saved, loaded]);
  }
  const middle = (at: number): string => median(rows.map((row) => row[at] ?? NaN)).toFixed(3);
  console.log(`${count} tokens, ${(statSync(cache).size / 1e6).toFixed(0)} MB`);
  console.log(`read ${middle(0)} s, saved ${middle(1)} s, loaded ${middle(2)} s`);
} finally {
  session.dispose();
  await model.close();
  rmSync(folder, { recursive: true });
}
