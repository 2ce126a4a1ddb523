// Speed of every tensor type and family against llama.cpp, on random weights of real shapes: a prompt, then generation. Each
// pair of runs is kept in a file of results at once, so that the work can be stopped and goes on where it was.
//   npx tsx bench/types.ts [--only [model][/type]] [--repeats 3] [--pp 128] [--tg 32] [--threads 2] [--seconds 3600]
//     [--folder DIR] [--keep] [--again]    measures what is not measured yet
//   npx tsx bench/types.ts --make          only makes the files (and keeps them)
//   npx tsx bench/types.ts --table         writes the tables of docs/performance/types.md
//   npx tsx bench/types.ts --json          prints the results
import { cpus, tmpdir } from "node:os";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { openGguf } from "../main/formats/gguf/open.ts";
import { openFileSource } from "../main/node/files/fileByteSource.ts";
import { loadAddon } from "../main/node/native/addon.ts";
import { runBench } from "../main/runtime/bench.ts";
import { median } from "../main/runtime/statistics.ts";
import { llamaForget, llamaMissing } from "../main/testing/llama.ts";
import { openModel } from "./support/openModel.ts";
import { runPair } from "./support/pairs.ts";
import type { Pair } from "./support/pairs.ts";
import { writeTables } from "./support/tables.ts";
import { SHAPE_NAMES, TYPE_NAMES, writeTypeModel } from "./support/typeModels.ts";
import type { ShapeName, TypeName } from "./support/typeModels.ts";

const { values: options } = parseArgs({
  options: {
    only: { type: "string", default: "" },
    repeats: { type: "string", default: "3" },
    pp: { type: "string", default: "128" },
    tg: { type: "string", default: "32" },
    threads: { type: "string", default: "2" },
    seconds: { type: "string", default: "100000" },
    folder: { type: "string", default: join(tmpdir(), "rlx-bench-models") },
    keep: { type: "boolean", default: false },
    again: { type: "boolean", default: false },
    make: { type: "boolean", default: false },
    table: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
});
const [repeats, pp, tg, threads] = [options.repeats, options.pp, options.tg, options.threads].map(Number) as [
  number,
  number,
  number,
  number,
];
const end = performance.now() + 1000 * Number(options.seconds);

interface Results {
  readonly machine: string;
  readonly kernels: string;
  readonly setting: { readonly pp: number; readonly tg: number; readonly threads: number };
  /** By "model/type". */
  readonly pairs: Record<string, Pair[]>;
}
const resultsPath = join(options.folder, "types.json");
const read = (): Results | undefined =>
  existsSync(resultsPath) ? (JSON.parse(readFileSync(resultsPath, "utf8")) as Results) : undefined;

/** A process that is stopped while it writes leaves the old results. */
function write(results: Results): void {
  writeFileSync(`${resultsPath}.new`, JSON.stringify(results, null, 1));
  renameSync(`${resultsPath}.new`, resultsPath);
}

const [onlyModel = "", onlyType = ""] = options.only.split("/");
const cases = SHAPE_NAMES.filter((name) => onlyModel === "" || name === onlyModel).flatMap((model) =>
  TYPE_NAMES.filter((name) => onlyType === "" || name === onlyType).map((type) => [model, type] as const),
);
if (cases.length === 0) throw new Error(`--only ${options.only}: got no model and type of that name`);

const ratio = (pairs: readonly Pair[], test: "Prompt" | "Generate"): number =>
  median(pairs.map((pair) => pair[`ours${test}`] / pair[`theirs${test}`]));

async function fileOf(model: ShapeName, type: TypeName): Promise<string> {
  const path = join(options.folder, `${model}-${type}.pure.gguf`);
  if (!existsSync(path)) await writeTypeModel(engine, path, model, type);
  return path;
}

async function measure(model: ShapeName, type: TypeName, results: Results): Promise<void> {
  const name = `${model}/${type}`;
  const pairs = (results.pairs[name] ??= []);
  if (pairs.length >= repeats) return;
  const path = await fileOf(model, type);
  const file = await openGguf(await openFileSource(path));
  const decoder = openModel(engine, file, path, threads);
  const session = decoder.open({ context: pp + tg + 64 });
  await runBench(session, { promptTokens: pp, generateTokens: 8, repeats: 1, warmup: 0 });
  while (pairs.length < repeats && performance.now() < end) {
    pairs.push(await runPair(session, path, { pp, tg, threads, theirsFirst: pairs.length % 2 === 1 }));
    write(results);
    console.error(`${name} ${pairs.length}/${repeats}: ${JSON.stringify(pairs.at(-1))}`);
  }
  console.error(
    `${name}: generation ${ratio(pairs, "Generate").toFixed(2)}, prompt ${ratio(pairs, "Prompt").toFixed(2)}`,
  );
  await llamaForget(path);
  session.dispose();
  decoder.dispose();
  await file.close();
  if (pairs.length >= repeats && !options.keep) rmSync(path);
}

function showTables(results: Results): void {
  const { setting, machine, kernels, pairs } = results;
  const measured = Object.values(pairs).map((list) => list.length);
  const table = (test: "Prompt" | "Generate"): readonly (readonly string[])[] => [
    ["type", ...SHAPE_NAMES],
    ...TYPE_NAMES.map((type) => [
      type,
      ...SHAPE_NAMES.map((model) => {
        const found = pairs[`${model}/${type}`] ?? [];
        if (found.length === 0) return "";
        const value = ratio(found, test);
        return value < 1 ? `**${value.toFixed(2)}**` : value.toFixed(2);
      }),
    ]),
  ];
  const turns = `${Math.min(...measured)} to ${Math.max(...measured)}`;
  writeTables(fileURLToPath(new URL("../docs/performance/types.md", import.meta.url)), [
    `${machine}, ${kernels}, ${setting.threads} threads, ${turns} turns of each.`,
    `## Generation of ${setting.tg} tokens`,
    table("Generate"),
    `## Prompt of ${setting.pp} tokens`,
    table("Prompt"),
  ]);
}

mkdirSync(options.folder, { recursive: true });
if (options.table || options.json) {
  const results = read();
  if (results === undefined) throw new Error(`${resultsPath}: no results yet; measure first`);
  if (options.table) showTables(results);
  else console.log(JSON.stringify(results, null, 2));
  process.exit(0);
}
const engine = loadAddon();
if (options.make) {
  for (const [model, type] of cases) await fileOf(model, type);
  process.exit(0);
}
const missing = llamaMissing();
if (missing !== undefined) throw new Error(missing);
const setting = { pp, tg, threads };
const results: Results = read() ?? {
  machine: cpus()[0]?.model.trim() ?? "unknown processor",
  kernels: engine.isa,
  setting,
  pairs: {},
};
if (JSON.stringify(results.setting) !== JSON.stringify(setting))
  throw new Error(`${resultsPath} was measured with ${JSON.stringify(results.setting)}: name another --folder`);
if (options.again) for (const [model, type] of cases) delete results.pairs[`${model}/${type}`];
for (const [model, type] of cases) {
  if (performance.now() >= end) break;
  await measure(model, type, results);
}
process.exit(0);
