// The route of a model of 400 blocks, stage by stage, in fresh processes that have warmed up as the engine does while it waits for
// its first model; with --cold without that. The budget is 3 s for all of it. Prints JSON, with how long a fixed loop takes here:
// compare numbers of two machines, or of two hours of one, by it. With --assert, ends with 1 when the median is over the budget.
// `digests` is the same for versions that make the same route.
//   npx tsx bench/route.ts [--repeats 5] [--layers 400] [--units cpu-ane] [--cold] [--profile-to FOLDER] [--assert]
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { buildSync } from "esbuild";
import { median } from "../main/runtime/statistics.ts";
import { root } from "./support/page.ts";

const { values: options } = parseArgs({
  options: {
    repeats: { type: "string", default: "5" },
    layers: { type: "string", default: "400" },
    units: { type: "string", default: "cpu-ane" },
    cold: { type: "boolean", default: false },
    /** For `node --cpu-prof`. */
    "profile-to": { type: "string" },
    assert: { type: "boolean", default: false },
  },
});
const repeats = Number(options.repeats);
if (!Number.isInteger(repeats) || repeats < 1) throw new Error(`--repeats: got ${options.repeats}, expected 1 or more`);

const BUDGET_MS = 3000;
const start = options.cold ? "cold" : "warm";

interface Run {
  readonly nodes: number;
  readonly operators: number;
  readonly stages: readonly { readonly name: string; readonly milliseconds: number; readonly cpu: number }[];
  readonly peakMegabytes: number;
  readonly cpu: number;
  readonly fixedLoop: number;
  readonly digest: string;
}

function once(program: string): Run {
  const profile = options["profile-to"];
  const flags = profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profile}`];
  const ran = spawnSync(process.execPath, [...flags, program, options.layers, options.units, start], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (ran.status !== 0) throw new Error(`the route ended with ${String(ran.status)}`);
  return JSON.parse(ran.stdout) as Run;
}

const rounded = (value: number): number => Math.round(value);
const total = ({ stages }: Run): number => stages.reduce((sum, { milliseconds }) => sum + milliseconds, 0);

const folder = mkdtempSync(join(tmpdir(), "rlx-bench-route-"));
try {
  const program = join(folder, "routeStages.mjs");
  buildSync({
    entryPoints: [join(root, "bench/support/routeStages.ts")],
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    outfile: program,
    logLevel: "error",
  });
  const runs = Array.from({ length: repeats }, () => once(program));
  const [first] = runs;
  const route = median(runs.map(total));
  console.log(
    JSON.stringify(
      {
        start,
        layers: Number(options.layers),
        nodes: first?.nodes,
        operators: first?.operators,
        stages: first?.stages.map(({ name }, i) => ({
          name,
          milliseconds: rounded(median(runs.map(({ stages }) => stages[i]?.milliseconds ?? Number.NaN))),
          cpu: rounded(median(runs.map(({ stages }) => stages[i]?.cpu ?? Number.NaN))),
        })),
        route: { milliseconds: rounded(route), budget: BUDGET_MS, samples: runs.map(total).map(rounded) },
        processCpu: rounded(median(runs.map(({ cpu }) => cpu))),
        peakMegabytes: rounded(median(runs.map(({ peakMegabytes }) => peakMegabytes))),
        fixedLoop: rounded(median(runs.map(({ fixedLoop }) => fixedLoop))),
        digests: [...new Set(runs.map(({ digest }) => digest))],
      },
      undefined,
      2,
    ),
  );
  if (options.assert && route > BUDGET_MS) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
