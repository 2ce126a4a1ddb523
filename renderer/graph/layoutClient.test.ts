import { expect, it } from "vitest";
import { decoderGraph, QWEN_SHAPE } from "../testing/decoderGraph.ts";
import { createGraphModel, withBytesRead } from "./graphModel.ts";
import { ROOMY } from "./layout.ts";
import type { LayoutWorker } from "./layoutClient.ts";
import { createLayoutClient } from "./layoutClient.ts";

const key = { model: "m", stage: { backend: "cpu", step: "built" }, phase: "decode" } as const;
const model = createGraphModel(decoderGraph({ ...QWEN_SHAPE, layers: 2, oddLayers: [] }, key));
const state = { open: new Set<number>(), classes: new Uint32Array(0) };

it("says that the worker broke instead of waiting for it, and starts another", async () => {
  const fail: ((message: string) => void)[] = [];
  let ended = 0;
  const broken = (): LayoutWorker => ({
    postMessage: () => undefined,
    onAnswer: () => undefined,
    onError: (listener) => fail.push(listener),
    terminate: () => (ended += 1),
  });
  const client = createLayoutClient(broken);
  const first = client.layout(model, state, ROOMY);
  fail[0]?.("out of memory");
  await expect(first).rejects.toThrow("[layout] out of memory");
  expect(ended).toBe(1);
  const second = client.layout(model, state, ROOMY);
  expect(fail).toHaveLength(2);
  fail[1]?.("again");
  await expect(second).rejects.toThrow("again");
});

it("sends a graph once, whatever bytes its nodes read", () => {
  const kinds: string[] = [];
  const client = createLayoutClient(() => ({
    postMessage: ({ kind }) => void kinds.push(kind),
    onAnswer: () => undefined,
    onError: () => undefined,
    terminate: () => undefined,
  }));
  const other = withBytesRead(model, key, new Float32Array(model.view.nodeCount));
  for (const each of [model, other]) void client.layout(each, state, ROOMY);
  expect(kinds).toEqual(["graph", "layout", "layout"]);
});
