// Type-checks every environment with its own tsconfig, in parallel, and prints the faults of each.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { npmProgram, root, runCaptured } from "./lib/process.mjs";

/** One entry per environment; a folder without TypeScript files yet is left out by name. */
const environments = [
  { config: "tsconfig.json", folder: "." },
  { config: "main/tsconfig.json", folder: "main" },
  { config: "main/tsconfig.portable.json", folder: "main" },
  { config: "renderer/tsconfig.json", folder: "renderer" },
  { config: "renderer/drawing/tsconfig.portable.json", folder: "renderer/drawing" },
  { config: "app/tsconfig.json", folder: "app" },
  { config: "app/preload/tsconfig.json", folder: "app/preload" },
  { config: "e2e/tsconfig.json", folder: "e2e" },
  { config: "bench/tsconfig.json", folder: "bench" },
  { config: "scripts/tsconfig.json", folder: "scripts" },
];

function hasSource(folder) {
  if (!existsSync(folder)) return false;
  return readdirSync(folder, { withFileTypes: true }).some((entry) => {
    if (entry.name === "node_modules" || entry.name.startsWith(".")) return false;
    if (entry.isDirectory()) return folder !== root && hasSource(join(folder, entry.name));
    return /\.tsx?$/.test(entry.name) && !entry.name.endsWith(".d.ts");
  });
}

/** What did not change is not checked again. */
const incremental = (kept) => ["--incremental", "--tsBuildInfoFile", kept];

const results = await Promise.all(
  environments
    .filter(({ folder }) => hasSource(join(root, folder)))
    .map(async ({ config }) => {
      const kept = join(root, ".cache/types", `${config.replaceAll("/", "-")}.tsbuildinfo`);
      const { code, output } = await runCaptured(npmProgram("tsc"), ["-p", config, ...incremental(kept)]);
      return { config, code, output };
    }),
);
for (const { config, code, output } of results) if (code !== 0) console.error(`\n${config}\n${output.trim()}`);
// `process.exit` would cut off what a pipe has not taken yet.
process.exitCode = results.some(({ code }) => code !== 0) ? 1 : 0;
