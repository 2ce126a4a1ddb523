// The reference device: a decoder on it in steps, its states, what it refuses, and that it never hides how slow it is.
import { finish } from "../../ir/steps.ts";
import { beforeAll, describe, expect, it } from "vitest";
import { GraphBuilder } from "../../ir/builder.ts";
import type { Graph } from "../../ir/graph.ts";
import { hostScalar, hostTensor } from "../../ir/hostTensor.ts";
import { scalar, tensor } from "../../ir/type.ts";
import { INPUTS, LOGITS } from "../../models/blocks.ts";
import { evaluate } from "../../ops/evaluate.ts";
import { opTable, typedBuilder } from "../../ops/index.ts";
import { tinyArchitecture, tinyModel, tinyParam } from "../../testing/tinyModels.ts";
import { DecoderSession } from "../decoderSession.ts";
import type { CompiledGraph } from "../device.ts";
import type { GraphSession } from "../../ir/session.ts";
import { generate, GREEDY } from "../generate.ts";
import { parameterCount, REFERENCE_LIMIT, referenceDevice, referenceEstimate } from "./reference.ts";

const architecture = tinyArchitecture("qwen3");
const facts = { capacity: 16, vocabulary: architecture.vocabulary, chunk: 8, rewind: "positions" } as const;
let graph: Graph;
let compiled: CompiledGraph;
beforeAll(() => {
  graph = tinyModel("qwen3");
  compiled = referenceDevice({ param: tinyParam }).compile(graph);
});
const decoder = (): DecoderSession => new DecoderSession(compiled.open(), facts);

/** Logits of the last of these tokens, by one evaluation over all of them. */
function lastLogits(tokens: readonly number[]): Float64Array {
  const inputs = {
    [INPUTS.tokens]: hostTensor("i32", [tokens.length], tokens),
    [INPUTS.past]: hostScalar("i32", 0),
    [INPUTS.rows]: hostTensor("i32", [1], [tokens.length - 1]),
  };
  return finish(evaluate(graph, { inputs, param: tinyParam })).outputs[LOGITS]!.data;
}
const best = (row: Float64Array): number => row.indexOf(row.reduce((a, b) => Math.max(a, b)));
const logprob = (row: Float64Array, id: number): number =>
  row[id]! - Math.log(row.reduce((sum, x) => sum + Math.exp(x), 0));

describe("a decoder", () => {
  it("draws token by token what evaluations of the whole text draw", async () => {
    const text = [5, 17, 40];
    const want = [...text];
    while (want.length < 9) want.push(best(lastLogits(want)));
    const tokens: number[] = [];
    const letters = {
      endings: new Set<number>(),
      detokenizer: () => ({ push: String, open: () => false, flush: () => "" }),
    };
    for await (const event of generate(decoder(), letters, { prompt: text, sampling: GREEDY, maxTokens: 6 }))
      if (event.kind === "token") tokens.push(event.id);
    expect(tokens).toEqual(want.slice(3));
  });

  it("scores a text as those evaluations do, in one piece or many", async () => {
    const text = [5, 17, 40, 2, 9, 33];
    const want = text.map((id, i) => (i === 0 ? NaN : logprob(lastLogits(text.slice(0, i)), id)));
    const scores = async (chunk: number): Promise<Float32Array> =>
      new DecoderSession(compiled.open(), { ...facts, chunk }).score(text);
    for (const chunk of [1, 2, 8]) {
      const got = await scores(chunk);
      want.slice(1).forEach((value, i) => expect(got[i + 1]).toBeCloseTo(value, 5));
      expect(got[0]).toBeNaN();
    }
  });

  it("forks, saves, restores and resets its states", async () => {
    const session = decoder();
    await session.feed([5, 17, 40]);
    const fork = await session.fork();
    const saved = await session.save();
    const next = async (from: DecoderSession): Promise<Float32Array> => from.logits([7], [0]);
    const want = await next(session);
    await session.feed([1, 2]);
    expect(await next(fork)).toEqual(want);
    const other = decoder();
    await other.restore(saved);
    expect(other.tokens).toEqual([5, 17, 40]);
    expect(await next(other)).toEqual(want);
    expect(session.cacheBytes).toBeGreaterThan(0);
    session.truncate(0);
    await session.feed([5, 17, 40]);
    expect(await next(session)).toEqual(want);
  });
});

/** y = x + s, s' = y: a sum that grows. */
function adding(): Graph {
  const builder = new GraphBuilder(opTable, "adding");
  const g = typedBuilder(builder);
  const x = builder.input("x", tensor("f32", [2]));
  const state = builder.state("s", tensor("f32", [2]));
  const y = g.add([x, state]);
  builder.setState("s", y);
  builder.output("y", y);
  return builder.finish();
}

describe("states", () => {
  const run = async (session: GraphSession): Promise<number[]> => {
    const { outputs } = await session.run({ inputs: { x: Float32Array.of(1, 2) }, fetch: ["y"] });
    return [...new Float32Array(outputs["y"]!.bytes.buffer)];
  };
  it("start at zero, grow, go back, and are told in bytes", async () => {
    const session = referenceDevice().compile(adding()).open();
    expect(session.bytes(0)).toEqual({ reserved: 0, states: 0, used: 0 });
    const fresh = await session.save(0);
    expect([await run(session), await run(session)]).toEqual([
      [1, 2],
      [2, 4],
    ]);
    const saved = await session.save(0);
    expect(await run(session)).toEqual([3, 6]);
    await session.restore(0, saved);
    expect(await run(session)).toEqual([3, 6]);
    await session.restore(0, fresh);
    expect(await run(session)).toEqual([1, 2]);
    await session.reset();
    expect(await run(session)).toEqual([1, 2]);
    await expect(session.restore(0, new Uint8Array(5))).rejects.toMatchObject({ code: "INPUT_ARGUMENT" });
    expect(await run(session)).toEqual([2, 4]);
  });
});

describe("requests", () => {
  function typed(dtype: "bf16" | "i32" | "bool" | "f64" | "u8"): GraphSession {
    const builder = new GraphBuilder(opTable, "typed");
    const g = typedBuilder(builder);
    builder.output("y", g.cast([builder.input("x", tensor(dtype, ["T"]))], { to: "f32" }));
    return referenceDevice().compile(builder.finish()).open();
  }
  it("are read in the element type of the input, with symbols from their lengths", async () => {
    const read = async (session: GraphSession, x: ArrayBufferView): Promise<number[]> => {
      const { outputs } = await session.run({ inputs: { x }, fetch: ["y"] });
      return [...new Float32Array(outputs["y"]!.bytes.buffer)];
    };
    expect(await read(typed("i32"), Int32Array.of(-3, 4))).toEqual([-3, 4]);
    expect(await read(typed("bool"), Uint8Array.of(0, 1, 1))).toEqual([0, 1, 1]);
    expect(await read(typed("u8"), Uint8Array.of(200))).toEqual([200]);
    expect(await read(typed("f64"), Float64Array.of(0.5))).toEqual([0.5]);
    expect(await read(typed("bf16"), Uint16Array.of(0x3f80, 0x4000))).toEqual([1, 2]);
  });
  it("without an input, and cancelled ones, end with their code", async () => {
    const session = typed("i32");
    await expect(session.run({ inputs: {} })).rejects.toMatchObject({ code: "INPUT_ARGUMENT" });
    const cancelled = session.run({ inputs: { x: Int32Array.of(1) } }, AbortSignal.abort());
    await expect(cancelled).rejects.toMatchObject({ code: "CANCELLED" });
  });
  it("give what was asked for and nothing else", async () => {
    const session = typed("i32");
    const { outputs, profile } = await session.run({ inputs: { x: Int32Array.of(1) } });
    expect([outputs, profile]).toEqual([{}, undefined]);
  });
});

describe("size", () => {
  const large = (rows: number): Graph => {
    const builder = new GraphBuilder(opTable, "large");
    const g = typedBuilder(builder);
    const w = builder.param("w", tensor("f32", [rows, 1000]), { file: "f", tensor: "w" });
    builder.output("y", g.gather([w, builder.input("i", scalar("i32"))], { axis: 0 }));
    return builder.finish();
  };
  it("is told beforehand, and refused above the limit with what to do", () => {
    const [fits, not] = [large(REFERENCE_LIMIT / 1000), large(REFERENCE_LIMIT / 1000 + 1)];
    expect(parameterCount(fits)).toBe(REFERENCE_LIMIT);
    const { low, high } = referenceEstimate(parameterCount(fits));
    expect([low, high].map((seconds) => seconds.toFixed(1))).toEqual(["0.4", "2.5"]);
    expect(() => referenceDevice().compile(fits)).not.toThrow();
    expect(() => referenceDevice().compile(not)).toThrow(
      expect.objectContaining({ code: "ENV_NO_ADDON", hint: expect.stringContaining("build:native") }),
    );
    expect(referenceDevice().title).toMatch(/reference.*slow/);
  });
  it("names a step for every node that computes, with where it stands", () => {
    expect(compiled.device).toBe("reference");
    expect(compiled.steps).toHaveLength(graph.nodes.filter((node) => node.inputs.length > 0).length);
    expect(compiled.steps.every(({ op, kernel, nodes }) => op === kernel && nodes.length === 1)).toBe(true);
    expect(new Set(compiled.steps.map(({ label }) => label.split("/")[0]))).toContain("blk.1");
    expect(compiled.weightBytes).toBe(8 * parameterCount(graph));
  });
});
