// The cache type of a benchmark: asked for as chosen, and the device's own again where something is measured that does not take it.
import { expect, it } from "vitest";
import { openSample } from "../../testing/openStore.ts";
import { askedOf, INITIAL_SETTINGS, requestOf } from "./settings.ts";

it("is asked for as it was chosen", () => {
  const settings = { ...INITIAL_SETTINGS, cacheType: "q4_0" } as const;
  const asked = askedOf(settings, 1024);
  if (!asked.ok) throw new Error(asked.problem);
  expect(requestOf(settings, asked.lists)).toMatchObject({ cacheType: "q4_0" });
});

it("is the device's own again beside a device that does not take it", async () => {
  const { get } = await openSample();
  get().setBench({ device: "cpu", cacheType: "q8_0" });
  expect(get().benchSettings.cacheType).toBe("q8_0");
  get().setBench({ repeats: 9 });
  expect(get().benchSettings.cacheType).toBe("q8_0");
  get().setBench({ otherDevices: ["coreml-sim"] });
  expect(get().benchSettings.cacheType).toBeNull();
});
