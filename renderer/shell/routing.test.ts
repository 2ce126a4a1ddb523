// The plan and MLX's side in the store: asked for on demand, coloured in the graph, and gone with the target that they were for.
import { describe, expect, it } from "vitest";
import { WorkbenchError } from "../../main/diagnostics/errors.ts";
import { until } from "../../main/testing/until.ts";
import { mlxColumn, plannedColumn, shownMode } from "../drawing/pictureState.ts";
import { current } from "../session/async.ts";
import { createCommands } from "./commands.ts";
import { createWorkbenchStore } from "./store.ts";
import { answerTo, createRecordedEngine } from "../engine/recorded/replay.ts";
import { inPlace, plannedRoute, SAMPLE, sampleGraph } from "../testing/sample.ts";
import { openSample } from "../testing/openStore.ts";

async function opened() {
  const asked = { planned: 0, mlx: 0 };
  const { get } = await openSample({
    calls: {
      "route.planned": ({ model, target, phase }) => {
        asked.planned += 1;
        return plannedRoute(answerTo("route.get", { model, target, phase }), sampleGraph);
      },
    },
  });
  await until(() => get().picture.kind === "ready" && get().routes.decode.kind === "ready");
  return { get, asked };
}

describe("planned beside predicted", () => {
  it("is not asked for by itself, colours the graph when it is there, and goes with its target", async () => {
    const { get, asked } = await opened();
    expect([get().planned.kind, asked.planned]).toEqual(["idle", 0]);
    get().setGraphMode("planned");
    expect(shownMode(get())).toBe("device");
    await get().loadPlanned();
    expect(shownMode(get())).toBe("planned");
    const column = plannedColumn(get());
    const view = current(get().planned);
    expect(column).toBe(view?.nodes.planned);
    const first = view?.firstDifference?.node ?? -1;
    expect(column?.[first]).not.toBe(current(get().routes.decode)?.nodes.device[first]);
    const { target } = get();
    if (target === null) throw new Error("an open model has a target");
    get().setTarget({ ...target, units: "cpu-gpu" });
    expect(get().planned.kind).toBe("idle");
    expect(shownMode(get())).toBe("device");
  });

  it("of one target does not come back under another, when it was being asked for again", async () => {
    const { get, asked } = await opened();
    await get().loadPlanned();
    const first = current(get().planned);
    const again = get().loadPlanned();
    expect(current(get().planned)).toBe(first);
    const { target } = get();
    if (target === null) throw new Error("an open model has a target");
    get().setTarget({ ...target, units: "cpu-gpu" });
    await again;
    expect([get().planned.kind, asked.planned]).toEqual(["idle", 2]);
  });

  it("stays when it is asked for twice more and both are stopped", async () => {
    const { get } = await opened();
    await get().loadPlanned();
    const first = current(get().planned);
    const both = [get().loadPlanned(), get().loadPlanned()];
    get().stopPlanned();
    await Promise.all(both);
    expect(get().planned).toEqual({ kind: "ready", value: first });
  });

  it("says why there is none, and can be asked again", async () => {
    const { get } = await openSample();
    await get().loadPlanned();
    expect(get().planned.kind).toBe("failed");
  });
});

describe("MLX beside Core ML", () => {
  it("is asked for once, stays for other units, and again for another phase", async () => {
    const { get } = await opened();
    await get().loadOnMlx();
    const first = current(get().onMlx);
    expect(first?.phase).toBe("decode");
    expect(mlxColumn(get())).toBe(first?.nodes.state);
    const { target } = get();
    if (target === null) throw new Error("an open model has a target");
    get().setTarget({ ...target, units: "all" });
    expect(current(get().onMlx)).toBe(first);
    get().setPhase("prefill");
    await until(() => current(get().onMlx)?.phase === "prefill");
    get().close();
    expect(get().onMlx.kind).toBe("idle");
  });

  it("is asked for again by its key when the first time failed", async () => {
    let asks = 0;
    const fake = createRecordedEngine({
      calls: {
        "route.mlx": () => {
          asks += 1;
          throw new WorkbenchError("RUN_FAILED", "[route] not now");
        },
      },
    });
    const store = createWorkbenchStore(fake.client, null, inPlace);
    await store.getState().open(SAMPLE);
    const { run } = createCommands({ store, shell: null, pickFile: () => undefined, pickSession: () => undefined })[
      "graph.byMlx"
    ];
    for (const times of [1, 2]) {
      run();
      await until(() => asks === times && store.getState().onMlx.kind === "failed");
    }
  });
});
