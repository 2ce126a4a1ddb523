/** What only Electron can show: the bridge, the protocol, the utility process. Skipped with its reason where there is no binary. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { _electron, expect, test } from "@playwright/test";
import { electronBinary } from "../../scripts/lib/environment.mjs";

const path = electronBinary();
const exists = existsSync(path);
const required = process.env["REQUIRE_ELECTRON"] === "1";

test("the app opens, reaches its engine and keeps to itself", async () => {
  // The runtime is a download that some machines cannot make: REQUIRE_ELECTRON=1 makes its absence a failure.
  test.skip(!exists && !required, "no Electron runtime on this machine (npx install-electron --no)");
  const app = await _electron.launch({
    executablePath: path,
    args: [fileURLToPath(new URL("../..", import.meta.url))],
  });
  try {
    const window = await app.firstWindow();
    await expect(window).toHaveURL("workbench://app/index.html");
    expect(await window.evaluate(() => typeof (globalThis as { readonly require?: unknown }).require)).toBe(
      "undefined",
    );
    expect(
      await window.evaluate(() => Object.keys((globalThis as { readonly workbench?: object }).workbench ?? {}).length),
    ).toBeGreaterThan(5);
    await expect(window.getByText("Engine ready")).toBeVisible();
    expect(await window.evaluate(async () => (await fetch("licenses.txt")).text())).toContain("react-dom");
    expect(
      await window.evaluate(async () =>
        fetch("https://example.com/").then(
          () => "reached",
          () => "refused",
        ),
      ),
    ).toBe("refused");
  } finally {
    await app.close();
  }
});
