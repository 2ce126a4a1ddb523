/** Answers that come too late: what belongs to one model, target or phase never shows up under another. */
import { describe, expect, it } from "vitest";
import type { TargetSpec } from "../../main/contract/views/common.ts";
import { WorkbenchError } from "../../main/diagnostics/errors.ts";
import { until } from "../../main/testing/until.ts";
import type { LayoutClient } from "../graph/layoutClient.ts";
import { layoutScene } from "../graph/layout.ts";
import { current } from "../session/async.ts";
import { itemsOf, pause } from "../engine/recorded/replay.ts";
import { sample, SAMPLE, HYBRID } from "../testing/sample.ts";
import { createStoreOver } from "../testing/openStore.ts";

const OTHER = { kind: "path", path: "/models/other.gguf" } as const;

describe("another model", () => {
  it("can be run at once, when the run before it was still being prepared", async () => {
    const { get } = await createStoreOver();
    await get().open(SAMPLE);
    get().setDraft("Why?");
    const sent = get().send();
    await until(() => get().running?.sentence === "Preparing the model");
    await get().open(OTHER);
    await sent;
    expect(get().running).toBeNull();
    get().setParameters({ maxTokens: 3 });
    get().setDraft("And now?");
    await get().send();
    expect(get().turns).toHaveLength(1);
    expect(get().turns[0]?.answer.stats?.generated).toBe(3);
    expect(get().runHistory).toHaveLength(1);
  });

  it("does not get the profile of the one before it", async () => {
    const { get } = await createStoreOver();
    await get().open(SAMPLE);
    const recorded = get().startProfile();
    await until(() => get().profilePhase !== null);
    await get().open(OTHER);
    await recorded;
    expect(get().profile.kind).toBe("idle");
    expect(get().profiled).toBeNull();
  });

  it("does not get back the last profile of the one before it, whose next recording was stopped by closing", async () => {
    let recordings = 0;
    const { get } = await createStoreOver({
      streams: {
        async *"profile.run"(input, context) {
          recordings += 1;
          if (recordings === 1) {
            yield* itemsOf("profile.run", input, context);
            return;
          }
          await pause(60);
          throw new WorkbenchError("CANCELLED", "[profile] stopped");
        },
      },
    });
    await get().open(SAMPLE);
    const first = get().startProfile();
    await until(() => get().profile.kind === "ready");
    await first;
    const second = get().startProfile();
    await until(() => recordings === 2);
    await get().open(OTHER);
    await second;
    expect(get().profile.kind).toBe("idle");
  });

  it("says nothing about an export or a benchmark of the one before it", async () => {
    const { get } = await createStoreOver();
    await get().open(SAMPLE);
    await get().loadExportPlan();
    const ended = Promise.all([get().startExport(), get().startBench()]);
    await until(() => get().exportProgress?.kind === "progress" && get().benchSamples.length > 0);
    await get().open(OTHER);
    await ended;
    expect(get().exportSaid).toBe("");
    expect(get().exportProgress).toBeNull();
    expect(get().benchSamples).toEqual([]);
    expect(get().benchRunning).toBeNull();
  });

  it("does not get the errors of what the one before it was doing", async () => {
    const PREPARING = {
      kind: "phase",
      name: "load",
      sentence: "Preparing",
      fraction: null,
      elapsedSeconds: 0,
    } as const;
    const failLate = async (): Promise<never> => {
      await pause(40);
      throw new WorkbenchError("INPUT_NOT_GGUF", "[fake] failed late");
    };
    const { get } = await createStoreOver({
      streams: {
        async *"bench.run"() {
          yield PREPARING;
          await failLate();
        },
        async *"export.start"() {
          yield PREPARING;
          await failLate();
        },
      },
    });
    await get().open(SAMPLE);
    await get().loadExportPlan();
    const ended = Promise.all([get().startExport(), get().startBench()]);
    await pause(10);
    await get().open(OTHER);
    await ended;
    expect(get().exportError).toBeNull();
    expect(get().benchError).toBeNull();
  });

  it("gets neither the template nor the run through segments of the one before it", async () => {
    const { get } = await createStoreOver({
      calls: {
        "chat.template": async () => {
          await pause(150);
          return {
            origin: null,
            sentence: "None.",
            source: "",
            rendered: null,
            names: [],
            switches: [],
            callFamily: null,
          };
        },
      },
    });
    await get().open(SAMPLE);
    const asked = get().loadTemplate();
    await get().open(HYBRID);
    await asked;
    expect(get().template.kind).toBe("idle");
    expect(get().runMode).toBe("chat");
    const run = get().runHybrid();
    await get().open(SAMPLE);
    await run;
    expect(get().hybrid.kind).toBe("idle");
  });

  it("is not drawn as the one before it, whose layout was still going on", async () => {
    const release: (() => void)[] = [];
    const slow: LayoutClient = {
      async layout(model, state) {
        await new Promise<void>((resolve) => release.push(resolve));
        return layoutScene(model, state);
      },
    };
    const { get } = await createStoreOver({}, slow);
    await get().open(SAMPLE);
    await until(() => release.length > 0);
    get().close();
    for (const each of release) each();
    await pause(20);
    expect(get().picture.kind).toBe("idle");
  });
});

describe("another target", () => {
  const NO_WEIGHTS = {
    ok: false,
    ...{ code: "INPUT_NO_DATA", sentence: "A header without weights.", hint: null },
    offer: "none",
  } as const;
  const m1 = (target: TargetSpec | null): TargetSpec => {
    if (target === null) throw new Error("an open model has a target");
    return { ...target, chip: "m1" };
  };

  it("stays the one of the forecast when the file of a header is found", async () => {
    const { get } = await createStoreOver({
      calls: {
        "model.open": () => ({ ...sample, canRun: NO_WEIGHTS }),
        "model.attach": () => sample,
        "model.locate": () => ({ path: "/models/q.gguf", searched: [], sentence: "Found." }),
      },
    });
    await get().open(SAMPLE);
    get().setTarget(m1(get().target));
    await until(() => current(get().model)?.target.chip === "m1");
    await get().locate(null);
    expect(current(get().model)?.canRun.ok).toBe(true);
    expect(current(get().model)?.target.chip).toBe("m1");
  });

  it("does not claim the errors of an export that was started for the one before it", async () => {
    const { get } = await createStoreOver();
    await get().open(SAMPLE);
    await get().loadExportPlan();
    const { target } = get();
    const exported = get().startExport();
    get().setTarget(m1(target));
    await exported;
    expect(get().weightErrors?.rows).toHaveLength(46);
    expect(get().weightErrors?.target).toEqual(target);
  });

  it("leaves nothing selected, also when the answer about an op comes late", async () => {
    const answers: (() => void)[] = [];
    const { get } = await createStoreOver({
      calls: {
        "graph.node": async () => {
          await new Promise<void>((resolve) => answers.push(resolve));
          throw new WorkbenchError("INPUT_NOT_GGUF", "[fake] late");
        },
      },
    });
    await get().open(SAMPLE);
    await until(() => get().graph.kind === "ready");
    for (const change of [() => get().setTarget(m1(get().target)), () => get().setPhase("prefill")]) {
      const before = answers.length;
      const shown = current(get().graph);
      if (shown === null) throw new Error("no graph");
      get().select({ kind: "node", key: shown.view.key, node: 3 });
      await until(() => answers.length > before);
      change();
      answers.at(-1)?.();
      await pause(20);
      expect(get().node.kind).toBe("idle");
    }
  });

  it("is no longer asked about once the model is closed", async () => {
    const signals: AbortSignal[] = [];
    const { get } = await createStoreOver({
      calls: {
        "route.get": async (_input, { signal }) => {
          signals.push(signal);
          await pause(200);
          throw new WorkbenchError("CANCELLED", "[fake] cancelled");
        },
      },
    });
    await get().open(SAMPLE);
    await until(() => signals.length > 0);
    get().close();
    await until(() => signals[0]?.aborted === true);
  });
});

describe("the same model after a loss", () => {
  it("keeps what was measured of it in the graph as well", async () => {
    const { fake, get } = await createStoreOver();
    await get().open(SAMPLE);
    await get().startProfile();
    expect(get().profiled).not.toBeNull();
    fake.crash();
    await until(() => get().loss?.over === true);
    expect(get().profile.kind).toBe("ready");
    expect(get().profiled).toBe(current(get().profile));
    await get().open(OTHER);
    expect(get().profiled).toBeNull();
  });
});
