// Running other programs from the scripts: one way to print a step, one way to run, one way to ask.
import { spawn, spawnSync } from "node:child_process";
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

/** Runs a program with its output on our own terminal; resolves to the exit code (128 + n after a signal). */
export function run(command, args, { cwd = root, env = {}, quiet = false, timeoutMs } = {}) {
  return new Promise((done) => {
    const { command: program, shell } = startable(command);
    const child = spawn(program, args, {
      cwd,
      shell,
      env: environment(env),
      stdio: quiet ? ["ignore", "ignore", "ignore"] : ["ignore", "inherit", "inherit"],
      timeout: timeoutMs,
    });
    child.on("error", (error) => {
      if (!quiet) console.error(`${command}: ${error.message}`);
      done(127);
    });
    child.on("close", (code, signal) => done(code ?? (signal ? 143 : 1)));
  });
}

/** Runs a program and keeps what it prints. */
export function runCaptured(command, args, { cwd = root, env = {}, timeoutMs } = {}) {
  return new Promise((done) => {
    const { command: program, shell } = startable(command);
    const child = spawn(program, args, {
      cwd,
      shell,
      env: environment(env),
      stdio: ["ignore", "pipe", "pipe"],
      timeout: timeoutMs,
    });
    let output = "";
    child.stdout.on("data", (part) => (output += part));
    child.stderr.on("data", (part) => (output += part));
    child.on("error", (error) => done({ code: 127, output: error.message }));
    child.on("close", (code, signal) => done({ code: code ?? (signal ? 143 : 1), output }));
  });
}

/** Can this program be started at all? */
export function hasProgram(command, args = ["--version"]) {
  return spawnSync(command, args, { stdio: "ignore" }).status === 0;
}

export const isCi = Boolean(process.env["CI"]) && process.env["CI"] !== "false";
