// Layers with a window as rings, against whole caches, in turns: bytes of keys and values, processor seconds of a prompt and of a
// token behind it, medians. One thread: two that wait for each other use the processor, too.
//   npx tsx bench/rings.ts FILE [--depths 2000,8000] [--tokens 64] [--repeats 3] [--cache f16]
import { parseArgs } from "node:util";
import { openGguf } from "../main/formats/gguf/open.ts";
import { CACHE_TYPES } from "../main/models/blocks.ts";
import { openFileSource } from "../main/node/files/fileByteSource.ts";
import { loadAddon } from "../main/node/native/addon.ts";
import { openDecoder } from "../main/runtime/devices/cpu.ts";
import { prepareDecoder } from "../main/runtime/devices/provider.ts";
import { GREEDY_DRAW } from "../main/runtime/generate.ts";
import { median } from "../main/runtime/statistics.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    depths: { type: "string", default: "2000,8000" },
    tokens: { type: "string", default: "64" },
    repeats: { type: "string", default: "3" },
    cache: { type: "string", default: "f16" },
  },
});
const [path] = positionals;
if (path === undefined) throw new Error("no model: npx tsx bench/rings.ts FILE");
const [tokens, repeats, threads] = [Number(values.tokens), Number(values.repeats), 1];
const processor = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};
const cacheType = CACHE_TYPES.find((type) => type === values.cache);
if (cacheType === undefined) throw new Error(`--cache: expected one of ${CACHE_TYPES.join(", ")}`);

const file = await openGguf(await openFileSource(path));
const engine = loadAddon();
const prepare = prepareDecoder("cpu", { dispatch: "prefer-native" });
const kinds = [true, false].map((rings) => ({
  name: rings ? "rings" : "whole",
  decoder: openDecoder(engine, file, [path], { cacheType, threads, rings, prepare }),
}));
for (const depth of values.depths.split(",").map(Number)) {
  const context = depth + tokens + 8;
  const prompt = Int32Array.from({ length: depth }, (_, i) => (i * 7919 + 13) % 200);
  const taken = kinds.map(() => ({ prompt: [] as number[], token: [] as number[], bytes: 0 }));
  // The first round brings the weights into memory.
  for (let round = 0; round <= repeats; round++)
    for (const [i, { decoder }] of kinds.entries()) {
      const session = decoder.open({ context, threads });
      const begun = processor();
      const first = await session.feed(prompt, { sample: GREEDY_DRAW });
      const read = processor();
      const sampling = (recent: readonly number[], step: number) => ({
        ...GREEDY_DRAW,
        recent: Int32Array.from(recent),
        step,
      });
      for await (const _token of session.draw(first?.id ?? 0, { count: tokens, sampling }));
      const drawn = processor();
      const of = taken[i];
      if (of !== undefined && round > 0) {
        of.prompt.push(read - begun);
        of.token.push((1000 * (drawn - read)) / tokens);
        of.bytes = session.cacheBytes;
      }
      session.dispose();
    }
  for (const [i, { name }] of kinds.entries()) {
    const of = taken[i];
    if (of !== undefined)
      console.log(
        JSON.stringify({
          ...{ depth, kind: name, megabytes: Number((of.bytes / 1e6).toFixed(1)) },
          ...{ promptSeconds: Number(median(of.prompt).toFixed(2)), tokenMs: Number(median(of.token).toFixed(2)) },
        }),
      );
  }
}
for (const { decoder } of kinds) decoder.dispose();
await file.close();
