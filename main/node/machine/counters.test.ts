// Energy and kinds of cores, from recorded files of the kernel and texts of sysctl; what is not told is never a number.
import { describe, expect, test } from "vitest";
import { energyCounter } from "./energy.ts";
import type { MachineSource } from "./machineState.ts";
import { coreKinds } from "./processors.ts";

const RAPL = "/sys/class/powercap";

function linux(files: Record<string, string>): MachineSource {
  const list = (folder: string): string[] => [
    ...new Set(
      Object.keys(files).flatMap((path) =>
        path.startsWith(`${folder}/`) ? [path.slice(folder.length + 1).split("/")[0] ?? ""] : [],
      ),
    ),
  ];
  return { platform: "linux", read: (path) => files[path], list, run: () => Promise.resolve(undefined) };
}
const zone = (id: string, name: string, energy: string | undefined): Record<string, string> => ({
  [`${RAPL}/${id}/name`]: name,
  [`${RAPL}/${id}/max_energy_range_uj`]: "262143328850",
  ...(energy === undefined ? {} : { [`${RAPL}/${id}/energy_uj`]: energy }),
});

describe("energy", () => {
  test("is that of the packages and their memory, through the counter's end", () => {
    const files = {
      ...zone("intel-rapl:0", "package-0", "262143000000"),
      ...zone("intel-rapl:0:0", "core", "5"),
      ...zone("intel-rapl:0:1", "dram", "1000000"),
      ...zone("intel-rapl:1", "psys", "7"),
    };
    const counter = energyCounter(linux(files));
    if (counter.kind !== "counter") throw new Error(counter.sentence);
    expect(counter.joules()).toBe(0);
    // 328 850 µJ to its end and 1 671 150 behind it are 2 J; memory took half of one.
    files[`${RAPL}/intel-rapl:0/energy_uj`] = "1671150";
    files[`${RAPL}/intel-rapl:0:1/energy_uj`] = "1500000";
    files[`${RAPL}/intel-rapl:0:0/energy_uj`] = "99999999";
    expect(counter.joules()).toBeCloseTo(2.5, 9);
    expect(counter.joules()).toBeCloseTo(2.5, 9);
  });

  test("is a sentence where it is not told, or not to us", () => {
    const of = (machine: MachineSource) => energyCounter(machine);
    expect(of(linux({}))).toMatchObject({ kind: "none", sentence: expect.stringContaining("no zone") as string });
    expect(of(linux(zone("intel-rapl:0", "package-0", undefined)))).toMatchObject({
      sentence: expect.stringContaining("only root may read it") as string,
    });
    expect(of({ ...linux({}), platform: "darwin" })).toMatchObject({
      sentence: expect.stringContaining("needs root") as string,
    });
  });
});

describe("kinds of cores", () => {
  test("come from sysctl on a Mac", async () => {
    const mac = (levels: Readonly<Record<string, string>>): MachineSource => ({
      ...{ platform: "darwin", read: () => undefined, list: () => [] },
      run: (_program, [, name = ""]) => Promise.resolve(levels[name]),
    });
    const told = { "hw.perflevel0.logicalcpu": "8\n", "hw.perflevel1.logicalcpu": "4\n" };
    expect(await coreKinds(mac(told))).toEqual({ performance: 8, efficiency: 4 });
    expect(await coreKinds(mac({}))).toBeNull();
  });

  test("come from the kernel on Linux, where there are two", async () => {
    const hybrid = { "/sys/devices/cpu_core/cpus": "0-15", "/sys/devices/cpu_atom/cpus": "16-23,24" };
    expect(await coreKinds(linux(hybrid))).toEqual({ performance: 16, efficiency: 9 });
    const cpus = "/sys/devices/system/cpu";
    const arm = Object.fromEntries([1024, 1024, 400].map((each, i) => [`${cpus}/cpu${i}/cpu_capacity`, String(each)]));
    expect(await coreKinds(linux(arm))).toEqual({ performance: 2, efficiency: 1 });
    expect(await coreKinds(linux({ [`${cpus}/cpu0/online`]: "1" }))).toBeNull();
  });
});
