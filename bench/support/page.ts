// What the benchmarks of the window share: `rlx serve` in a process, Chromium, and the time from an action to what it shows.
import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { chromium } from "@playwright/test";
import type { Browser, Page } from "@playwright/test";
import { ADDRESS_PATH } from "../../main/contract/transport.ts";
import { findChromium } from "../../scripts/lib/environment.mjs";

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

export async function launch(): Promise<Browser> {
  const executablePath = findChromium();
  return chromium.launch({
    ...(executablePath === undefined ? {} : { executablePath }),
    args: ["--no-sandbox", "--disable-gpu"],
  });
}

const running = new Set<ChildProcess>();
// Ends the processes in every case.
process.once("exit", () => running.forEach((child) => child.kill("SIGKILL")));
process.once("SIGTERM", () => process.exit(1));

export async function serve(
  home: string,
  ...words: readonly string[]
): Promise<{ readonly url: string; readonly address: () => Promise<string>; readonly stop: () => void }> {
  const child = spawn(process.execPath, [join(root, "out/cli/rlx.js"), "serve", "--json", ...words], {
    cwd: root,
    env: { ...process.env, RLX_HOME: home },
    stdio: ["ignore", "pipe", "inherit"],
  });
  running.add(child);
  child.once("exit", () => running.delete(child));
  const line = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).once("line", resolve);
    child.once("exit", (code) => reject(new Error(`rlx serve ended with code ${code ?? "?"}`)));
  });
  const { url, port, token } = JSON.parse(line) as {
    readonly url: string;
    readonly port: number;
    readonly token: string;
  };
  /** A new one: each opens one page. */
  const address = async (): Promise<string> => {
    const headers = { authorization: `Bearer ${token}` };
    return (await fetch(`http://127.0.0.1:${port}${ADDRESS_PATH}`, { method: "POST", headers })).text();
  };
  return { url, address, stop: () => child.kill("SIGTERM") };
}

/** Most seconds of one wait. */
const LONGEST = 60;

/**
 * From the first key or button of an action until a condition of the page holds, seen at a painted frame. Scripts are given as
 * text: the page's policy forbids making functions of text inside it, the debugger may.
 */
export async function timed(page: Page, act: () => Promise<unknown>, holds: string): Promise<number> {
  await page.evaluate(`{
    let begin;
    const start = () => { begin ??= performance.now(); };
    for (const type of ["pointerdown", "keydown", "input"]) addEventListener(type, start, { capture: true, once: true });
    globalThis.measured = new Promise((resolve) => {
      const last = performance.now() + ${LONGEST * 1000};
      const look = (now) => {
        if (begin !== undefined && (${holds})) requestAnimationFrame(() => resolve(performance.now() - begin));
        else if (now > last) resolve(Infinity);
        else requestAnimationFrame(look);
      };
      look(0);
    });
    0;
  }`);
  await act();
  const time = await page.evaluate<number>("globalThis.measured");
  if (!Number.isFinite(time)) throw new Error(`[timed] after ${LONGEST} s the page does not show: ${holds}`);
  return time;
}

/** The start page of a served workbench whose engine answers. */
export async function goToStart(page: Page, url: string): Promise<void> {
  await page.goto("about:blank");
  await page.goto(url);
  await page.getByRole("contentinfo").getByText("Engine ready").waitFor();
}

/** Conditions for `timed`. */
export const has = (selector: string): string => `document.querySelector(${JSON.stringify(selector)}) !== null`;
export const OVERVIEW_SHOWN = `${has("#tab-overview[aria-selected=true]")} && document.querySelector("#view h2, #view h3") !== null`;
