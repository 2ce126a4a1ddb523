/** Answers that come too late: what belongs to one model, target or phase never shows up under another. */
import { describe, expect, it } from "vitest";
import type { TargetSpec } from "../../main/contract/views/common.ts";
import { WorkbenchError } from "../../main/diagnostics/errors.ts";
import { until } from "../../main/testing/until.ts";
import type { LayoutClient } from "../graph/layoutClient.ts";
import { groupName, opName, pathOf } from "../graph/graphModel.ts";
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
    await get().exportActions.load();
    const ended = Promise.all([get().exportActions.start(), get().startBench()]);
    await until(() => {
      const { work } = get().exporting;
      return work.kind === "running" && work.step?.kind === "progress" && get().benchSamples.length > 0;
    });
    await get().open(OTHER);
    await ended;
    expect(get().exporting.work).toEqual({ kind: "none" });
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
    await get().exportActions.load();
    const ended = Promise.all([get().exportActions.start(), get().startBench()]);
    await pause(10);
    await get().open(OTHER);
    await ended;
    expect(get().exporting.work).toEqual({ kind: "none" });
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
    await get().exportActions.load();
    const { target } = get();
    const exported = get().exportActions.start();
    get().setTarget(m1(target));
    await exported;
    expect(get().weightErrors?.rows).toHaveLength(46);
    expect(get().weightErrors?.target).toEqual(target);
  });

  it("keeps the op selected, and drops the answer about the subject before", async () => {
    const asked: { readonly chip: string; readonly backend: string; readonly phase: string; fail: () => void }[] = [];
    const { get } = await createStoreOver({
      calls: {
        "graph.node": async ({ key, target }) => {
          await new Promise<void>((fail) =>
            asked.push({ chip: target?.chip ?? "", backend: key.stage.backend, phase: key.phase, fail }),
          );
          throw new WorkbenchError("INPUT_NOT_GGUF", `[fake] ${asked.length}`);
        },
      },
    });
    await get().open(SAMPLE);
    await until(() => get().graph.kind === "ready");
    const shown = current(get().graph)!;
    const node = [...Array(shown.view.nodeCount).keys()].find((n) => opName(shown.view, n) === "attention_cached")!;
    const id = shown.view.nodes.id[node];
    get().select({ kind: "node", key: shown.view.key, node });
    await until(() => asked.length === 1);
    const chip = get().target?.chip ?? "";
    const changes = [
      () => get().setTarget(m1(get().target)),
      () => get().setPhase("prefill"),
      () => get().setBackend("cpu"),
    ];
    for (const [at, change] of changes.entries()) {
      change();
      asked.at(-1)?.fail();
      await until(() => asked.length === at + 2);
      expect(get().node.kind).toBe("loading");
      const { selection } = get();
      const { view } = current(get().graph)!;
      const kept = selection.kind === "node" ? selection.node : -1;
      // The CPU's passes take the op into a fused one of the same place.
      if (view.key.stage.backend === "cpu")
        expect(pathOf(view, kept).map((g) => groupName(view, g))[2]).toBe("block 0");
      else expect(view.nodes.id[kept]).toBe(id);
    }
    expect(asked.map(({ chip, backend, phase }) => `${backend} ${phase} ${chip}`)).toEqual([
      `coreml decode ${chip}`,
      ...["coreml decode m1", "coreml prefill m1", "cpu prefill m1"],
    ]);
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
