import { describe, expect, it } from "vitest";
import { until } from "../../main/testing/until.ts";
import { createWorkbenchStore } from "./store.ts";
import { createRecordedEngine } from "../engine/recorded/replay.ts";
import { SAMPLE, inPlace } from "../testing/sample.ts";

describe("a stage of the graph", () => {
  it("opens the pipeline at its pass", async () => {
    const { client } = createRecordedEngine();
    const store = createWorkbenchStore(client, null, inPlace);
    const get = store.getState;
    await until(() => get().info.kind === "ready");
    await get().open(SAMPLE);
    await until(() => get().passChoices.length > 0);
    const last = get()
      .passChoices.filter(({ changed }) => changed)
      .at(-1)!.index;
    expect(get().passAt).not.toBe(last);
    get().setGraphStage({ kind: "pass", index: last, side: "after" });
    expect(get().passAt).toBe(last);
    get().setGraphStage({ kind: "legal" });
    expect(get().passAt).toBe(last);
  });
});
