// Rows that go into packed caches, on the CPU engine and by the reference: the bytes that the gguf package packs them in.
import { describe, expect, it } from "vitest";
import { tensorBytes } from "../ir/hostBytes.ts";
import { hostTensor } from "../ir/hostTensor.ts";
import { finish } from "../ir/steps.ts";
import { loadAddon } from "../node/native/addon.ts";
import { integers, normal, sample, scalarInput } from "../ops/families/samples.ts";
import { evaluate } from "../ops/evaluate.ts";
import { opOf } from "../ops/index.ts";
import { outputName } from "../ops/sampleData.ts";
import { ggufPackageQuantize, oracleMissing } from "../testing/oracle.ts";
import { randomFloats, seededRandom } from "../testing/random.ts";
import { storedGraph } from "../testing/weightFile.ts";
import { cpuDevice } from "./devices/cpu.ts";

const missing = oracleMissing();
const [ROWS, SIZE] = [500, 128];

/** Rows of every size of number, some of one sign, with zeros, equal peaks of both signs and a row of nothing. */
function rows(): Float32Array {
  const values = randomFloats(seededRandom(11), ROWS * SIZE);
  return values.map((x, i) => {
    const row = Math.floor(i / SIZE);
    if (row === 7 || i % 17 === 0) return 0;
    if (row % 10 === 3) return i % 2 === 0 ? 0.75 : -0.75;
    return (row % 10 === 4 ? Math.abs(x) : x) * 2 ** ((row % 21) - 10);
  });
}

describe.skipIf(missing)(`rows as the gguf package packs them ${missing ?? ""}`, () => {
  it.each([
    ["q8_0", 34],
    ["q4_0", 18],
  ] as const)("%s: every byte", async (packing, block) => {
    const bytes = (SIZE / 32) * block;
    const op = opOf("kv_append_packed")!;
    const inputs = [integers(1, [1, ROWS, bytes], 0, 255, "u8"), normal(2, [ROWS, 1, SIZE]), scalarInput(0)];
    const graph = storedGraph(op, sample("rows", inputs, { packing }));
    const data = rows();
    const given = {
      x0: hostTensor("u8", [1, ROWS, bytes], new Float64Array(ROWS * bytes)),
      x1: hostTensor("f32", [ROWS, 1, SIZE], Float64Array.from(data)),
      x2: hostTensor("i32", [], Float64Array.of(0)),
    };
    const wanted = await ggufPackageQuantize(packing, data, [ROWS, SIZE]);
    const reference = finish(evaluate(graph, { inputs: given })).outputs[outputName(0)];
    expect(Uint8Array.from(reference?.data ?? [])).toEqual(wanted);

    const compiled = cpuDevice(loadAddon(), { threads: 2 }).compile(graph);
    const session = compiled.open();
    const { outputs } = await session.run({
      inputs: Object.fromEntries(Object.entries(given).map(([name, each]) => [name, tensorBytes(each)])),
      fetch: [outputName(0)],
    });
    expect(Uint8Array.from(outputs[outputName(0)]?.bytes ?? [])).toEqual(wanted);
    session.dispose();
    compiled.dispose();
  });
});
