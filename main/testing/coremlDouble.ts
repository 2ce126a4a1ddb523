/**
 * The Core ML bridge over the test double, for tests: setup builds it where clang and x86-64 Linux allow it. What RLX_COREML_ADDON
 * gets is a module made here: the addon, with the simulator computing its predictions.
 */
import { existsSync, renameSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import type { CoremlBridge } from "../node/devices/coreml/native.ts";
import { loadCoreml } from "../node/devices/coreml/native.ts";
import type { DoubleControls } from "./coremlDoubleEvaluator.ts";

const addon = fileURLToPath(new URL("../../native/build-coreml/rlx_coreml.node", import.meta.url));

/** Why the double is not here, for the title of a skipped suite. */
export const noDouble =
  process.platform === "linux" && existsSync(addon)
    ? undefined
    : "(the bridge was not built against the Core ML double: it needs clang++-19 on x86-64 Linux)";

let made: string | undefined;

/** Path of the module, bundled from today's sources: processes without TypeScript load it, too. */
export function doubleModule(): string {
  if (made !== undefined) return made;
  // Beside the addon, where the program that tries models out is looked for.
  const path = join(dirname(addon), "coremlDouble.cjs");
  const own = `${path}.${process.pid}`;
  buildSync({
    stdin: {
      contents: `const { evaluateForDouble } = require("./coremlDoubleEvaluator.ts");
        const addon = module.require(${JSON.stringify(addon)});
        evaluateForDouble(addon.double);
        module.exports = addon;`,
      resolveDir: fileURLToPath(new URL(".", import.meta.url)),
    },
    bundle: true,
    external: ["*.node"],
    platform: "node",
    format: "cjs",
    outfile: own,
    logLevel: "error",
  });
  // Whole at once: other test files make the same one.
  renameSync(own, path);
  return (made = path);
}

/** The controls of this process's double. */
export const doubleControls = (): DoubleControls =>
  (createRequire(import.meta.url)(doubleModule()) as { readonly double: DoubleControls }).double;

export function loadDouble(): { readonly bridge: CoremlBridge; readonly controls: DoubleControls } {
  const bridge = loadCoreml(doubleModule());
  const controls = doubleControls();
  controls.configure("noise=1");
  return { bridge, controls };
}
