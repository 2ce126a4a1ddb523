// What `npx rlx` does when its bundle is missing: packages, native engine, bundle.
import { setup } from "./setup.mjs";

try {
  console.error("rlx: first use in this folder, building");
  await setup();
  const { build } = await import("./build.mjs");
  process.exit((await build({ names: ["cli", "engine"] })) ? 0 : 1);
} catch (error) {
  console.error(`rlx: ${error.message}`);
  process.exit(1);
}
