// What the system tells, from recorded texts of the systems' own tools and files; what it does not tell is never a number.
import { describe, expect, test } from "vitest";
import type { MachineState } from "../../contract/views/machine.ts";
import type { MachineSource } from "./machineState.ts";
import { stateNotes } from "../../engine/measure/machineState.ts";
import { loadReading, memoryReading, powerReading, thermalReading } from "./machineState.ts";

function machine(
  platform: string,
  files: Readonly<Record<string, string>>,
  printed: string | undefined,
): MachineSource {
  return {
    platform,
    read: (path) => files[path],
    list: (folder) => [
      ...new Set(
        Object.keys(files).flatMap((path) =>
          path.startsWith(`${folder}/`) ? [path.slice(folder.length + 1).split("/")[0] ?? ""] : [],
        ),
      ),
    ],
    run: () => Promise.resolve(printed),
  };
}
const linux = (files: Readonly<Record<string, string>>): MachineSource => machine("linux", files, undefined);
const mac = (printed: string | undefined): MachineSource => machine("darwin", {}, printed);

const ZONE = "/sys/class/thermal/thermal_zone0";

describe("thermal state", () => {
  test("is what the system says where the bridge is loaded", () => {
    expect(thermalReading(mac(undefined), "nominal")).toMatchObject({ value: "nominal", state: "ok" });
    expect(thermalReading(mac(undefined), "serious")).toMatchObject({ value: "serious", state: "warning" });
    expect(thermalReading(mac(undefined), undefined)).toMatchObject({ value: null, state: "unknown" });
  });

  test("is the hottest zone of a Linux kernel, flagged from its passive trip point on", () => {
    const files = { [`${ZONE}/temp`]: "61500", [`${ZONE}/type`]: "x86_pkg_temp" };
    expect(thermalReading(linux(files), undefined)).toMatchObject({ value: "62 °C (x86_pkg_temp)", state: "ok" });
    const trip = { [`${ZONE}/trip_point_0_type`]: "passive", [`${ZONE}/trip_point_0_temp`]: "60000" };
    expect(thermalReading(linux({ ...files, ...trip }), undefined)).toMatchObject({
      value: "62 °C (x86_pkg_temp), x86_pkg_temp slows down at 60 °C",
      state: "warning",
    });
    expect(thermalReading(linux({}), undefined)).toMatchObject({ value: null, state: "unknown" });
    expect(thermalReading(linux({ [`${ZONE}/temp`]: "" }), undefined).value).toBeNull();
    expect(thermalReading(machine("win32", {}, undefined), undefined).source).toBe("not exposed on this machine");
  });
});

describe("power", () => {
  test("comes from pmset on a Mac", async () => {
    const battery = " -InternalBattery-0 (id=1)\t81%; discharging; 5:12 remaining present: true";
    expect(await powerReading(mac(`Now drawing from 'AC Power'\n`), false)).toMatchObject({
      value: "mains",
      state: "ok",
    });
    expect(await powerReading(mac(`Now drawing from 'Battery Power'\n${battery}`), false)).toMatchObject({
      value: "battery",
      state: "warning",
    });
    expect(await powerReading(mac(`Now drawing from 'AC Power'\n`), true)).toMatchObject({
      value: "mains, low power mode",
      state: "warning",
    });
    expect((await powerReading(mac(undefined), false)).value).toBeNull();
  });

  test("comes from the kernel on Linux, where it says", async () => {
    const folder = "/sys/class/power_supply";
    const mains = { [`${folder}/AC/type`]: "Mains", [`${folder}/AC/online`]: "1" };
    const draining = { [`${folder}/BAT0/type`]: "Battery", [`${folder}/BAT0/status`]: "Discharging" };
    expect(await powerReading(linux(mains), undefined)).toMatchObject({ value: "mains", state: "ok" });
    expect(await powerReading(linux(draining), undefined)).toMatchObject({ value: "battery", state: "warning" });
    expect(await powerReading(linux({}), undefined)).toMatchObject({
      value: null,
      source: "not exposed on this machine: /sys/class/power_supply is empty",
    });
  });
});

describe("memory and load", () => {
  test("memory says its pressure where the system does", async () => {
    expect((await memoryReading(mac("2\n"))).value).toMatch(/free, pressure warning$/);
    expect((await memoryReading(mac("2\n"))).state).toBe("warning");
    const pressure = "some avg10=3.25 avg60=0.00 avg300=0.00 total=1\nfull avg10=1.00 avg60=0.00 avg300=0.00 total=1";
    const stalled = await memoryReading(linux({ "/proc/pressure/memory": pressure }));
    expect(stalled).toMatchObject({ state: "warning" });
    expect(stalled.value).toMatch(/waited for it 3.25 % of the last 10 s$/);
    expect((await memoryReading(linux({}))).value).toMatch(/^[\d.]+ [KMG]?B of [\d.]+ [KMG]?B free$/);
  });

  test("load is flagged when others want more than there is", () => {
    expect(loadReading(linux({}), 0.2).state).toBe("ok");
    expect(loadReading(linux({}), 4096).state).toBe("warning");
    expect(loadReading(machine("win32", {}, undefined), 0).value).toBeNull();
  });
});

describe("the notes of a result", () => {
  const state = (power: string, thermal: "ok" | "warning" = "ok"): MachineState => ({
    at: 0,
    readings: [
      { id: "power", title: "Power", value: power, source: "", state: "ok" },
      { id: "thermal", title: "Thermal state", value: "fair", source: "", state: thermal },
    ],
  });
  test("flag heat at either end, and power that changed", () => {
    expect(stateNotes({ before: state("mains"), after: state("mains") })).toEqual([]);
    expect(stateNotes({ before: state("mains"), after: state("mains", "warning") })).toEqual([
      "Thermal state: fair; the run is flagged.",
    ]);
    expect(stateNotes({ before: state("mains"), after: state("battery") })).toEqual([
      "Power changed from mains to battery while it ran.",
    ]);
  });
});
