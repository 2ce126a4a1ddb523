import { createStore } from "zustand/vanilla";
import { describe, expect, it } from "vitest";
import { sourceOf } from "../../../main/contract/views/graph.ts";
import { until } from "../../../main/testing/until.ts";
import { groupName, opName, pathOf } from "../../graph/graphModel.ts";
import { BOX_KINDS } from "../../graph/lift.ts";
import { current } from "../../session/async.ts";
import { createSession } from "../../session/createSession.ts";
import { createTools } from "../../session/slice.ts";
import type { GraphState } from "./graphState.ts";
import { blockNote, LEGAL_STAGE } from "./graphState.ts";
import { shownGraph } from "../../drawing/pictureState.ts";
import { createGraphSlice } from "./slice.ts";
import type { RecordedOptions } from "../../engine/recorded/replay.ts";
import { createRecordedEngine } from "../../engine/recorded/replay.ts";
import { SAMPLE, inPlace } from "../../testing/sample.ts";

async function setUp(options: RecordedOptions = {}) {
  const { client } = createRecordedEngine(options);
  const store = createStore<GraphState>()((_set, _get, api) => {
    const tools = createTools(client, null, api);
    return { ...createSession(tools), ...createGraphSlice(tools(), inPlace) };
  });
  const get = store.getState;
  await get().open(SAMPLE);
  await until(() => get().picture.kind === "ready" && get().routes.decode.kind === "ready");
  return { store, get };
}
const selectedName = (state: GraphState): string => {
  const model = current(shownGraph(state));
  if (model === null) return "";
  const { selection } = state;
  if (selection.kind === "group") return groupName(model.view, selection.group);
  return selection.kind === "node" ? opName(model.view, selection.node) : selection.kind;
};

describe("the graph's state", () => {
  it("walks along edges, opens and goes up again", async () => {
    const { get } = await setUp();
    get().walk("down");
    const first = selectedName(get());
    expect(first).not.toBe("none");
    for (let i = 0; i < 3 && !selectedName(get()).startsWith("block"); i++) get().walk("down");
    expect(selectedName(get())).toBe("block 0");
    expect(get().viewRequest?.kind).toBe("reveal");
    const { selection } = get();
    if (selection.kind !== "group") throw new Error("no group");
    get().toggleGroup(selection.group);
    const frames = (): number =>
      current(get().picture)?.scene.kind.filter((kind) => kind === BOX_KINDS.frame).length ?? 0;
    await until(() => frames() === 1);
    // Esc on what is inside folds the block around it and selects it; once more, nothing is selected.
    const model = current(shownGraph(get()))!;
    const inside = [...model.view.nodes.id.keys()].find((n) => pathOf(model.view, n).includes(selection.group)) ?? -1;
    get().select({ kind: "node", key: model.view.key, node: inside });
    get().goUp();
    expect(get().openGroups.size).toBe(0);
    expect(selectedName(get())).toBe("block 0");
    get().goUp();
    expect(selectedName(get())).toBe("none");
  });

  it("steps through the stages that changed something, and back to the legal graph", async () => {
    const { store, get } = await setUp();
    store.setState({
      passChoices: [
        { name: "nothing", changed: false },
        { name: "fuse", changed: true },
      ],
    });
    get().stepStage(-1, "changed");
    expect(get().graphStage).toEqual({ step: "fuse", side: "after" });
    await until(() => get().stageGraph.kind === "ready" && get().stageDiff !== null);
    get().setPassSide("before");
    await until(() => current(get().stageGraph)?.view.key.stage.step === "nothing");
    get().stepStage(-1, "changed");
    expect(get().graphStage.step).toBe("built");
    get().stepStage(-1, "changed");
    expect(get().graphStage.step).toBe("built");
    get().stepStage(1, "changed");
    get().stepStage(1, "changed");
    expect(get().graphStage).toEqual(LEGAL_STAGE);
    await until(() => get().stageDiff === null);
  });

  it("steps to the neighbours of a pass that changed nothing", async () => {
    const { store, get } = await setUp();
    store.setState({
      passChoices: [
        { name: "fold", changed: true },
        { name: "nothing", changed: false },
        { name: "nothing either", changed: false },
        { name: "fuse", changed: true },
      ],
    });
    const from = (name: string, step: 1 | -1, passes: "changed" | "all"): string => {
      get().setGraphStage({ ...LEGAL_STAGE, step: name });
      get().stepStage(step, passes);
      return get().graphStage.step;
    };
    expect([from("nothing", -1, "changed"), from("nothing", 1, "changed")]).toEqual(["fold", "fuse"]);
    expect([from("nothing either", -1, "changed"), from("nothing either", 1, "changed")]).toEqual(["fold", "fuse"]);
    expect([from("nothing", -1, "all"), from("nothing", 1, "all")]).toEqual(["fold", "nothing either"]);
    expect([from("nothing either", -1, "all"), from("nothing either", 1, "all")]).toEqual(["nothing", "fuse"]);
  });

  it("leads back to the operation that a node was made from", async () => {
    const { get } = await setUp();
    const legal = current(shownGraph(get()))!;
    const node = [...Array(legal.view.nodeCount).keys()].find((n) => opName(legal.view, n) === "attention_cached")!;
    const source = sourceOf(legal.view.nodes.id[node]!);
    get().showSource(source);
    await until(() => get().selection.kind === "node" && get().graphStage.step === "built");
    const { selection } = get();
    const shown = current(shownGraph(get()))!;
    expect(selection.kind === "node" && sourceOf(shown.view.nodes.id[selection.node]!)).toBe(source);
    expect(get().tab).toBe("graph");
  });

  it("breaks into columns only what was asked for as a whole, and only small canvases are compact", async () => {
    const { get } = await setUp();
    get().setCanvasSize(900, 700);
    expect(get().graphRoom).toMatchObject({ compact: false, map: false });
    get().expandAll();
    expect(get().graphRoom.map).toBe(true);
    await until(() => get().picture.kind === "ready" && (current(get().picture)?.scene.boxCount ?? 0) > 50);
    get().setCanvasSize(580, 480);
    expect(get().graphRoom).toMatchObject({ compact: true, map: true });
    get().foldAll();
    expect(get().graphRoom.map).toBe(false);
    expect(blockNote(get(), 0)).toBe("");
  });
});

describe("what is shown of a target, a phase and a stage", () => {
  it("has the times of the target that is chosen", async () => {
    const { get } = await setUp({
      calls: {
        "graph.overlay": ({ key, kind, target }) => ({
          key,
          kind,
          truth: "predicted",
          basis: target.chip,
          values: new Float32Array(0),
          legend: [],
        }),
      },
    });
    get().setGraphMode("time");
    const { target } = get();
    if (target === null) throw new Error("an open model has a target");
    await until(() => get().overlay.kind === "ready");
    expect(current(get().overlay)?.basis).toBe(target.chip);
    get().setTarget({ ...target, chip: "m1" });
    await until(() => current(get().overlay)?.basis === "m1");
  });

  it("has the stage of the phase that is chosen", async () => {
    const { get } = await setUp();
    expect(get().phase).toBe("decode");
    get().setBackend("cpu");
    get().setGraphStage({ step: "fuse norm", side: "after" });
    await until(() => current(get().stageGraph)?.view.key.phase === "decode");
    get().setPhase("prefill");
    await until(() => current(get().stageGraph)?.view.key.phase === "prefill");
    expect(get().graphStage.step).toBe("fuse norm");
  });

  it("has the hits of the graph that is shown", async () => {
    const { get } = await setUp();
    get().setGraphQuery("op:attention_cached layer:3");
    expect(get().graphHits).toHaveLength(1);
    get().setGraphStage({ step: "built", side: "after" });
    await until(() => get().stageGraph.kind === "ready");
    const shown = current(get().stageGraph)!;
    expect(get().graphHits.map((node) => opName(shown.view, node))).toEqual(["attention_cached"]);
  });

  it("opens nothing for a side of a pass that was left before it came", async () => {
    const { get } = await setUp();
    get().setBackend("cpu");
    get().setGraphStage({ step: "fuse norm", side: "after" });
    await until(() => get().stageGraph.kind === "ready");
    get().toggleGroup(1);
    get().setPassSide("before");
    get().setGraphStage({ step: "built", side: "after" });
    await until(() => current(get().stageGraph)?.view.key.stage.step === "built");
    expect(get().openGroups.size).toBe(0);
  });
});
