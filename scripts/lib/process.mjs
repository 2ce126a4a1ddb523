// Running other programs from the scripts: one way to print a step, one way to run, one way to ask.
import { spawn, spawnSync } from "node:child_process";
import { constants, setPriority } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** The top of the repository. */
export const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");

/** The path of a program that npm installed (starting it through npx costs half a second). */
export const npmProgram = (name) =>
  join(root, "node_modules/.bin", process.platform === "win32" ? `${name}.cmd` : name);

// Colours are for a terminal, not for a log.
const plain = process.stdout.isTTY ? {} : { NO_COLOR: "1", FORCE_COLOR: "0" };
const environment = (extra) => ({ ...process.env, ...plain, ...extra });

/** Windows starts a `.cmd` through its shell only, which wants paths with spaces in quotes. */
const startable = (command) =>
  command.endsWith(".cmd") ? { command: `"${command}"`, shell: true } : { command, shell: false };

/** `isIdle`: it and what it starts run only where processors have nothing else to do. */
function start(command, args, stdio, { cwd = root, env = {}, timeoutMs, isIdle = false }) {
  const { command: program, shell } = startable(command);
  const child = spawn(program, args, { cwd, shell, env: environment(env), stdio, timeout: timeoutMs });
  if (isIdle && child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW);
  return child;
}

/** The exit code of a program (143 after a signal), or 127 when it could not be started, with what `onError` is told. */
const ending = (child, onError) =>
  new Promise((done) => {
    child.on("error", (error) => {
      onError(error);
      done(127);
    });
    child.on("close", (code, signal) => done(code ?? (signal ? 143 : 1)));
  });

/** Runs a program with its output on our own terminal; resolves to the exit code. */
export function run(command, args, { quiet = false, ...options } = {}) {
  const output = quiet ? "ignore" : "inherit";
  return ending(start(command, args, ["ignore", output, output], options), (error) => {
    if (!quiet) console.error(`${command}: ${error.message}`);
  });
}

/** Runs a program and keeps what it prints. */
export async function runCaptured(command, args, options = {}) {
  const child = start(command, args, ["ignore", "pipe", "pipe"], options);
  let output = "";
  child.stdout.on("data", (part) => (output += part));
  child.stderr.on("data", (part) => (output += part));
  const code = await ending(child, (error) => (output = error.message));
  return { code, output };
}

/** Can this program be started at all? */
export function hasProgram(command, args = ["--version"]) {
  return spawnSync(command, args, { stdio: "ignore" }).status === 0;
}

export const isCi = Boolean(process.env["CI"]) && process.env["CI"] !== "false";
