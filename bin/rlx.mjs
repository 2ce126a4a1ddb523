#!/usr/bin/env node
// `npx rlx …` inside the repository: runs the bundle, and makes it first when there is none or a source is newer (after `git pull`).
import { spawnSync } from "node:child_process";
import { utimesSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "../scripts/lib/process.mjs";
import { isNewest } from "../scripts/lib/stamp.mjs";

const bundle = "out/cli/rlx.js";
const window = "out/renderer/index.html";
// Only `serve` shows the window, which has to speak the engine's contract.
const forWindow = process.argv[2] === "serve";
const needed = {
  [bundle]: ["main", "native/src", "package-lock.json"],
  ...(forWindow && { [window]: ["renderer", "main", "package-lock.json"] }),
};
const looked = new Date();
if (!Object.entries(needed).every(([output, sources]) => isNewest(output, sources))) {
  const parts = forWindow ? ["renderer"] : [];
  // Standard output belongs to the command; what the build says goes to standard error.
  const built = spawnSync(process.execPath, [join(root, "scripts/firstUse.mjs"), ...parts], {
    stdio: ["ignore", 2, 2],
  });
  if (built.status !== 0) process.exit(1);
  // Also where the contents turned out to be the same: the next start need not ask again.
  for (const output of Object.keys(needed))
    try {
      utimesSync(join(root, output), looked, looked);
    } catch {
      // A bundle of somebody else's: then it asks again.
    }
}
await import(pathToFileURL(join(root, bundle)).href);
