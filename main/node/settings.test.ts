import { readFileSync } from "node:fs";
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

  it("is documented", () => {
    const page = readFileSync(new URL("../../docs/environment.md", import.meta.url), "utf8");
    for (const variable of Object.values(VARIABLES)) expect(page).toContain(`\`${variable.name}\``);
  });
});
