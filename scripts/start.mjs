// `npm start`: sets up, builds what changed, and opens the workbench: in Electron where its runtime can be had,
// otherwise the same workbench in the browser. Arguments after `--` are passed on (a GGUF file, for example).
import { spawn } from "node:child_process";
import { join } from "node:path";
import { electronBinary, hasElectron } from "./lib/environment.mjs";
import { npmProgram, root, runCaptured } from "./lib/process.mjs";
import { setup } from "./setup.mjs";

const downloadMs = 180_000;
const say = (text) => console.error(`start: ${text}`);

/** Downloads Electron's runtime where there may be a network and a screen; gives the reason when it could not. */
async function prepareElectron() {
  if (hasElectron()) return undefined;
  if (process.platform === "linux" && !process.env["DISPLAY"] && !process.env["WAYLAND_DISPLAY"]) return "no screen";
  if (process.env["CI"]) return "not downloaded in CI";
  say("downloading Electron's runtime (once, about 120 MB)");
  const { code } = await runCaptured(npmProgram("install-electron"), ["--no"], { timeoutMs: downloadMs });
  return code === 0 && hasElectron() ? undefined : "its runtime could not be downloaded";
}

/** Hands the terminal over to the program, and its exit code back. */
function become(command, args) {
  const child = spawn(command, args, { cwd: root, stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => {
    say(error.message);
    process.exit(1);
  });
  child.on("close", (code) => process.exit(code ?? 1));
}

try {
  await setup();
  const { build } = await import("./build.mjs");
  if (!(await build({ names: ["cli", "engine", "shell", "preload", "renderer"] })))
    throw new Error("the build failed (see above)");
  const files = process.argv.slice(2);
  const withoutElectron = await prepareElectron();
  if (withoutElectron === undefined) become(electronBinary(), [root, ...files]);
  else {
    say(`Electron is not available here (${withoutElectron}); opening the workbench in the browser`);
    become(process.execPath, [join(root, "bin/rlx.mjs"), "serve", "--open", ...files]);
  }
} catch (error) {
  say(error.message);
  process.exit(1);
}
