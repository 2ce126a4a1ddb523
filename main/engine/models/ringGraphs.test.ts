// The graphs that the window shows keep keys and values as what runs them does: rings in our own engines, whole caches in packages.
import { expect, it } from "vitest";
import type { Backend } from "../../contract/views/graph.ts";
import { BUILT, LEGAL } from "../../contract/views/graph.ts";
import { bindDim } from "../../ir/dim.ts";
import { gemma3 } from "../../models/families/gemma3.ts";
import { sampleHeader } from "../../testing/toyFiles.ts";
import { stagedGraph } from "./graphs.ts";
import { OpenModel } from "./openModel.ts";

const CONTEXT = 2048;

/** Rows of the caches of a graph, each once. */
async function rowsOf(backend: Backend, step: string, context: number, rings = true): Promise<readonly number[]> {
  const sample = gemma3.samples.find(({ title }) => title.startsWith("seven layers"))!;
  const keys = { ...sample.keys, context_length: CONTEXT };
  const file = await sampleHeader(gemma3, { ...sample, keys });
  const init = { kind: "model", file, data: { kind: "none" }, argument: null, openedInSeconds: 0 } as const;
  const model = new OpenModel("m", { ...init, offer: undefined }, { rings });
  const pipeline = { backend, phase: "decode", context, precision: "f32", dispatch: "prefer-native" } as const;
  const { graph, bindings } = await stagedGraph(model, step, pipeline, new AbortController().signal);
  const rows = graph.states.map(({ input }) => Number(bindDim(graph.nodes[input]!.outputs[0]!.shape[1]!, bindings)));
  await model.dispose();
  return [...new Set(rows)];
}

it.each([BUILT, LEGAL])(
  "%s: the newest positions of layers with a window, for the CPU engine and MLX",
  async (step) => {
    // 23 positions before a token's own and a step of 512, in blocks of 256; one layer of seven sees all.
    for (const backend of ["cpu", "mlx"] as const) {
      expect(await rowsOf(backend, step, CONTEXT)).toEqual([768, CONTEXT]);
      expect(await rowsOf(backend, step, 100)).toEqual([100]);
      expect(await rowsOf(backend, step, CONTEXT, false)).toEqual([CONTEXT]);
    }
    expect(await rowsOf("coreml", step, CONTEXT)).toEqual([CONTEXT]);
  },
);
