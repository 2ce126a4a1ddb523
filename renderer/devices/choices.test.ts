import { describe, expect, it } from "vitest";
import type { DeviceInfo } from "../../main/contract/views/engine.ts";
import { fakeAdvice } from "../engine/fake/devices.ts";
import { deviceChoices, deviceTitle } from "./choices.ts";
import { testDevice } from "./testDevices.ts";

const device = (id: string, available: boolean): DeviceInfo =>
  testDevice(id, {
    title: id.toUpperCase(),
    available,
    sentence: available ? `${id} is here.` : `${id} needs a Mac.`,
  });
const devices = [device("cpu", true), device("coreml-sim", true), device("coreml", false), device("mlx", true)];

describe("the devices to choose from", () => {
  it("are all listed; what is missing says so and names its simulator", () => {
    const choices = deviceChoices(devices, null);
    expect(choices.map(({ id, usable }) => [id, usable])).toEqual([
      ["cpu", true],
      ["coreml-sim", true],
      ["coreml", false],
      ["mlx", true],
    ]);
    const coreml = choices.find(({ id }) => id === "coreml");
    expect(coreml).toMatchObject({ sentence: "coreml needs a Mac.", instead: { id: "coreml-sim" } });
    expect(choices.filter(({ instead }) => instead !== null)).toHaveLength(1);
  });

  it("know the reckoned time and the fastest only from an advice", () => {
    expect(deviceChoices(devices, null).some(({ fastest, seconds }) => fastest || seconds !== null)).toBe(false);
    const choices = deviceChoices(devices, fakeAdvice());
    expect(choices.filter(({ fastest }) => fastest).map(({ id }) => id)).toEqual(["mlx"]);
    expect(choices.find(({ id }) => id === "mlx")?.seconds).toBeCloseTo(1, 9);
    expect(choices.find(({ id }) => id === "coreml-sim")?.seconds).toBeNull();
  });

  it("say why a task refuses one, and do not offer it in place of another", () => {
    const choices = deviceChoices(devices, null, "measure");
    expect(choices.find(({ id }) => id === "coreml-sim")).toMatchObject({
      usable: false,
      sentence: testDevice("coreml-sim").capabilities.measure,
    });
    expect(choices.find(({ id }) => id === "coreml")?.instead).toBeNull();
  });

  it("have titles, also before the list is there", () => {
    expect(deviceTitle(devices, "mlx")).toBe("MLX");
    expect(deviceTitle(null, "mlx")).toBe("mlx");
  });
});
