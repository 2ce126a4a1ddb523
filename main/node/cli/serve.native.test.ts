/** `rlx serve` as a process: what stands on command lines and terminals, and what is left when it ends. */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { requireCommandLine, startRlx } from "../../testing/rlxProcess.ts";

let folder: string;
beforeAll(() => {
  requireCommandLine();
  folder = mkdtempSync(join(tmpdir(), "rlx-serve-cli-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const linux = process.platform === "linux";

it.skipIf(!linux)("--open names no secret on a command line (xdg-open is Linux's)", async () => {
  const browser = join(folder, "xdg-open");
  writeFileSync(browser, `#!/bin/sh\nprintf '%s' "$*" > '${folder}/words'\ncp -p "$1" '${folder}/page'\n`);
  chmodSync(browser, 0o755);
  const running = startRlx(["serve", "--open"], {
    home: folder,
    env: { PATH: `${folder}${delimiter}${process.env["PATH"] ?? ""}` },
  });
  await running.shows(/End with Ctrl\+C/);
  await expect.poll(() => existsSync(join(folder, "page")), { timeout: 20_000 }).toBe(true);
  const words = readFileSync(join(folder, "words"), "utf8");
  expect(words).toMatch(/^\/\S+\/open\.html$/);
  expect(statSync(join(folder, "page")).mode & 0o777).toBe(0o600);
  expect(readFileSync(join(folder, "page"), "utf8")).toMatch(/url=http:\/\/127\.0\.0\.1:\d+\/#ticket=[\w-]{32}"/);
  await running.interrupt();
  expect(existsSync(words)).toBe(false);
});

it("prints another address when one was used", async () => {
  const running = startRlx(["serve"], { home: folder });
  await running.shows(/End with Ctrl\+C/);
  const addresses = (text: string): string[] => [...text.matchAll(/http:\S+#ticket=[\w-]{32}/g)].map(([url]) => url);
  const [first = ""] = addresses(running.shown());
  const { origin, hash } = new URL(first);
  const body = hash.replace("#ticket=", "");
  expect((await fetch(`${origin}/session`, { method: "POST", body, headers: { origin } })).status).toBe(200);
  await running.shows(/For another browser/);
  const { out } = await running.interrupt();
  expect(new Set(addresses(out)).size).toBe(2);
});
