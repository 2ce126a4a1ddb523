import { createStore } from "zustand/vanilla";
import { describe, expect, it } from "vitest";
import { until } from "../../../main/testing/until.ts";
import { current } from "../../session/async.ts";
import { createSession } from "../../session/createSession.ts";
import { createTools } from "../../session/slice.ts";
import type { SessionState } from "../../session/sessionSlice.ts";
import type { PipelineSlice } from "./slice.ts";
import { createPipelineSlice } from "./slice.ts";
import { answerTo, createRecordedEngine } from "../../engine/recorded/replay.ts";
import { SAMPLE } from "../../testing/sample.ts";

type State = SessionState & PipelineSlice;

/** Nine passes: the first and the last but one changed nothing. */
const CHANGED = [false, true, true, true, true, true, true, false, true];

async function setUp() {
  const asked: string[] = [];
  const { client } = createRecordedEngine({
    calls: {
      "passes.diff": (input) => {
        asked.push("diff");
        return answerTo("passes.diff", input);
      },
      "text.page": (input) => {
        asked.push(`${input.language} ${input.target.chip}`);
        return answerTo("text.page", input);
      },
      "passes.list": (input) => {
        asked.push("list");
        const list = answerTo("passes.list", input);
        return {
          ...list,
          passes: CHANGED.map((changed, index) => ({ ...list.passes[0]!, name: `pass ${index}`, changed })),
        };
      },
    },
  });
  const { getState: get } = createStore<State>()((_set, _get, api) => {
    const tools = createTools(client, null, api);
    return { ...createSession(tools), ...createPipelineSlice(tools()) };
  });
  await get().open(SAMPLE);
  await get().loadPasses();
  const passes = current(get().passes)?.passes ?? [];
  const changed = passes.map((pass) => pass.changed);
  const at = (): number => passes.findIndex(({ name }) => name === get().passAt);
  const from = (index: number, step: 1 | -1, through?: "changed" | "all"): number => {
    get().choosePass(passes[index]!.name);
    get().stepPass(step, through);
    return at();
  };
  return { get, asked, changed, at, from };
}

describe("the pipeline's passes", () => {
  it("begin with the first that changed something, and are stepped through without the others", async () => {
    const { changed, at, from } = await setUp();
    expect(changed).toEqual(CHANGED);
    expect(at()).toBe(1);
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

  it("are those of the backend that is chosen, and what their program becomes", async () => {
    const { get } = await setUp();
    expect(current(get().passes)?.backend).toBe("coreml");
    get().setPipelineView("mil");
    get().setBackend("cpu");
    expect(get().pipelineView).toBe("plan");
    await until(() => current(get().passes)?.backend === "cpu");
    await until(() => current(get().page)?.language !== "mil");
  });

  it("are listed once for all chips, and their texts are asked for when the tab shows", async () => {
    const { get, asked } = await setUp();
    const choose = async (chip: string): Promise<void> => {
      const { target } = get();
      if (target === null) throw new Error("an open model has a target");
      get().setTarget({ ...target, chip });
      await until(() => get().routes.prefill.kind === "ready" && get().routes.decode.kind === "ready");
    };
    await until(() => get().routes.prefill.kind === "ready" && get().graph.kind === "ready");
    expect(asked).toEqual(["list"]);
    get().setTab("pipeline");
    await until(() => get().diff.kind === "ready");
    expect(asked).toEqual(["list", "diff"]);
    await choose("m1");
    expect(asked).toEqual(["list", "diff"]);
    // MIL is that of a chip.
    get().setPipelineView("mil");
    await until(() => get().page.kind === "ready");
    await choose("m2");
    await until(() => get().page.kind === "ready" && asked.length === 4);
    expect(asked.slice(2)).toEqual(["mil m1", "mil m2"]);
  });
});
