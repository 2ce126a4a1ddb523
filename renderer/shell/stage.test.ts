import { describe, expect, it } from "vitest";
import { until } from "../../main/testing/until.ts";
import { LEGAL_STAGE } from "../features/graph/graphState.ts";
import { openSample } from "../testing/openStore.ts";

describe("a stage of the graph", () => {
  it("opens the pipeline at its pass", async () => {
    const { get } = await openSample();
    await until(() => get().passChoices.length > 0);
    const last = get().passChoices.at(-1)!.name;
    expect(get().passAt).not.toBe(last);
    get().setGraphStage({ backend: "coreml", step: last, side: "after" });
    expect(get().passAt).toBe(last);
    get().setGraphStage(LEGAL_STAGE);
    expect(get().passAt).toBe(last);
    // Another backend's stage lists that backend's passes.
    get().setGraphStage({ backend: "cpu", step: "legal", side: "after" });
    expect(get().pipelineBackend).toBe("cpu");
    await until(() => get().passBackend === "cpu");
  });
});
