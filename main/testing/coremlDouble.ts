/** The Core ML bridge over the test double, for tests: built by setup where clang and x86-64 Linux allow it. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { evaluateForDouble } from "../node/devices/coreml/double.ts";
import type { CoremlBridge, DoubleControls } from "../node/devices/coreml/native.ts";
import { loadCoreml } from "../node/devices/coreml/native.ts";

export const doublePath = fileURLToPath(new URL("../../native/build-coreml/rlx_coreml.node", import.meta.url));

/** Why the double is not here, for the title of a skipped suite. */
export const noDouble =
  process.platform === "linux" && existsSync(doublePath)
    ? undefined
    : "(the bridge was not built against the Core ML double: it needs clang++-19 on x86-64 Linux)";

export function loadDouble(): { readonly bridge: CoremlBridge; readonly controls: DoubleControls } {
  const bridge = loadCoreml(doublePath);
  const controls = bridge.double;
  if (controls === undefined) throw new Error("this addon was not built against the double");
  evaluateForDouble(controls);
  controls.configure("noise=1");
  return { bridge, controls };
}
