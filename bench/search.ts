// One search without drawing: the window's own function over the names of more than 20 000 ops, in Node.
// The budget is 30 ms for half as many. The whole way from nine typed letters to the picture is in
// `bench/window.ts`. Every query is asked once in a fresh process (`first`), then in turn with the others.
// Prints JSON. With --assert, ends with 1 when a median or a first search is over the budget.
//   npx tsx bench/search.ts [--repeats 30] [--assert]
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { buildSync } from "esbuild";
import { createClient } from "../main/contract/client.ts";
import { contract } from "../main/contract/contract.ts";
import { createPortPair } from "../main/contract/port.ts";
import { nodeEngine } from "../main/node/nodeEngine.ts";
import { readSettings } from "../main/node/settings.ts";
import { median, quantile } from "../main/runtime/statistics.ts";
import { root } from "./support/page.ts";

const { values: options } = parseArgs({
  options: {
    repeats: { type: "string", default: "30" },
    assert: { type: "boolean", default: false },
    /** For this program's own children: a query to ask first, and the bundle of the window's search. */
    first: { type: "string" },
    bundle: { type: "string" },
  },
});
const repeats = Number(options.repeats);
if (!Number.isInteger(repeats) || repeats < 1) throw new Error(`--repeats: got ${options.repeats}, expected 1 or more`);

const BUDGET_MS = 30;
const TYPED = "kv_append";
/** A word typed letter by letter, and one query of every kind. */
const QUERIES = [
  ...Array.from(TYPED, (_, i) => TYPED.slice(0, i + 1)),
  "block 399 linear",
  "blk.7.ffn_down.weight",
  "op:linear dev:ane",
  "dtype:q6_k layer:7",
  "cost>0.01%",
  "nothing-has-this-name",
];

/** The used part of renderer/graph, which no other program may import. */
interface Searching {
  readonly createGraphModel: (view: unknown) => unknown;
  readonly parseQuery: (text: string) => unknown;
  readonly searchNodes: (
    model: unknown,
    query: unknown,
    columns: { readonly device: ArrayLike<number>; readonly work: ArrayLike<number> },
  ) => readonly number[];
}

function bundleSearch(outfile: string): void {
  buildSync({
    stdin: {
      contents:
        'export { createGraphModel } from "./graphModel.ts"; export { parseQuery, searchNodes } from "./search.ts";',
      resolveDir: join(root, "renderer/graph"),
    },
    bundle: true,
    platform: "neutral",
    format: "esm",
    outfile,
    logLevel: "error",
  });
}

interface Prepared {
  readonly nodes: number;
  readonly names: number;
  readonly search: (text: string) => number;
}

/** The graph with its route, as the window searches them. */
async function prepare(bundle: string, home: string): Promise<Prepared> {
  const { createGraphModel, parseQuery, searchNodes } = (await import(pathToFileURL(bundle).href)) as Searching;
  const engine = nodeEngine({ settings: readSettings({ ...process.env, RLX_HOME: home }) });
  const [near, far] = createPortPair();
  engine.connect(far);
  const client = createClient(contract, near);
  const { model, target } = await client.call("model.open", { source: { kind: "offer", id: "header-only-400" } });
  const key = {
    model,
    stage: { backend: "coreml", step: "legal", target },
    phase: "decode",
    precision: "f32",
  } as const;
  const view = await client.call("graph.get", key);
  const { nodes: columns } = await client.call("route.get", { model, target, phase: "decode" });
  await engine.dispose();
  const shown = createGraphModel(view);
  return {
    nodes: view.nodeCount,
    names: new Set(view.nodes.name).size,
    search: (text) => searchNodes(shown, parseQuery(text), columns).length,
  };
}

function millisecondsOf(work: () => void): number {
  const start = performance.now();
  work();
  return performance.now() - start;
}

/** In a process of its own. */
function firstSearch(query: string, bundle: string): number {
  const words = [...process.execArgv, process.argv[1] ?? "", "--bundle", bundle, `--first=${query}`];
  const run = spawnSync(process.execPath, words, { encoding: "utf8" });
  if (run.status !== 0) throw new Error(run.stderr);
  return Number(run.stdout);
}

async function measure(bundle: string, home: string): Promise<void> {
  bundleSearch(bundle);
  const firsts = QUERIES.map((query) => firstSearch(query, bundle));
  const { nodes, names, search } = await prepare(bundle, home);
  const samples = QUERIES.map((): number[] => []);
  for (let i = 0; i < repeats; i++)
    QUERIES.forEach((query, at) => samples[at]?.push(millisecondsOf(() => search(query))));
  const rounded = (value: number): number => Number(value.toFixed(2));
  const results = QUERIES.map((query, at) => ({
    query,
    hits: search(query),
    first: rounded(firsts[at] ?? NaN),
    median: rounded(median(samples[at] ?? [])),
    p95: rounded(quantile(samples[at] ?? [], 0.95)),
  }));
  const slowest = {
    first: Math.max(...results.map(({ first }) => first)),
    median: Math.max(...results.map((result) => result.median)),
    p95: Math.max(...results.map(({ p95 }) => p95)),
  };
  const within = slowest.first <= BUDGET_MS && slowest.median <= BUDGET_MS;
  const graph = { title: "header-only, 400 blocks", nodes, names };
  console.log(JSON.stringify({ graph, repeats, budget: BUDGET_MS, within, slowest, results }, undefined, 2));
  if (options.assert && !within) process.exitCode = 1;
}

const folder = mkdtempSync(join(tmpdir(), "rlx-bench-search-"));
try {
  const home = join(folder, "home");
  if (options.first === undefined || options.bundle === undefined) await measure(join(folder, "search.mjs"), home);
  else {
    const { search } = await prepare(options.bundle, home);
    const query = options.first;
    process.stdout.write(String(millisecondsOf(() => search(query))));
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
