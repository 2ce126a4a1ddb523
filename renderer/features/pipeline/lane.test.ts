// The lane: its numbers with their changes, the scrubber, and the halving that opens the step that it found.
import { describe, expect, it } from "vitest";
import { until } from "../../../main/testing/until.ts";
import { current } from "../../session/async.ts";
import { createStoreOver, openSample } from "../../testing/openStore.ts";
import { SAMPLE } from "../../testing/sample.ts";
import { foundLine } from "./findSlice.ts";
import { laneRows } from "./Lane.tsx";

const time = (value: number) =>
  ({ value, low: null, high: null, unit: "seconds", truth: "predicted", basis: "" }) as const;
const step = (ops: number, hops: number | null, aneShare: number | null, value: number) => ({
  ...{ name: "", counts: "ops", says: "", details: [] },
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

  it("counts what the runtime is given by its own name, and says where not all of it can run", () => {
    const end = { ...step(200, 1, 1, 1), counts: "MIL operations" };
    expect(laneRows(end, step(90, 1, 1, 1))[0]).toMatchObject({ label: "operations", value: "200", change: "+110" });
    expect(laneRows({ ...end, ops: null }, step(90, 1, 1, 1))[0]).toMatchObject({ value: "not all", change: "" });
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
    const { steps } = current(get().lane)!;
    expect(steps[0]?.name).toBe("built");
    expect(steps.slice(-4).map(({ name }) => name)).toEqual(["legalise", "legal", "segment", "mil"]);
    expect(steps.every(({ numbers, ops }) => numbers !== null && numbers.hops !== null && ops !== null)).toBe(true);
    // The last step is the route that the window shows.
    expect(steps.at(-1)?.numbers?.hops).toBe(current(get().routes.decode)?.hops.length);
    expect(steps.at(-1)).toMatchObject({ counts: "MIL operations" });
    get().scrub(99);
    expect([get().laneAt, get().pipelineView]).toEqual([steps.length - 1, "mil"]);
    // A step with a table of its own takes the place of the pass, until a pass is chosen.
    get().scrub(steps.length - 2);
    expect([get().pipelineView, get().stepShown]).toEqual(["diff", "segment"]);
    get().scrub(steps.length - 4);
    expect(get().stepShown).toBe("legalise");
    get().scrub(steps.length - 3);
    expect([get().stepShown, get().passAt]).toEqual(["", "legal"]);
    get().scrub(0);
    expect([get().laneAt, get().stepShown]).toEqual([0, "built"]);
    await get().bisect("ane");
    expect([asked, get().laneAt]).toEqual([['"ane"'], steps.length - 3]);
    get().setBackend("cpu");
    expect(get().lane.kind).toBe("idle");
    await until(() => get().lane.kind === "ready" && current(get().lane)?.steps.at(-1)?.counts === "instructions");
    expect(
      current(get().lane)
        ?.steps.map(({ name }) => name)
        .slice(-3),
    ).toEqual(["legalise", "legal", "plan"]);
    expect(current(get().lane)?.steps.every(({ numbers }) => numbers?.hops === null)).toBe(true);
  });

  it("shows the graph as built where no pass changed it, until a pass is chosen", async () => {
    const { get } = await openSample();
    get().setBackend("mlx");
    await until(() => current(get().passes)?.backend === "mlx" && get().routes.decode.kind === "ready");
    expect(current(get().passes)?.passes.some(({ changed }) => changed)).toBe(false);
    get().setTab("pipeline");
    await until(() => get().lane.kind === "ready");
    expect([get().laneAt, get().stepShown]).toEqual([0, "built"]);
    get().choosePass("dead code");
    expect(get().stepShown).toBe("");
  });
});

describe("the search in the program's text", () => {
  it("finds beyond the page that is shown, and turns to the page of the next line", async () => {
    const asked: string[] = [];
    const { get } = await createStoreOver({
      calls: {
        "text.find": ({ query, language }) => {
          asked.push(`${language} ${query}`);
          return query === "none" ? { total: 0, lines: [] } : { total: 3, lines: [4, 5001, 12_000] };
        },
        "text.page": (input) => ({
          ...{ language: input.language, title: "", totalLines: 13_000, firstLine: input.firstLine ?? 0 },
          ...{ text: "", nodes: new Int32Array(0) },
        }),
      },
    });
    await get().open(SAMPLE);
    await until(() => current(get().passes) !== null && get().routes.decode.kind === "ready");
    get().setTab("pipeline");
    get().setPipelineView("mil");
    get().setTextQuery("linear");
    await until(() => get().textFound.kind === "ready");
    const shown: (readonly [number | null, number])[] = [];
    for (const step of [1, 1, 1, 1, -1] as const) {
      get().nextFound(step);
      await until(() => get().page.kind === "ready");
      shown.push([foundLine(get()), current(get().page)?.firstLine ?? -1]);
    }
    expect(shown).toEqual([
      [4, 0],
      [5001, 5000],
      [12_000, 10_000],
      [4, 0],
      [12_000, 10_000],
    ]);
    get().setTextQuery("none");
    await until(() => get().textFound.kind === "ready");
    get().nextFound(1);
    expect(foundLine(get())).toBeNull();
    // Another program is looked through anew.
    get().setPipelineView("rlx-ir");
    await until(() => asked.length === 3);
    expect(asked).toEqual(["mil linear", "mil none", "rlx-ir none"]);
    get().setTextQuery("");
    expect(get().textFound.kind).toBe("idle");
  });
});
