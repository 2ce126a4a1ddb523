// Run by `npx rlx` when its bundle is missing or older than a source: packages, native engine, bundle,
// and the named parts (the window for `serve`). Finished steps are skipped.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { root } from "./lib/process.mjs";
import { setup } from "./setup.mjs";

try {
  if (!existsSync(join(root, "out/cli/rlx.js"))) console.error("rlx: first use in this folder, building");
  await setup();
  const { build } = await import("./build.mjs");
  process.exit((await build({ names: ["cli", "engine", ...process.argv.slice(2)] })) ? 0 : 1);
} catch (error) {
  console.error(`rlx: ${error.message}`);
  process.exit(1);
}
