// While the colours are being asked for, the legend says so: it shows no numbers of its own.
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { createStore } from "zustand/vanilla";
import type { OverlayView } from "../../../main/contract/views/graph.ts";
import type { Async } from "../../session/async.ts";
import { IDLE, loading, ready } from "../../session/async.ts";
import { StoreProvider } from "../../session/context.tsx";
import { INITIAL_SESSION } from "../../session/createSession.ts";
import type { GraphState } from "./graphState.ts";
import { LEGAL_STAGE } from "./graphState.ts";
import { Legend } from "./Legend.tsx";
import type { Paint } from "./paint.ts";

const paint = { mode: "time", low: 0, high: 0 } as unknown as Paint;
const time = { kind: "time", truth: "predicted", values: new Float32Array(1), legend: [] } as unknown as OverlayView;

function legend(overlay: Async<OverlayView>, shown: OverlayView | null): string {
  const state = { ...INITIAL_SESSION, overlay, graphStage: LEGAL_STAGE, stageChanges: null, only: null };
  const store = createStore(() => state as unknown as GraphState);
  return renderToStaticMarkup(
    <StoreProvider store={store}>
      <Legend
        paint={paint}
        route={null}
        overlay={shown}
        result={null}
        devices={[]}
        highlight={null}
        kinds={[]}
        data={null}
      />
    </StoreProvider>,
  );
}

it("says that times are being estimated, without a share of nothing", () => {
  for (const [state, shown] of [
    [loading<OverlayView>(IDLE), null],
    // What was shown before has numbers of another kind.
    [loading(ready({ ...time, kind: "type" as const })), { ...time, kind: "type" as const }],
  ] as const) {
    expect(legend(state, shown)).toContain("Estimating the time of each op");
    expect(legend(state, shown)).not.toContain("%");
  }
  expect(legend({ kind: "failed", error: { code: "RUN_FAILED", message: "" } }, null)).toContain(
    "could not be estimated",
  );
  expect(legend(ready(time), time)).toMatch(/0.%/);
});
