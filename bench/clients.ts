// Tokens per second of several clients of one model at once: each has a session of its own, reads a prompt and generates,
// and the engine joins their steps. Prints one JSON object; `same` says whether each client's tokens are those that it gets
// alone.
//   npx tsx bench/clients.ts FILE [--clients 1,2,4,8] [--pp 16] [--tg 64] [--repeats 3] [--threads 2] [--llama]
//       [--mlx lazy|eager|compiled]
// With --llama the pinned llama.cpp takes turns, with as many sequences in a batch. With --mlx the engine is MLX, in this mode.
import { basename } from "node:path";
import { parseArgs } from "node:util";
import { MLX_MODES } from "../main/backends/mlx/engine.ts";
import { openGguf } from "../main/formats/gguf/open.ts";
import { openFileSource } from "../main/node/files/fileByteSource.ts";
import { loadAddon } from "../main/node/native/addon.ts";
import type { DecoderSession } from "../main/runtime/decoderSession.ts";
import { GREEDY_DRAW } from "../main/runtime/generate.ts";
import { median } from "../main/runtime/statistics.ts";
import { llamaForget, llamaSequences } from "../main/testing/llama.ts";
import { openModel, openOnMlx } from "./support/openModel.ts";
import { llamaOptions } from "./support/pairs.ts";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    clients: { type: "string", default: "1,2,4,8" },
    pp: { type: "string", default: "16" },
    tg: { type: "string", default: "64" },
    repeats: { type: "string", default: "3" },
    threads: { type: "string", default: "2" },
    llama: { type: "boolean", default: false },
    mlx: { type: "string" },
  },
});
const [path] = positionals;
if (path === undefined) throw new Error("a model file: got none, expected one");
const counts = options.clients.split(",").map(Number);
const [pp, tg, repeats, threads] = [options.pp, options.tg, options.repeats, options.threads].map(Number) as [
  number,
  number,
  number,
  number,
];

const engine = loadAddon();
const file = await openGguf(await openFileSource(path));
const mode = MLX_MODES.find((each) => each === options.mlx);
if (options.mlx !== undefined && mode === undefined)
  throw new Error(`--mlx: got ${options.mlx}, expected one of ${MLX_MODES.join(", ")}`);
const model = mode === undefined ? openModel(engine, file, path, threads) : openOnMlx(file, path, mode);
const { vocabulary } = model.architecture;
const promptOf = (client: number): number[] =>
  Array.from({ length: pp }, (_, i) => (7 + 31 * i + 101 * client) % vocabulary);

async function generate(session: DecoderSession, first: number): Promise<number[]> {
  const drawn: number[] = [];
  for await (const token of session.draw(first, { count: tg, sampling: () => GREEDY_DRAW })) drawn.push(token.id);
  return drawn;
}

interface Round {
  readonly seconds: number;
  /** Of processor time, which other programs on the machine change little. */
  readonly cpuSeconds: number;
  readonly drawn: number[][];
}
/** All clients from the first token to the last. */
async function round(sessions: readonly DecoderSession[], from = 0): Promise<Round> {
  const firsts: number[] = [];
  for (const [client, session] of sessions.entries()) {
    session.truncate(0);
    const sampled = await session.feed(promptOf(from + client), { sample: GREEDY_DRAW });
    firsts.push(sampled?.id ?? 0);
  }
  const start = performance.now();
  const cpu = process.cpuUsage();
  const drawn = await Promise.all(sessions.map((session, client) => generate(session, firsts[client] ?? 0)));
  const { user, system } = process.cpuUsage(cpu);
  return { seconds: (performance.now() - start) / 1000, cpuSeconds: (user + system) / 1e6, drawn };
}

const most = Math.max(...counts);
const sessions = Array.from({ length: most }, () => model.open({ context: pp + tg + 1, threads }));
const [one] = sessions;
if (one === undefined) throw new Error("--clients: got none, expected at least one");
await round([one]); // larger pages, prefetch trials
const alone: number[][] = [];
for (let client = 0; client < most; client++) alone.push(...(await round([one], client)).drawn);

const rates = new Map<number, number[]>(counts.map((count) => [count, []]));
const perCpu = new Map<number, number[]>(counts.map((count) => [count, []]));
const theirs = new Map<number, number[]>(counts.map((count) => [count, []]));
let agreeing = 0;
let all = 0;
for (let turn = 0; turn < repeats; turn++)
  for (const count of counts) {
    const { seconds, cpuSeconds, drawn } = await round(sessions.slice(0, count));
    perCpu.get(count)?.push((count * tg) / cpuSeconds);
    rates.get(count)?.push((count * tg) / seconds);
    all += count;
    agreeing += drawn.filter((tokens, client) => tokens.join() === alone[client]?.join()).length;
    if (!options.llama) continue;
    const prompts = Array.from({ length: count }, (_, client) => promptOf(client));
    theirs.get(count)?.push((count * tg) / (await llamaSequences(path, prompts, tg, llamaOptions(threads))));
  }
const table = counts.map((clients) => ({
  clients,
  tokensPerSecond: median(rates.get(clients) ?? []),
  perCpuSecond: median(perCpu.get(clients) ?? []),
  ...(options.llama && { llama: median(theirs.get(clients) ?? []) }),
}));
const base = table[0]?.tokensPerSecond ?? NaN;
console.log(
  JSON.stringify({
    model: basename(path),
    kernels: mode === undefined ? engine.isa : `MLX, ${mode}`,
    ...{ threads, pp, tg },
    clients: table.map((row) => ({
      ...row,
      times: row.tokensPerSecond / base,
      timesPerCpu: row.perCpuSecond / (table[0]?.perCpuSecond ?? NaN),
    })),
    same: `${agreeing} of ${all}`,
  }),
);
for (const session of sessions) session.dispose();
model.dispose();
await file.close();
if (options.llama) {
  await llamaForget();
  process.exit(0); // its process would be waited for
}
