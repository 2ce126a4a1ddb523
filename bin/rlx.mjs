#!/usr/bin/env node
// `npx rlx …` inside the repository: runs the bundle, and makes it first when there is none or a source is newer (after `git pull`).
import { spawnSync } from "node:child_process";
import { utimesSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "../scripts/lib/process.mjs";
import { isNewest } from "../scripts/lib/stamp.mjs";

const name = "out/cli/rlx.js";
const bundle = join(root, name);
const looked = new Date();
if (!isNewest(name, ["main", "package-lock.json"])) {
  // Standard output belongs to the command; what the build says goes to standard error.
  const built = spawnSync(process.execPath, [join(root, "scripts/firstUse.mjs")], { stdio: ["ignore", 2, 2] });
  if (built.status !== 0) process.exit(1);
  // Also where the contents turned out to be the same: the next start need not ask again.
  try {
    utimesSync(bundle, looked, looked);
  } catch {
    // A bundle of somebody else's: then it asks again.
  }
}
await import(pathToFileURL(bundle).href);
