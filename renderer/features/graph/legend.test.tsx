// The legend: the card of a pass, and while the colours are being asked for it says so and shows no numbers of its own.
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { createStore } from "zustand/vanilla";
import type { OverlayView } from "../../../main/contract/views/graph.ts";
import type { Async } from "../../session/async.ts";
import { IDLE, loading, ready } from "../../session/async.ts";
import { StoreProvider } from "../../session/context.tsx";
import { INITIAL_SESSION } from "../../session/createSession.ts";
import type { Changes } from "../../drawing/changes.ts";
import type { GraphState } from "./graphState.ts";
import { LEGAL_STAGE } from "./graphState.ts";
import { Legend } from "./Legend.tsx";
import type { Paint } from "../../drawing/paint.ts";

const paint = { mode: "time", low: 0, high: 0 } as unknown as Paint;
const time = { kind: "time", truth: "predicted", values: new Float32Array(1), legend: [] } as unknown as OverlayView;

function legend(
  overlay: Async<OverlayView>,
  shown: OverlayView | null,
  more: Partial<Pick<GraphState, "graphStage" | "stageChanges">> = {},
): string {
  const state = { ...INITIAL_SESSION, overlay, graphStage: LEGAL_STAGE, stageChanges: null, only: null };
  const graphRoom = { compact: false };
  const store = createStore(() => ({ ...state, graphRoom, ...more }) as unknown as GraphState);
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
        ref={{ current: null }}
      />
    </StoreProvider>,
  );
}

describe("the card of a pass, before and after it", () => {
  const card = (side: "before" | "after", changes: Partial<Changes> = {}): string =>
    legend(IDLE, null, {
      graphStage: { step: "simplify", side },
      stageChanges: { nodes: new Map(), regions: [3, 9], counts: { added: 4, removed: 0, changed: 2 }, ...changes },
    });

  it("says which side is shown, what changed by sign and number, and leads from change to change", () => {
    for (const side of ["before", "after"] as const) {
      const text = card(side);
      const pressed = [...text.matchAll(/aria-(?:checked|pressed)="true"[^>]*>([^<]+)/g)].map(([, word]) => word);
      expect(pressed).toEqual([side === "before" ? "Before" : "After"]);
      expect(text).toMatch(/\+<\/i>4 added/);
      expect(text).toMatch(/~<\/i>2 changed/);
      expect(text).not.toContain("removed");
      expect(text).toContain("2 regions");
      expect(text).toContain('aria-label="Previous change"');
      expect(text).toContain('aria-label="Next change"');
    }
  });

  it("says that nothing changed, and has nowhere to go then", () => {
    const text = card("after", { regions: [], counts: { added: 0, removed: 0, changed: 0 } });
    expect(text).toContain("This pass changed nothing.");
    expect(text).not.toContain("Next change");
  });

  it("is not there for a stage that is no pass, or while the changes are being asked for", () => {
    expect(legend(IDLE, null)).not.toContain("Side of the pass");
    expect(legend(IDLE, null, { graphStage: { step: "simplify", side: "after" } })).not.toContain("Side of the pass");
  });
});

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
