import { createStore } from "zustand/vanilla";
import { describe, expect, it } from "vitest";
import { current } from "../../session/async.ts";
import { createSession } from "../../session/createSession.ts";
import type { SessionState } from "../../session/sessionSlice.ts";
import type { PipelineSlice } from "./slice.ts";
import { createPipelineSlice } from "./slice.ts";
import { answerTo, createRecordedEngine } from "../../engine/recorded/replay.ts";
import { SAMPLE } from "../../testing/sample.ts";

type State = SessionState & PipelineSlice;

/** Nine passes: the first and the last but one changed nothing. */
const CHANGED = [false, true, true, true, true, true, true, false, true];

async function setUp() {
  const { client } = createRecordedEngine({
    calls: {
      "passes.list": (input) => {
        const list = answerTo("passes.list", input);
        return { ...list, passes: CHANGED.map((changed, index) => ({ ...list.passes[0]!, index, changed })) };
      },
    },
  });
  const { getState: get } = createStore<State>()((set, get) => {
    const tools = { engine: client, shell: null, set: (part: Partial<State>) => set(part), get };
    return { ...createSession(tools), ...createPipelineSlice(tools) };
  });
  await get().open(SAMPLE);
  await get().loadPasses();
  const changed = current(get().passes)?.passes.map((pass) => pass.changed) ?? [];
  const from = (index: number, step: 1 | -1, passes?: "changed" | "all"): number => {
    get().choosePass(index);
    get().stepPass(step, passes);
    return get().passAt;
  };
  return { get, changed, from };
}

describe("the pipeline's passes", () => {
  it("begin with the first that changed something, and are stepped through without the others", async () => {
    const { get, changed, from } = await setUp();
    expect(changed).toEqual(CHANGED);
    expect(get().passAt).toBe(1);
    expect([from(1, 1), from(6, 1), from(8, -1)]).toEqual([2, 8, 6]);
    // At either end it stays.
    expect([from(1, -1), from(8, 1)]).toEqual([1, 8]);
  });

  it("are stepped through from one that changed nothing, too", async () => {
    const { from } = await setUp();
    expect([from(7, -1), from(7, 1)]).toEqual([6, 8]);
    expect([from(0, 1), from(0, -1)]).toEqual([1, 0]);
  });

  it("are all listed once all are stepped through", async () => {
    const { get, from } = await setUp();
    expect([from(6, 1, "all"), from(8, -1, "all"), from(1, -1, "all")]).toEqual([7, 7, 0]);
    expect(get().changedOnly).toBe(false);
    get().setChangedOnly(true);
    expect(from(6, 1)).toBe(8);
  });
});
