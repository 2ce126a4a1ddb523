// Whole packages on disk: coremltools and our own validator accept them, the simulator runs them as
// read back, equal input gives equal bytes, and a failure or a cancel leaves nothing behind.
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { dequantize } from "../../formats/quant/dequantize.ts";
import type { ElementType } from "../../ir/dtype.ts";
import { PACKED_TYPES, isPacked } from "../../ir/dtype.ts";
import { packageReader, packageWriter } from "../../node/files/packageDirectory.ts";
import { ggmlDequantize, ggmlQuantize, oracleMissing, validatePackage } from "../../testing/oracle.ts";
import { f16ToF32 } from "../../quant/half.ts";
import { packedBytes } from "../../testing/weightFile.ts";
import { BlobPlan } from "./blob.ts";
import type { Flexibility } from "./features.ts";
import type { CacheMode } from "./lowering/functionEmitter.ts";
import { FunctionEmitter, stateShape } from "./lowering/functionEmitter.ts";
import { MilFunctionBuilder } from "./mil/builder.ts";
import { NameTable } from "./mil/names.ts";
import { printProgram } from "./mil/print.ts";
import type { MilOpset } from "./mil/types.ts";
import { tensorType } from "./mil/types.ts";
import type { PackageContents } from "./package.ts";
import { openPackage, writePackage } from "./package.ts";
import { SimState } from "./simulator/simFunction.ts";
import { Simulator } from "./simulator/simulator.ts";
import { packageTensor } from "./package/packageTensor.ts";
import type { PaletteWish, WeightProfile } from "./weights/forms.ts";
import { MAPPED_TYPES, PALETTE_BITS } from "./weights/forms.ts";
import { HalfCounts } from "./weights/palette.ts";
import { WeightPlan } from "./weights/plan.ts";
import { writeWeights } from "./weights/write.ts";

const folder = mkdtempSync(join(tmpdir(), "rlx-package-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const METADATA = { shortDescription: "test", author: "", license: "", version: "1", userDefined: { b: "2", a: "1" } };

interface Draft {
  readonly plan: WeightPlan;
  readonly opset: MilOpset;
  emitter(name: string, caches?: CacheMode): FunctionEmitter;
  contents(defaultFunction: string, flexible?: PackageContents["flexible"]): PackageContents;
  write(
    path: string,
    contents: PackageContents,
    weights?: ReadonlyMap<string, Uint8Array>,
    signal?: AbortSignal,
  ): Promise<void>;
}

function draft(profile: WeightProfile, opset: MilOpset = "CoreML8", palette?: PaletteWish): Draft {
  const plan = new WeightPlan(profile, new BlobPlan(), { palette });
  const emitters: FunctionEmitter[] = [];
  return {
    plan,
    opset,
    emitter(name, caches = "state") {
      const builder = new MilFunctionBuilder(name, opset, new NameTable());
      const float = profile === "exact" ? "fp32" : "fp16";
      const made = new FunctionEmitter(
        builder,
        plan,
        { float, caches, folds: new Map(), small: new Map(), picksByProduct: false, splitRows: new Map() },
        () => [],
      );
      emitters.push(made);
      return made;
    },
    contents: (defaultFunction, flexible) => ({
      program: { functions: emitters.map((e) => e.builder.finish()), buildInfo: { made: "by a test" } },
      opset,
      defaultFunction,
      metadata: METADATA,
      ...(flexible === undefined ? {} : { flexible }),
    }),
    async write(path, contents, weights = new Map(), signal) {
      const source = {
        read: (name: string, at: number, length: number) =>
          Promise.resolve((weights.get(name) ?? new Uint8Array(0)).slice(at, at + length)),
        dequantize,
      };
      const fill = async (sink: Parameters<typeof writeWeights>[2]): Promise<void> =>
        void (await writeWeights(plan, source, sink));
      await writePackage(await packageWriter(path), plan.blob, fill, () => contents, { signal });
    },
  };
}

let seed = 5;
const random = (): number => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32 - 0.5;
const randoms = (count: number): Float32Array => Float32Array.from({ length: count }, random);

const missing = oracleMissing();

async function expectValid(path: string): Promise<void> {
  const findings = await validatePackage(path);
  expect(findings.rows.filter(([severity]) => severity !== "I")).toEqual([]);
}

describe.skipIf(missing)(`packages ${missing ?? ""}`, () => {
  for (const profile of ["gpu", "ane", "exact"] as const)
    it(`every weight type, ${profile}: valid, and the simulator gives x·Wᵀ and rows of W`, async () => {
      const d = draft(profile);
      const e = d.emitter("main");
      const x = e.builder.input("x", tensorType(e.float, [3, 256]));
      const ids = e.builder.input("ids", tensorType("int32", [2]));
      const packedTypes: readonly ElementType[] = PACKED_TYPES;
      const types: readonly ElementType[] = [...packedTypes, "f16", "f32", "bf16"];
      const files = new Map<string, Uint8Array>();
      const exact = new Map<string, Float32Array>();
      for (const type of types) {
        const values = randoms(16 * 256);
        const packed = packedTypes.includes(type);
        const name = `blk.0.${type}.weight`;
        // ggml packs some types only with importances, and Q8_K not at all: those are random codes.
        const made = MAPPED_TYPES.some((mapped) => mapped === type);
        const bytes = made
          ? await ggmlQuantize(type, values, [16, 256])
          : isPacked(type)
            ? packedBytes(type, values.length, 7)
            : plainBytes(type, values);
        files.set(name, bytes);
        exact.set(
          type,
          packed ? await ggmlDequantize(type, bytes, values.length) : dequantize(type, bytes, values.length),
        );
        const w = e.weight({ name, type, shape: [16, 256] });
        e.builder.output(`y_${type}`, e.linear(x, w, e.constant(e.float, [16], new Float32Array(16).fill(0.5))));
        e.builder.output(`r_${type}`, e.rows(w, ids));
      }
      const path = join(folder, `weights-${profile}.mlpackage`);
      await d.write(path, d.contents("main"), files);
      await expectValid(path);
      const reader = packageReader(path);
      const simulator = new Simulator(await openPackage(reader));
      const input = packageTensor(e.float, [3, 256], randoms(3 * 256));
      const made = await simulator.function().predict({ x: input, ids: packageTensor("int32", [2], [6, 1]) });
      await reader.close();
      const tolerance = profile === "exact" ? 1e-6 : 3e-3;
      for (const type of types) {
        const w = exact.get(type) ?? new Float32Array(0);
        const want = Float32Array.from({ length: 48 }, (_, i) => {
          let sum = 0.5;
          for (let k = 0; k < 256; k++)
            sum += (input.data[Math.floor(i / 16) * 256 + k] ?? 0) * (w[(i % 16) * 256 + k] ?? 0);
          return sum;
        });
        expect(relative(made[`y_${type}`]?.data, want), `y ${type}`).toBeLessThan(tolerance);
        expect(
          relative(made[`r_${type}`]?.data, [...w.subarray(6 * 256, 7 * 256), ...w.subarray(256, 512)]),
          `rows ${type}`,
        ).toBeLessThan(tolerance);
      }
    });

  it.each(PALETTE_BITS.flatMap((bits) => (["CoreML7", "CoreML8"] as const).map((opset) => [bits, opset] as const)))(
    "a palette of %s bits in %s: valid, and the simulator gives x·Wᵀ and rows of what its tables hold",
    async (bits, opset) => {
      const d = draft("ane", opset, { bits, inBytes: opset === "CoreML7" });
      const e = d.emitter("main");
      const x = e.builder.input("x", tensorType("fp16", [1, 512]));
      const ids = e.builder.input("ids", tensorType("int32", [2]));
      const w = e.weight({ name: "w", type: "f16", shape: [32, 512] });
      e.builder.output("y", e.linear(x, w));
      e.builder.output("r", e.rows(w, ids));
      const bytes = plainBytes("f16", randoms(32 * 512));
      const path = join(folder, `palette-${bits}-${opset}.mlpackage`);
      await d.write(path, d.contents("main"), new Map([["w", bytes]]));
      await expectValid(path);
      // By hand: as if the tensor, or each group of 16 rows, was converted by itself.
      const halves = new Uint16Array(bytes.slice().buffer);
      const held = [0, 16].flatMap((first) => {
        const counts = new HalfCounts();
        const own = halves.subarray(first * 512, (first + 16) * 512);
        counts.add(opset === "CoreML7" ? halves : own);
        const { table, placeOf } = counts.palette(2 ** bits);
        return [...own].map((half) => f16ToF32(table[placeOf[half] ?? 0] ?? 0));
      });
      const reader = packageReader(path);
      const simulator = new Simulator(await openPackage(reader));
      const input = packageTensor("fp16", [1, 512], randoms(512));
      const made = await simulator.function().predict({ x: input, ids: packageTensor("int32", [2], [17, 1]) });
      await reader.close();
      expect([...(made["r"]?.data ?? [])]).toEqual([...held.slice(17 * 512, 18 * 512), ...held.slice(512, 1024)]);
      const want = Float32Array.from({ length: 32 }, (_, row) =>
        [...input.data].reduce((sum, value, k) => sum + value * (held[row * 512 + k] ?? NaN), 0),
      );
      expect(relative(made["y"]?.data, want)).toBeLessThan(3e-3);
    },
  );

  it("two functions share a state and a weight; attention over the growing cache equals attention over all keys", async () => {
    const d = draft("gpu");
    const [heads, groups, size, capacity] = [4, 2, 8, 32];
    for (const [name, rows] of [
      ["decode", 1],
      ["prefill", 4],
    ] as const) {
      const e = d.emitter(name);
      const half = (input: string, shape: readonly number[]): ReturnType<typeof e.builder.input> =>
        e.builder.input(input, tensorType("fp16", shape));
      const [q, k, v] = [
        half("q", [heads, rows, size]),
        half("k", [groups, rows, size]),
        half("v", [groups, rows, size]),
      ];
      const past = e.op("squeeze", { x: e.builder.input("past", tensorType("int32", [1])), axes: [0] });
      const cache = (state: string): ReturnType<typeof e.builder.input> =>
        e.readState(
          e.builder.input(state, { kind: "state", dtype: "fp16", shape: stateShape([groups, capacity, size]) }),
          size,
        );
      const [keys, values] = [e.appendToCache(cache("k_cache"), k, past), e.appendToCache(cache("v_cache"), v, past)];
      const y = e.attention({
        query: q,
        key: keys,
        value: values,
        past,
        causal: true,
        scale: 1 / Math.sqrt(size),
        softcap: 5,
      });
      e.builder.output("y", e.linear(y, e.weight({ name: "w", type: "f16", shape: [8, 8] })));
    }
    const path = join(folder, "state.mlpackage");
    const identity = new Uint16Array(64);
    for (let i = 0; i < 8; i++) identity[9 * i] = 0x3c00;
    await d.write(path, d.contents("decode"), new Map([["w", new Uint8Array(identity.buffer)]]));
    await expectValid(path);
    expect(d.plan.weights.length).toBe(1);
    const reader = packageReader(path);
    const opened = await openPackage(reader);
    expect(opened.functions.map((f) => [f.name, f.states.length])).toEqual([
      ["decode", 2],
      ["prefill", 2],
    ]);
    const simulator = new Simulator(opened);
    const total = 7;
    const all = {
      q: randoms(heads * total * size),
      k: randoms(groups * total * size),
      v: randoms(groups * total * size),
    };
    const rowsOf = (data: Float32Array, from: number, count: number): ReturnType<typeof packageTensor> => {
      const h = data.length / total / size;
      return packageTensor(
        "fp16",
        [h, count, size],
        Float32Array.from(
          { length: h * count * size },
          (_, i) => data[(Math.floor(i / (count * size)) * total + from) * size + (i % (count * size))] ?? 0,
        ),
      );
    };
    const state = new SimState();
    const want = fullAttention(all, heads, groups, total, size, 5);
    let at = 0;
    for (const [name, count] of [
      ["prefill", 4],
      ["decode", 1],
      ["decode", 1],
      ["decode", 1],
    ] as const) {
      const inputs = {
        q: rowsOf(all.q, at, count),
        k: rowsOf(all.k, at, count),
        v: rowsOf(all.v, at, count),
        past: packageTensor("int32", [1], [at]),
      };
      const { y } = await simulator.function(name).predict(inputs, { state });
      const expected = Float64Array.from(
        { length: heads * count * size },
        (_, i) => want[(Math.floor(i / (count * size)) * total + at) * size + (i % (count * size))] ?? 0,
      );
      expect(relative(y?.data, expected), `${name} at ${at}`).toBeLessThan(2e-3);
      at += count;
    }
    await reader.close();
  });

  it("functional caches give back the new keys, and old keys beyond `past` do not count", async () => {
    const d = draft("ane");
    const e = d.emitter("main", "functional");
    const input = (name: string, shape: readonly number[]): ReturnType<typeof e.builder.input> =>
      e.builder.input(name, tensorType("fp16", shape));
    const [q, k, v] = [input("q", [2, 3, 4]), input("k", [1, 3, 4]), input("v", [1, 3, 4])];
    const past = e.op("squeeze", { x: e.builder.input("past", tensorType("int32", [1])), axes: [0] });
    const [keys, values] = [
      e.appendToCache(e.passedCache(input("k_old", [1, 8, 4])), k, past),
      e.appendToCache(e.passedCache(input("v_old", [1, 8, 4])), v, past),
    ];
    e.builder.output(
      "y",
      e.attention({ query: q, key: keys, value: values, past, causal: true, scale: 0.5, window: 4 }),
    );
    const path = join(folder, "functional.mlpackage");
    await d.write(path, d.contents("main"));
    await expectValid(path);
    const reader = packageReader(path);
    const simulator = new Simulator(await openPackage(reader));
    const total = 5;
    const all = { q: randoms(2 * total * 4), k: randoms(total * 4), v: randoms(total * 4) };
    const rows = (
      data: Float32Array,
      h: number,
      from: number,
      count: number,
      padded = count,
    ): ReturnType<typeof packageTensor> =>
      packageTensor(
        "fp16",
        [h, padded, 4],
        Float32Array.from({ length: h * padded * 4 }, (_, i) => {
          const row = Math.floor(i / 4) % padded;
          // Rubbish beyond the valid keys must not matter.
          return row < count ? (data[(Math.floor(i / (padded * 4)) * total + from + row) * 4 + (i % 4)] ?? 0) : 30;
        }),
      );
    const made = await simulator.function().predict({
      q: rows(all.q, 2, 2, 3),
      k: rows(all.k, 1, 2, 3),
      v: rows(all.v, 1, 2, 3),
      k_old: rows(all.k, 1, 0, 2, 8),
      v_old: rows(all.v, 1, 0, 2, 8),
      past: packageTensor("int32", [1], [2]),
    });
    await reader.close();
    const want = fullAttention(all, 2, 1, total, 4, undefined, 4);
    const expected = Float64Array.from(
      { length: 24 },
      (_, i) => want[(Math.floor(i / 12) * total + 2) * 4 + (i % 12)] ?? 0,
    );
    expect(relative(made["y"]?.data, expected)).toBeLessThan(2e-3);
  });

  it("flexible inputs, enumerated and ranged, and older opsets", async () => {
    const shapes: readonly (readonly [MilOpset, Flexibility])[] = [
      [
        "CoreML8",
        {
          kind: "enumerated",
          shapes: [
            [1, 4],
            [8, 4],
            [64, 4],
          ],
        },
      ],
      [
        "CoreML7",
        {
          kind: "range",
          sizes: [
            [1, 64],
            [4, 4],
          ],
        },
      ],
      [
        "CoreML6",
        {
          kind: "range",
          sizes: [
            [1, 64],
            [4, 4],
          ],
        },
      ],
    ];
    for (const [opset, flexible] of shapes) {
      const d = draft("ane", opset);
      const e = d.emitter("main");
      const x = e.builder.input("x", tensorType("fp16", [null, 4]));
      const y = e.op("gelu", { x: e.op("softmax", { x: e.op("mul", { x, y: 2 }), axis: -1 }), mode: "EXACT" });
      e.builder.output("y", y);
      const path = join(folder, `flexible-${opset}.mlpackage`);
      await d.write(path, d.contents("main", { main: { x: flexible } }));
      await expectValid(path);
      const reader = packageReader(path);
      const opened = await openPackage(reader);
      expect(opened.functions[0]?.inputs[0]?.flexible).toEqual(flexible);
      const made = await new Simulator(opened).function().predict({ x: packageTensor("fp16", [5, 4], randoms(20)) });
      expect(made["y"]?.shape).toEqual([5, 4]);
      await reader.close();
    }
  });

  it("the same input gives the same bytes, replaces what was there, and a cancel leaves what was there", async () => {
    const make = async (path: string, signal?: AbortSignal): Promise<void> => {
      const d = draft("gpu");
      const e = d.emitter("main");
      e.builder.output(
        "y",
        e.linear(
          e.builder.input("x", tensorType("fp16", [1, 32])),
          e.weight({ name: "w", type: "q8_0", shape: [4, 32] }),
        ),
      );
      await d.write(path, d.contents("main"), new Map([["w", new Uint8Array(4 * 34).fill(7)]]), signal);
    };
    const [a, b] = [join(folder, "a.mlpackage"), join(folder, "b.mlpackage")];
    await make(a);
    await make(b);
    await make(b);
    const filesOf = (path: string): readonly string[] => (readdirSync(path, { recursive: true }) as string[]).sort();
    expect(filesOf(a)).toEqual(filesOf(b));
    for (const name of [
      "Manifest.json",
      "Data/com.apple.CoreML/model.mlmodel",
      "Data/com.apple.CoreML/weights/weight.bin",
    ])
      expect(readFileSync(join(a, name)).equals(readFileSync(join(b, name))), name).toBe(true);
    await expect(make(a, AbortSignal.abort())).rejects.toMatchObject({ code: "CANCELLED" });
    await expectValid(a);
    expect(readdirSync(folder).filter((name) => name.startsWith("."))).toEqual([]);
  });

  it("prints MIL that a person can read", () => {
    const d = draft("gpu");
    const e = d.emitter("main");
    e.builder.output("y", e.op("mul", { x: e.builder.input("x", tensorType("fp16", [1, 64])), y: 0.5 }));
    expect(printProgram(d.contents("main").program)).toBe(`program(1.0)
[buildInfo = dict<string, string>({{"made", "by a test"}})]
{
    func main<ios18>(tensor<fp16, [1, 64]> x) {
        fp16 c_y = const()[name = string("c_y"), val = fp16(0.5)];
        tensor<fp16, [1, 64]> mul = mul(x = x, y = c_y)[name = string("mul")];
        tensor<fp16, [1, 64]> y = identity(x = mul)[name = string("y")];
    } -> (y);
}
`);
  });
});

function plainBytes(type: string, values: Float32Array): Uint8Array {
  if (type === "f32") return new Uint8Array(values.buffer);
  const bits = new Uint32Array(values.buffer);
  const shorts =
    type === "bf16" ? Uint16Array.from(bits, (b) => b >>> 16) : Uint16Array.from(values, (v) => packageTensorHalf(v));
  return new Uint8Array(shorts.buffer);
}

/** 1.5, −0.25 …: a half for the f16 file, any will do. */
const packageTensorHalf = (v: number): number => (v < 0 ? 0x8000 : 0) | (0x3000 + Math.floor(Math.abs(v) * 2000));

function relative(actual: ArrayLike<number> | undefined, expected: ArrayLike<number>): number {
  let [error, total] = [0, 0];
  for (let i = 0; i < expected.length; i++) {
    error += ((actual?.[i] ?? NaN) - (expected[i] ?? 0)) ** 2;
    total += (expected[i] ?? 0) ** 2;
  }
  return Math.sqrt(error / total);
}

/**
 * softmax over keys j ≤ i (and within the window), written from the definition: [heads, total,
 * size].
 */
function fullAttention(
  all: { q: Float32Array; k: Float32Array; v: Float32Array },
  heads: number,
  groups: number,
  total: number,
  size: number,
  softcap?: number,
  window = Infinity,
): Float64Array {
  const out = new Float64Array(heads * total * size);
  for (let h = 0; h < heads; h++) {
    const g = Math.floor(h / (heads / groups));
    for (let i = 0; i < total; i++) {
      const scores = Array.from({ length: i + 1 }, (_, j) => {
        let dot = 0;
        for (let d = 0; d < size; d++)
          dot += (all.q[(h * total + i) * size + d] ?? 0) * (all.k[(g * total + j) * size + d] ?? 0);
        const s = dot / Math.sqrt(size);
        return j <= i - window ? -Infinity : softcap === undefined ? s : softcap * Math.tanh(s / softcap);
      });
      const sum = scores.reduce((t, s) => t + Math.exp(s), 0);
      for (let d = 0; d < size; d++)
        out[(h * total + i) * size + d] = scores.reduce(
          (t, s, j) => t + (Math.exp(s) / sum) * (all.v[(g * total + j) * size + d] ?? 0),
          0,
        );
    }
  }
  return out;
}
