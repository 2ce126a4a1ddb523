#!/usr/bin/env node
// `npx rlx …` inside the repository: runs the bundle, and makes it first when there is none.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const root = resolve(import.meta.dirname, "..");
const bundle = join(root, "out/cli/rlx.js");
if (!existsSync(bundle)) {
  // Standard output belongs to the command; what the build says goes to standard error.
  const built = spawnSync(process.execPath, [join(root, "scripts/firstUse.mjs")], { stdio: ["ignore", 2, 2] });
  if (built.status !== 0) process.exit(1);
}
await import(pathToFileURL(bundle).href);
