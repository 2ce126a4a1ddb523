// The gate over a machine that is told what to say: it waits, gives up with the reason, repeats a round, or marks the result.
import { describe, expect, it } from "vitest";
import type { Reading } from "../../contract/views/machine.ts";
import type { EngineDevices } from "../devices.ts";
import type { Machine } from "../services.ts";
import type { GateOptions } from "./gate.ts";
import { createGate } from "./gate.ts";

const reading = (id: string, value: string, state: Reading["state"] = "warning"): Reading => ({
  ...{ id, title: id === "thermal" ? "Thermal state" : "Power", value, source: "", state },
});
const HOT = reading("thermal", "serious");
const COOL = reading("thermal", "nominal", "ok");

/** `told`: the answers of the machine, the last one for ever. `others`: processors that other programs use. */
function gateOver(told: readonly Reading[], options: Partial<GateOptions> = {}, others = 0) {
  let time = 0;
  let asked = 0;
  const said: string[] = [];
  const machine = {
    threads: 4,
    readings: () => Promise.resolve([told[Math.min(asked++, told.length - 1)] ?? COOL]),
    // All that this program does itself is counted in both.
    processorTimes: () => ({ busy: time * (others + 2), own: time * 2 }),
  } as unknown as Machine;
  const gate = createGate(
    { machine, devices: { listed: [] } as unknown as EngineDevices },
    {
      ...{ mode: "wait", waitSeconds: 10, signal: new AbortController().signal, say: (text) => void said.push(text) },
      now: () => time,
      sleep: (seconds) => {
        time += seconds;
        return Promise.resolve();
      },
      ...options,
    },
  );
  const pass = (seconds: number): void => void (time += seconds);
  return { gate, said, pass, waited: () => time };
}

describe("before a measurement", () => {
  it("waits until it is quiet, and says for what", async () => {
    const { gate, said, waited } = gateOver([HOT, HOT, COOL]);
    await gate.begin();
    expect(said).toEqual([
      "Waiting for a quiet machine: Thermal state serious",
      "Waiting for a quiet machine: Thermal state serious",
    ]);
    expect(waited()).toBe(0.5 + 2 * 2);
    expect(gate.red()).toEqual([]);
  });

  it("gives up with the reason, at once where waiting does not help", async () => {
    const { gate, waited } = gateOver([HOT]);
    await expect(gate.begin()).rejects.toMatchObject({
      code: "ENV_NOT_QUIET",
      message: expect.stringContaining("got Thermal state serious, expected a quiet one") as string,
      hint: expect.stringContaining("measure anyway") as string,
    });
    expect(waited()).toBe(10.5);
    const battery = gateOver([reading("power", "battery")]);
    await expect(battery.gate.begin()).rejects.toMatchObject({ code: "ENV_NOT_QUIET" });
    expect(battery.said).toEqual([]);
  });

  it("goes on where that was asked for, and marks the result", async () => {
    const { gate, said } = gateOver([HOT], { mode: "warn" });
    await gate.begin();
    expect(await gate.afterRound()).toBe("go on");
    await gate.end();
    expect(gate.red()).toEqual(["Thermal state serious"]);
    expect(said).toEqual([]);
  });

  it("waits for other programs, by what they use now", async () => {
    await expect(gateOver([COOL], {}, 1.5).gate.begin()).rejects.toMatchObject({
      message: expect.stringContaining("Other programs 1.5 of 4 processors") as string,
    });
    // A tenth of four processors is theirs.
    await gateOver([COOL], {}, 0.3).gate.begin();
  });
});

describe("between the rounds", () => {
  it("has a disturbed one taken again once it is quiet", async () => {
    const { gate, pass } = gateOver([COOL, HOT, COOL, COOL]);
    await gate.begin();
    pass(1);
    expect(await gate.afterRound()).toBe("again");
    pass(1);
    expect(await gate.afterRound()).toBe("go on");
    await gate.end();
    expect([gate.red(), gate.stopped()]).toEqual([[], null]);
  });

  it("stops where it stays as it is, and says why", async () => {
    const { gate } = gateOver([COOL, HOT]);
    await gate.begin();
    expect(await gate.afterRound()).toBe("stop");
    expect(gate.stopped()).toBe("It stopped before the end: Thermal state serious.");
    expect(gate.red()).toEqual(["Thermal state serious"]);
  });

  it("judges other programs over all that was measured", async () => {
    const { gate, pass } = gateOver([COOL], { mode: "warn" }, 1.5);
    await gate.begin();
    pass(3);
    await gate.afterRound();
    const after = await gate.end();
    expect(after.readings.find(({ id }) => id === "others")?.value).toBe("1.5 of 4 processors while it ran");
    expect(gate.red()).toEqual(["Other programs 1.5 of 4 processors while it ran"]);
  });
});
