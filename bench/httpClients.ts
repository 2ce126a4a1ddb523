// Tokens per second of several clients of `rlx serve --api` at once, through HTTP: each asks /v1/completions for a prompt of its own
// and reads the whole answer. Prints one JSON object; times include reading the prompt. Compare with bench/clients.ts, which has no
// server between.
//   node scripts/build.mjs cli engine && npx tsx bench/httpClients.ts FILE [--clients 1,8] [--pp 16] [--tg 64] [--repeats 3]
//       [--device cpu]
import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { median } from "../main/runtime/statistics.ts";
import { root } from "./support/page.ts";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    clients: { type: "string", default: "1,8" },
    pp: { type: "string", default: "16" },
    tg: { type: "string", default: "64" },
    repeats: { type: "string", default: "3" },
    device: { type: "string", default: "cpu" },
  },
});
const [path] = positionals;
if (path === undefined) throw new Error("a model file: got none, expected one");
const counts = options.clients.split(",").map(Number);
const [pp, tg, repeats] = [Number(options.pp), Number(options.tg), Number(options.repeats)];

async function serve(
  file: string,
): Promise<{ readonly child: ChildProcess; readonly url: string; readonly key: string }> {
  const child = spawn(
    process.execPath,
    [join(root, "out/cli/rlx.js"), "serve", "--api", file, "--json", "--device", options.device],
    {
      stdio: ["ignore", "pipe", "ignore"],
    },
  );
  const line = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).once("line", resolve);
    child.once("exit", (code) => reject(new Error(`rlx serve ended with code ${code ?? "?"}`)));
  });
  const { url, key } = JSON.parse(line) as { readonly url: string; readonly key: string | null };
  return { child, url, key: key ?? "" };
}

const { child, url, key } = await serve(path);
process.once("exit", () => child.kill("SIGKILL"));

async function ask(client: number): Promise<number> {
  const prompt = Array.from({ length: pp }, (_, i) => 100 + ((7 + 31 * i + 101 * client) % 150));
  const response = await fetch(new URL("/v1/completions", url), {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ prompt, max_tokens: tg, temperature: 0, ignore_eos: true }),
  });
  if (!response.ok) throw new Error(`/v1/completions: ${response.status} ${await response.text()}`);
  const { usage } = (await response.json()) as { readonly usage: { readonly completion_tokens: number } };
  return usage.completion_tokens;
}

/** Tokens per second of all clients together. */
async function round(count: number): Promise<number> {
  const start = performance.now();
  const tokens = await Promise.all(Array.from({ length: count }, (_, client) => ask(client)));
  return (1000 * tokens.reduce((a, b) => a + b, 0)) / (performance.now() - start);
}

await round(1); // opens the model
await round(Math.max(...counts)); // opens the sessions
const rates = new Map(counts.map((count) => [count, [] as number[]]));
for (let turn = 0; turn < repeats; turn++) for (const count of counts) rates.get(count)?.push(await round(count));
const table = counts.map((clients) => ({ clients, tokensPerSecond: median(rates.get(clients) ?? []) }));
const [base] = table;
console.log(
  JSON.stringify({
    ...{ model: basename(path), device: options.device, pp, tg },
    clients: table.map((row) => ({
      ...row,
      times: row.tokensPerSecond / (base?.tokensPerSecond ?? NaN),
    })),
  }),
);
child.kill("SIGTERM");
