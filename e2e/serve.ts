/** Starts the built `rlx serve` for a test file and says where it is. */
import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { test } from "@playwright/test";
import { ADDRESS_PATH } from "../main/contract/transport.ts";

export interface ServedWorkbench {
  /** A new address: each opens one page. */
  address(): Promise<string>;
  readonly port: number;
  readonly token: string;
  readonly process: ChildProcess;
  stop(): Promise<void>;
}

export const root = fileURLToPath(new URL("..", import.meta.url));

/** What the tests of one file share. Neither exists before they begin. */
export interface OwnWorkbench {
  /** Where they put their files; removed behind the last of them. */
  folder(): string;
  /** A new address: each opens one page. */
  address(): Promise<string>;
  process(): ChildProcess;
}

interface OwnOptions {
  readonly environment?: Readonly<Record<string, string>>;
  /** Writes the files that the tests begin with. */
  readonly prepare?: (folder: string) => Promise<void> | void;
}

/** A workbench with a home of its own for the tests of the file that calls this. */
export function ownWorkbench({ environment = {}, prepare }: OwnOptions = {}): OwnWorkbench {
  let folder = "";
  let served: ServedWorkbench | undefined;
  test.beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "window-"));
    await prepare?.(folder);
    served = await serveWorkbench({ RLX_HOME: join(folder, "home"), ...environment });
  });
  test.afterAll(async () => {
    await served?.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const running = (): ServedWorkbench => {
    if (served === undefined) throw new Error("no workbench is served before the first test begins");
    return served;
  };
  return { folder: () => folder, address: () => running().address(), process: () => running().process };
}

/** As a program with the token asks for one. */
export async function newAddress(port: number, token: string): Promise<string> {
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`http://127.0.0.1:${port}${ADDRESS_PATH}`, { method: "POST", headers });
  if (!response.ok) throw new Error(`no address: ${response.status}`);
  return response.text();
}

export async function serveWorkbench(environment: Readonly<Record<string, string>> = {}): Promise<ServedWorkbench> {
  const child = spawn(process.execPath, ["out/cli/rlx.js", "serve", "--json"], {
    cwd: root,
    // The tests themselves keep the machine busy, and models that lie on it are none of theirs.
    env: { ...process.env, RLX_ALLOW_THROTTLE: "1", RLX_FIND_MODELS: "off", ...environment },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const line = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).once("line", resolve);
    child.once("exit", (code) => reject(new Error(`rlx serve ended with code ${code ?? "?"}`)));
  });
  const { port, token } = JSON.parse(line) as { readonly port: number; readonly token: string };
  return {
    address: () => newAddress(port, token),
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
