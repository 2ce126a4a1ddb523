/** Another profile of weights: the graph stays, with other bytes that its nodes read. */
import { expect, it } from "vitest";
import { routedStage } from "../../main/contract/views/graph.ts";
import { until } from "../../main/testing/until.ts";
import { answerTo } from "../engine/recorded/replay.ts";
import { isSameStructure } from "../graph/graphModel.ts";
import { current } from "../session/async.ts";
import { openSample } from "../testing/openStore.ts";
import { sampleGraph } from "../testing/sample.ts";

it("asks for the route first, then for the bytes, and never for the graph again", async () => {
  const asked: string[] = [];
  const { get } = await openSample({
    calls: {
      "graph.get": (input) => {
        asked.push("graph");
        return answerTo("graph.get", input);
      },
      "route.get": (input) => {
        asked.push(`route ${input.phase}`);
        return answerTo("route.get", input);
      },
      "graph.overlay": ({ key, kind }) => {
        asked.push(kind);
        const values = new Float32Array(sampleGraph.nodeCount).fill(7);
        return { key, kind, truth: "exact", basis: "", legend: [], values };
      },
    },
  });
  await until(() => get().graph.kind === "ready" && get().picture.kind === "ready");
  await until(() => get().routes.decode.kind === "ready" && get().routes.prefill.kind === "ready");
  const { target } = get();
  const before = current(get().graph);
  if (target === null || before === null) throw new Error("an open model has a target and a graph");
  expect(before.view.nodes.bytesRead).not.toContain(7);
  asked.length = 0;
  const exact = { ...target, profile: "exact" } as const;
  get().setTarget(exact);
  // The bytes that are shown meanwhile are those of the weights before.
  expect(get().graph).toEqual({ kind: "loading", previous: before });
  await until(() => get().graph.kind === "ready" && get().routes.prefill.kind === "ready");
  expect(asked.slice(0, 3)).toEqual(["route decode", "bytes", "route prefill"]);
  expect(asked).not.toContain("graph");
  const after = current(get().graph);
  expect(after !== null && isSameStructure(after, before)).toBe(true);
  expect(after?.view.key.stage).toEqual(routedStage("coreml", exact));
  expect(after?.view.nodes.bytesRead.every((bytes) => bytes === 7)).toBe(true);
});
