/** Starts the built `rlx serve` for a test file and says where it is. */
import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export interface ServedWorkbench {
  readonly url: string;
  readonly port: number;
  readonly token: string;
  readonly process: ChildProcess;
  stop(): Promise<void>;
}

export const root = fileURLToPath(new URL("../", import.meta.url));

export async function serveWorkbench(environment: Readonly<Record<string, string>> = {}): Promise<ServedWorkbench> {
  const child = spawn(process.execPath, ["out/cli/rlx.js", "serve", "--json"], {
    cwd: root,
    env: { ...process.env, ...environment },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const line = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).once("line", resolve);
    child.once("exit", (code) => reject(new Error(`rlx serve ended with code ${code ?? "?"}`)));
  });
  const { url, port, token } = JSON.parse(line) as {
    readonly url: string;
    readonly port: number;
    readonly token: string;
  };
  return {
    url,
    port,
    token,
    process: child,
    stop: () =>
      new Promise((resolve) => {
        child.once("exit", () => resolve());
        child.kill("SIGTERM");
      }),
  };
}
