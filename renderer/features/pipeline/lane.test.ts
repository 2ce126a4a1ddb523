// The lane: its numbers with their changes, the scrubber, and the halving that opens the step that it found.
import { describe, expect, it } from "vitest";
import { until } from "../../../main/testing/until.ts";
import { current } from "../../session/async.ts";
import { createStoreOver } from "../../testing/openStore.ts";
import { SAMPLE } from "../../testing/sample.ts";
import { laneRows } from "./Lane.tsx";

const time = (value: number) =>
  ({ value, low: null, high: null, unit: "seconds", truth: "predicted", basis: "" }) as const;
const step = (ops: number, hops: number | null, aneShare: number | null, value: number) => ({
  name: "",
  ops,
  numbers: { hops, aneShare, seconds: time(value) },
});

describe("a step of the lane", () => {
  it("has its numbers, and how they differ from those of the step before", () => {
    const rows = laneRows(step(90, 3, 0.5, 0.002), step(100, 2, 0.75, 0.0015));
    expect(rows.map(({ label, value, change, worse }) => [label, value, change, worse])).toEqual([
      ["ops", "90", "−10", false],
      ["hops", "3", "+1", true],
      ["ANE", "50\u202f%", "−25\u202f%", true],
      ["time", "~2.00\u202fms", "+500\u202fµs", true],
    ]);
  });

  it("has no hops and no ANE share on one device, and no change where there is none", () => {
    const same = step(90, null, null, 0.002);
    expect(laneRows(same, same).map(({ label, change }) => [label, change])).toEqual([
      ["ops", ""],
      ["time", ""],
    ]);
    expect(laneRows({ ...same, numbers: null }, null).map(({ value }) => value)).toEqual(["90", "…"]);
  });
});

describe("the lane of the subject", () => {
  it("is worked out while the pipeline shows, anew for another target, and moves with the passes", async () => {
    const asked: string[] = [];
    const { get } = await createStoreOver({
      calls: {
        "passes.bisect": ({ watched }) => {
          asked.push(JSON.stringify(watched));
          return { step: "legal", sentence: "The time is …", seen: [], steps: 2 };
        },
      },
    });
    await get().open(SAMPLE);
    await until(() => current(get().passes) !== null && get().routes.decode.kind === "ready");
    expect(get().lane.kind).toBe("idle");
    get().setTab("pipeline");
    await until(() => get().lane.kind === "ready");
    const { steps, lowered } = current(get().lane)!;
    expect(steps[0]?.name).toBe("built");
    expect(steps.at(-1)?.name).toBe("legal");
    expect(steps.every(({ numbers }) => numbers !== null && numbers.hops !== null)).toBe(true);
    // The last step is the route that the window shows.
    expect(steps.at(-1)?.numbers?.hops).toBe(current(get().routes.decode)?.hops.length);
    expect(lowered?.what).toBe("MIL operations");
    get().scrub(99);
    expect([get().laneAt, get().passAt]).toEqual([steps.length - 1, "legal"]);
    get().scrub(0);
    expect(get().laneAt).toBe(0);
    await get().bisect("ane");
    expect([asked, get().laneAt]).toEqual([['"ane"'], steps.length - 1]);
    get().setBackend("cpu");
    expect(get().lane.kind).toBe("idle");
    await until(() => get().lane.kind === "ready" && current(get().lane)?.lowered?.what === "instructions");
    expect(current(get().lane)?.steps.every(({ numbers }) => numbers?.hops === null)).toBe(true);
  });
});
