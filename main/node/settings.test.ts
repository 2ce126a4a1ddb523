import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { readSettings, VARIABLES } from "./settings.ts";

describe("settings", () => {
  it("has defaults", () => {
    expect(readSettings({})).toMatchObject({
      verbose: false,
      dispatch: "prefer-native",
      coremlUnits: "cpu-ane",
      home: null,
    });
  });

  it("reads what it is given and refuses what it does not know", () => {
    expect(readSettings({ RLX_VERBOSE: "1", RLX_COREML_UNITS: "ALL", RLX_HOME: "/Some/Where" })).toMatchObject({
      verbose: true,
      coremlUnits: "all",
      home: "/Some/Where",
    });
    expect(readSettings({ RLX_COREML_UNITS: "cpu-gpu" })).toMatchObject({ coremlUnits: "cpu-gpu" });
    expect(() => readSettings({ RLX_KERNEL_DISPATCH: "fastest" })).toThrow(
      expect.objectContaining({ code: "INPUT_ARGUMENT" }),
    );
  });

  it("does not repeat a key that it refuses", () => {
    const asked = (): unknown => readSettings({ RLX_API_KEY: "my secret key" });
    expect(asked).toThrow(/^\[RLX_API_KEY\] got another value, expected 8 to 200 letters/u);
    expect(asked).not.toThrow(/my secret/u);
  });

  it.each([
    ["common", "force-common"],
    ["native", "prefer-native"],
    ["force_common", "force-common"],
    ["FORCE-NATIVE", "force-native"],
  ])("RLX_KERNEL_DISPATCH=%s is %s", (given, dispatch) =>
    expect(readSettings({ RLX_KERNEL_DISPATCH: given }).dispatch).toBe(dispatch),
  );

  it("takes an empty value for none, and off in any case for no cache", () => {
    const empty = Object.fromEntries(Object.values(VARIABLES).map(({ name }) => [name, ""]));
    expect(readSettings(empty)).toEqual(readSettings({}));
    expect(readSettings({ RLX_CACHE: "OFF" }).cache).toBe("off");
    expect(readSettings({ RLX_CACHE: "/Some/Where" }).cache).toBe("/Some/Where");
  });

  it("is documented", () => {
    for (const variable of Object.values(VARIABLES)) expect(page).toContain(`\`${variable.name}\``);
  });

  it("is the one place of the product that reads a variable of its own", () => {
    const readers = ["main", "app", "renderer"].flatMap((folder) => ownVariables(folder));
    expect(readers.filter(({ path }) => !path.startsWith("main/testing/"))).toEqual([]);
  });

  it("leaves no variable of the scripts and tests undocumented", () => {
    const read = ["scripts", "main/testing", "e2e", "bench"].flatMap((folder) => ownVariables(folder));
    expect(read.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["RLX_CHROMIUM", "RLX_SHARED_DATA", "MLX_DIR"]),
    );
    for (const { name } of read) expect(page, name).toContain(`\`${name}\``);
  });

  it("leaves none of Python's undocumented", () => {
    const files = readdirSync(join(root, "python"), { recursive: true, encoding: "utf8" });
    const read = files
      .filter((name) => name.endsWith(".py"))
      .flatMap((name) => readFileSync(join(root, "python", name), "utf8").match(/\bRLX_[A-Z_]+\b/g) ?? []);
    expect(read).toEqual(expect.arrayContaining(["RLX_LLAMA_CPU", "RLX_GGML_LIBRARY"]));
    for (const name of new Set(read)) expect(page, name).toContain(`\`${name}\``);
  });
});

const root = fileURLToPath(new URL("../../", import.meta.url));
const page = readFileSync(join(root, "docs/environment.md"), "utf8");

/** The variables of ours that a folder's files name in `process.env`. */
function ownVariables(folder: string): readonly { readonly path: string; readonly name: string }[] {
  const names = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" });
  const sources = names.filter((name) => /\.(ts|tsx|mjs)$/.test(name) && !/\.(test|spec)\.ts$/.test(name));
  return sources.flatMap((source) => {
    const path = `${folder}/${source}`;
    const found = readFileSync(join(root, path), "utf8").matchAll(/process\.env(?:\["|\.)((?:RLX|REQUIRE|MLX)_\w+)/g);
    return [...found].map((match) => ({ path, name: match[1] ?? "" }));
  });
}
