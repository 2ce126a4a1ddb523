// Parameters in memory and variables on the CPU engine and MLX, against what they were set to; experts of a packed weight against
// the reference unpacking.
import { describe, expect, it } from "vitest";
import type { MlxEngine, MlxMode } from "../backends/mlx/engine.ts";
import { MLX_MODES } from "../backends/mlx/engine.ts";
import { dequantize } from "../formats/quant/dequantize.ts";
import { GraphBuilder } from "../ir/builder.ts";
import { tensor } from "../ir/type.ts";
import type { Graph } from "../ir/graph.ts";
import { loadAddon } from "../node/native/addon.ts";
import { findMlxEngine } from "../node/native/mlxAddon.ts";
import { opTable, typedBuilder } from "../ops/index.ts";
import { memoryGraph, yOf } from "../testing/memoryGraph.ts";
import { reasonNotFound } from "../testing/skipping.ts";
import { packedBytes, weightFile } from "../testing/weightFile.ts";
import type { CompiledGraph } from "./device.ts";
import { cpuDevice } from "./devices/cpu.ts";
import type { MlxDevice } from "./devices/mlx.ts";
import { mlxDevice } from "./devices/mlx.ts";

async function proveMemory(compile: (graph: Graph) => CompiledGraph): Promise<void> {
  const compiled = compile(memoryGraph());
  const session = compiled.open();
  await expect(yOf(session, [1, 1, 1])).rejects.toMatchObject({ code: "INPUT_ARGUMENT" });
  session.params?.setParam("w", [1, 2, 3, 4, 5, 6]);
  expect(await yOf(session, [1, 1, 1])).toEqual([6.5, 15.5]);
  session.params?.setParamTyped("w", "f32", Float32Array.of(0, 0, 1, 0, 0, 2));
  expect(await yOf(session, [1, 1, 1])).toEqual([1.5, 2.5]);
  expect(await yOf(session, [1, 1, 1], "v_next")).toEqual([13]);
  const fork = await session.fork(0);
  expect(await yOf(fork, [0, 0, 1], "v_next")).toEqual([14]);
  const saved = await fork.save(0);
  await session.reset();
  expect(await yOf(session, [0, 0, 1], "v_next")).toEqual([11]);
  await session.restore(0, saved);
  expect(await yOf(session, [0, 0, 1], "v_next")).toEqual([15]);
  for (const each of [fork, session, compiled]) each.dispose();
}

describe("parameters are set before and between runs, variables start with their value and go on in a fork", () => {
  it("cpu", () => proveMemory((graph) => cpuDevice(loadAddon(), { threads: 2 }).compile(graph)));

  const found = findMlxEngine();
  const missing = reasonNotFound(found);
  const onMlx = (mode: MlxMode): MlxDevice => mlxDevice(found as MlxEngine, { mode });
  describe.skipIf(missing !== undefined)(`mlx ${missing ?? ""}`, () => {
    it.each(MLX_MODES)("%s", (mode) => proveMemory((graph) => onMlx(mode).compile(graph)));

    it("runs into the caller's arrays, and runs that are not waited for", async () => {
      const compiled = onMlx("lazy").compile(memoryGraph());
      const session = compiled.open();
      session.params?.setParam("w", [1, 2, 3, 4, 5, 6]);
      const inputs = { x: Float32Array.of(1, 1, 1) };
      const y = new Float32Array(2);
      await session.runSlots({ inputs }, { y: new Uint8Array(y.buffer) });
      expect([...y]).toEqual([6.5, 15.5]);
      await session.commitNoWait({ inputs, fetch: ["v_next"] });
      const { outputs } = await session.syncPending();
      expect([...new Float32Array(outputs["v_next"]!.bytes.buffer)]).toEqual([12]);
      session.dispose();
      compiled.dispose();
    });
  });
});

it.each(["q8_0", "q4_k"] as const)("experts of a %s weight of rank 3 are gathered by number", async (type) => {
  const [experts, rows, columns] = [5, 3, 256];
  const builder = new GraphBuilder(opTable, "experts");
  const g = typedBuilder(builder);
  const w = builder.param("w", tensor(type, [experts, rows, columns]), { file: "f", tensor: "w" });
  const ids = builder.input("ids", tensor("i32", ["T"]));
  builder.output("y", g.gather([w, ids], { axis: 0 }));
  builder.output("whole", g.dequantize([w]));
  const graph = builder.finish();
  const bytes = packedBytes(type, experts * rows * columns, 7);
  const file = weightFile(graph, () => bytes);
  const compiled = cpuDevice(loadAddon(), { threads: 2, weights: file }).compile(graph);
  const session = compiled.open();
  const { outputs } = await session.run({ inputs: { ids: Int32Array.of(4, 0, 4) }, fetch: ["y", "whole"] });
  const all = Float32Array.from(dequantize(type, bytes, experts * rows * columns));
  const expert = (index: number): Float32Array => all.subarray(index * rows * columns, (index + 1) * rows * columns);
  const floats = (name: string): Float32Array => new Float32Array(outputs[name]!.bytes.buffer);
  expect(outputs["y"]?.shape).toEqual([3, rows, columns]);
  expect(floats("y")).toEqual(Float32Array.from([...expert(4), ...expert(0), ...expert(4)]));
  expect(floats("whole")).toEqual(all);
  session.dispose();
  compiled.dispose();
  file.remove();
});
