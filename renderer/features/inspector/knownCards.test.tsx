// The first look at an op does not wait for the engine: name, type and device are in the window already.
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { createStore } from "zustand/vanilla";
import type { NodeView } from "../../../main/contract/views/graph.ts";
import { sampleGraph, sampleRoute } from "../../testing/sample.ts";
import { createGraphModel, opName } from "../../graph/graphModel.ts";
import { IDLE, loading, ready } from "../../session/async.ts";
import { StoreProvider } from "../../session/context.tsx";
import { INITIAL_SESSION } from "../../session/createSession.ts";
import { Inspector } from "./Inspector.tsx";

const model = createGraphModel(sampleGraph);
const node = model.view.nodes.op.findIndex((_, n) => opName(model.view, n) === "linear");
const none = (): null => null;

it.each([
  ["of the first op", null],
  ["of an op after another one", { node: node + 1, path: "elsewhere", name: "other" } as unknown as NodeView],
])("shows what the window knows %s until the engine has answered", (_of, before) => {
  const state = {
    ...INITIAL_SESSION,
    routes: { prefill: IDLE, decode: ready(sampleRoute) },
    selection: { kind: "node", key: model.view.key, node },
    node: loading(before === null ? IDLE : ready(before)),
  } as const;
  const links = {
    ...{ onNode: none, onMil: none, onPass: none, isPass: () => false, onTensor: none, onSource: none },
    ...{
      model,
      noteOf: () => "",
      stackOf: () => [],
      onGroup: () => null,
      routeOfNode: none,
      routeOfSegment: none,
      advice: null,
    },
  };
  const text = renderToStaticMarkup(
    <StoreProvider store={createStore(() => state as never)}>
      <Inspector {...links} />
    </StoreProvider>,
  ).replace(/<[^>]+>/g, " ");
  expect(text).toMatch(/^\s*blk\.0 · attention · \S+/);
  expect(text).toMatch(/Shapes and types\s+linear/);
  expect(text).toMatch(/result\s+f\d+\[/);
  expect(text).toMatch(/Neural Engine|GPU|CPU/);
  expect(text).not.toMatch(/^\s*…\s*$|elsewhere/);
});
