import { describe, expect, it } from "vitest";
import { until } from "../../main/testing/until.ts";
import { current } from "../session/async.ts";
import { LEGAL_STAGE } from "../features/graph/graphState.ts";
import { openSample } from "../testing/openStore.ts";

describe("a stage of the graph", () => {
  it("opens the pipeline at its pass", async () => {
    const { get } = await openSample();
    await until(() => get().passChoices.length > 0);
    const last = get().passChoices.at(-1)!.name;
    expect(get().passAt).not.toBe(last);
    get().setGraphStage({ step: last, side: "after" });
    expect(get().passAt).toBe(last);
    get().setGraphStage(LEGAL_STAGE);
    expect(get().passAt).toBe(last);
    // Another runtime has stages of its own: it begins with its legal graph.
    get().setGraphStage({ step: last, side: "after" });
    get().setBackend("cpu");
    expect([get().graphStage, get().passChoices]).toEqual([LEGAL_STAGE, []]);
    await until(() => current(get().passes)?.backend === "cpu" && get().passChoices.length > 0);
    expect(current(get().graph)?.view.key.stage.backend).toBe("cpu");
  });
});
