#!/usr/bin/env node
// `npx rlx …`: runs the bundle. Inside the repository it makes the bundle first when there is none or a source is newer (after
// `git pull`); the installed package has no sources.
import { spawnSync } from "node:child_process";
import { existsSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const stamps = join(root, "scripts/lib/stamp.mjs");
const bundle = "out/cli/rlx.js";
const window = "out/renderer/index.html";
// Only `serve` shows the window, which has to speak the engine's contract.
const forWindow = process.argv[2] === "serve";
const needed = {
  [bundle]: ["main", "native/src", "package-lock.json"],
  ...(forWindow && { [window]: ["renderer", "main", "package-lock.json"] }),
};
/** Help and version are the same in every build, so they wait for no build. */
const words = process.argv.slice(2);
const asksForHelp =
  words.length === 0 ||
  ["help", "--version", "-V"].includes(words[0]) ||
  words.some((word) => word === "--help" || word === "-h");

async function buildWhatIsStale() {
  const { isNewest } = await import(pathToFileURL(stamps).href);
  const looked = new Date();
  if (Object.entries(needed).every(([output, sources]) => isNewest(output, sources))) return;
  const parts = forWindow ? ["renderer"] : [];
  // Standard output belongs to the command, so the build writes to standard error.
  const built = spawnSync(process.execPath, [join(root, "scripts/firstUse.mjs"), ...parts], {
    stdio: ["ignore", 2, 2],
  });
  if (built.status !== 0) process.exit(1);
  // Also if the contents are unchanged: the next start need not compare them again.
  for (const output of Object.keys(needed))
    try {
      utimesSync(join(root, output), looked, looked);
    } catch {
      // Another user's bundle: the next start compares again.
    }
}

if (!asksForHelp && existsSync(stamps)) await buildWhatIsStale();
if (existsSync(join(root, bundle))) await import(pathToFileURL(join(root, bundle)).href);
else if (existsSync(join(root, "node_modules/tsx"))) {
  // Nothing is built yet. Help runs from the source instead of building.
  const source = join(root, "main/node/cli/entry.ts");
  const { status } = spawnSync(process.execPath, ["--import", "tsx", source, ...words], {
    cwd: root,
    stdio: "inherit",
  });
  process.exitCode = status ?? 1;
} else console.log("rlx: nothing is installed in this folder yet. `npm start` sets everything up (see README.md).");
