// The oracle itself: values cross unharmed, each family answers, a failure is an answer.
import { describe, expect, it } from "vitest";
import {
  OracleError,
  ggmlDequantize,
  ggmlQuantize,
  ggufPackageDequantize,
  jaxJvp,
  jaxVjp,
  jinjaRender,
  milEval,
  mlxEval,
  numbersOf,
  numpyEval,
  oracleMissing,
  tensor,
} from "./oracle.ts";

const missing = oracleMissing();

describe.skipIf(missing)(`python oracle ${missing ?? ""}`, () => {
  it("carries every dtype there and back", async () => {
    for (const dtype of ["bool", "u8", "i8", "i16", "i32", "i64", "u32", "f16", "bf16", "f32", "f64"]) {
      const [back] = await numpyEval("x", { x: tensor(dtype, [2, 1], [1, 0]) });
      expect(back).toEqual({ dtype, shape: [2, 1], data: Float64Array.of(1, 0) });
    }
    const [complex] = await numpyEval("x * 1j", { x: tensor("c64", [1], [3, 4]) });
    expect(complex).toEqual({ dtype: "c64", shape: [1], data: Float64Array.of(-4, 3) });
  });

  it("rounds to the dtype in Python, not here", async () => {
    const [half] = await numpyEval("x", { x: tensor("f16", [1], [0.1]) });
    expect(half?.data[0]).toBe(0.0999755859375);
  });

  it("refuses to give back an integer that a number cannot hold", () => {
    expect(() => numbersOf(BigInt64Array.of(2n ** 60n + 1n))).toThrow(/not exact/);
  });

  it("gives scalars, empty arrays, tuples and non-finite numbers", async () => {
    const answers = await numpyEval("(np.float32(np.inf), np.zeros((0, 3)), -x)", { x: 2 });
    expect(answers.map(({ shape, data }) => [shape, [...data]])).toEqual([
      [[], [Infinity]],
      [[0, 3], []],
      [[], [-2]],
    ]);
  });

  it("differentiates with JAX in float64", async () => {
    const x = tensor("f64", [3], [0.5, 1, 2]);
    const { value, gradients } = await jaxVjp("jnp.sum(jnp.sin(x) * y)", { x, y: 3 }, [tensor("f64", [], [1])], ["x"]);
    expect(value[0]?.data[0]).toBeCloseTo(3 * (Math.sin(0.5) + Math.sin(1) + Math.sin(2)), 14);
    for (const [i, v] of [0.5, 1, 2].entries()) expect(gradients["x"]?.data[i]).toBeCloseTo(3 * Math.cos(v), 14);
    const { tangent } = await jaxJvp("x ** 3", { x: 2 }, { x: 1 });
    expect(tangent[0]?.data[0]).toBeCloseTo(12, 14);
  });

  it("runs MLX", async () => {
    const [out] = await mlxEval("mx.fast.rms_norm(x, None, 0.0)", { x: tensor("f32", [2], [3, 4]) });
    expect(out?.data[0]).toBeCloseTo(3 / Math.sqrt(12.5), 6);
  });

  it("packs with ggml and unpacks with ggml and the gguf package to the same bits", async () => {
    const values = Float32Array.from({ length: 512 }, (_, i) => Math.sin(i * 0.37) * 2);
    for (const type of ["f16", "bf16", "q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q4_k", "q5_k", "q6_k"]) {
      const packed = await ggmlQuantize(type, values, [2, 256]);
      const unpacked = await ggmlDequantize(type, packed, 512);
      expect(await ggufPackageDequantize(type, packed, [2, 256]), type).toEqual(unpacked);
      expect(Math.max(...unpacked.map((v, i) => Math.abs(v - (values[i] ?? 0)))), type).toBeLessThan(0.26);
    }
    await expect(ggmlDequantize("q4_k", new Uint8Array(10), 256)).rejects.toThrow(/got 10 bytes/);
  });

  it("evaluates MIL ops, packed constants too, and says where coremltools cannot", async () => {
    const [relu] = await milEval("relu", { x: tensor("f32", [2], [1, -2]) });
    expect(relu).toEqual({
      value: { dtype: "f32", shape: [2], data: Float64Array.of(1, 0) },
      dtype: "fp32",
      shape: [2],
    });
    const [shifted] = await milEval("constexpr_blockwise_shift_scale", {
      data: tensor("i8", [1, 2], [3, -4]),
      scale: tensor("f16", [1, 1], [0.5]),
    });
    expect(shifted?.value).toEqual({ dtype: "f16", shape: [1, 2], data: Float64Array.of(1.5, -2) });
    const [soft] = await milEval("instance_norm", { x: tensor("f32", [1, 1, 2], [1, 2]) });
    expect(soft).toEqual({ value: null, dtype: "fp32", shape: [1, 1, 2] });
  });

  it("renders chat templates", async () => {
    expect(await jinjaRender("{%- for m in ms %}{{ m | tojson }}{% endfor %}", { ms: [{ a: "ä" }] })).toBe(
      '{"a": "ä"}',
    );
  });

  it("answers a wrong question with its error and goes on", async () => {
    await expect(numpyEval("no_such_name")).rejects.toThrow(OracleError);
    expect((await numpyEval("np.float64(1)"))[0]?.data[0]).toBe(1);
  });

  it("takes several questions at once", async () => {
    const answers = await Promise.all([1, 2, 3].map((x) => numpyEval("x + 0.5", { x })));
    expect(answers.map(([value]) => value?.data[0])).toEqual([1.5, 2.5, 3.5]);
  });
});
