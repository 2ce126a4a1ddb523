// Every op × sample through Core ML: lowered, written to disk, validated by coremltools, read back and simulated, against the
// float64 reference. fp32 (exact weights) and fp16 (packed weights; the ane profile, where its program is another).
import { finish } from "../../ir/steps.ts";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { legalise } from "../../compiler/legalise.ts";
import { dequantize } from "../../formats/quant/dequantize.ts";
import type { AttrRecord } from "../../ir/attributes.ts";
import { isFloat, isPacked } from "../../ir/dtype.ts";
import type { Graph } from "../../ir/graph.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { specialize } from "../../ir/specialize.ts";
import { packageReader } from "../../node/files/packageDirectory.ts";
import type { AnyOp, Sample } from "../../ops/defineOp.ts";
import { evaluate } from "../../ops/evaluate.ts";
import { OPS, opOf, opTable } from "../../ops/index.ts";
import { inputName, outputName, sampleGraph, sampleRun, sampleTensors } from "../../ops/sampleData.ts";
import type { RopeTableAttrs } from "../../ops/families/ropeFrequencies.ts";
import { ropeFrequencies } from "../../ops/families/ropeFrequencies.ts";
import { ggmlQuantize, oracleMissing } from "../../testing/oracle.ts";
import { writeValidPackage } from "../../testing/validPackage.ts";
import { roundToHalf } from "../../quant/half.ts";
import { rulesFrom } from "./hybrid/loweredGraph.ts";
import type { LoweredProgram } from "./lowering/lower.ts";
import { lowerProgram } from "./lowering/lower.ts";
import { openPackage } from "./package.ts";
import { Simulator } from "./simulator/simulator.ts";
import type { PackageTensor } from "./package/packageTensor.ts";
import { packageTensor } from "./package/packageTensor.ts";
import type { WeightProfile } from "./weights/forms.ts";
import { WEIGHT_PROFILES, floatOf } from "./weights/forms.ts";
import { readSmallParts } from "./weights/write.ts";

type AnySample = Sample<AttrRecord>;

const folder = mkdtempSync(join(tmpdir(), "rlx-ops-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const rules = rulesFrom((op) => opOf(op)?.backends.coreml);

/** The graph that Core ML gets, and why a node of it cannot run there. */
function legalGraph(op: AnyOp, sample: AnySample): { readonly graph: Graph; readonly refused: string | undefined } {
  const bound = finish(specialize(opTable, sampleGraph(op, sample), sample.bindings ?? {}));
  const { graph, blocked } = finish(legalise(bound, "coreml"));
  const [refused] = blocked.values();
  return { graph, refused };
}

const lower = (
  profile: WeightProfile,
  graph: Graph,
  small: ReadonlyMap<string, Uint8Array> = new Map(),
): LoweredProgram => finish(lowerProgram([{ name: "main", graph }], { rules, profile, opset: "CoreML8", small }));

let packages = 0;

async function runOn(profile: WeightProfile, op: AnyOp, sample: AnySample): Promise<void> {
  const { graph } = legalGraph(op, sample);
  // Packed operands become real blocks; the reference sees what they stand for.
  const blocks = new Map<string, Uint8Array>();
  const tensors = await Promise.all(
    sampleTensors(sample).map(async (t, i): Promise<HostTensor> => {
      const type = sample.inputs[i]?.type.dtype ?? "f32";
      if (!isPacked(type))
        return floatOf(profile) === "fp32" || !isFloat(t.dtype)
          ? t
          : hostTensor(t.dtype, t.shape, t.data.map(roundToHalf));
      const bytes = await ggmlQuantize(type, Float32Array.from(t.data), [
        t.data.length / (t.shape.at(-1) ?? 1),
        t.shape.at(-1) ?? 1,
      ]);
      blocks.set(inputName(i), bytes);
      return hostTensor("f32", t.shape, Float64Array.from(dequantize(type, bytes, t.data.length)));
    }),
  );
  const source = {
    read: (name: string, at: number, length: number) =>
      Promise.resolve((blocks.get(name) ?? new Uint8Array(0)).slice(at, at + length)),
    dequantize,
  };
  const lowered = lower(profile, graph, await readSmallParts(lower(profile, graph).plan, source));
  const path = join(folder, `${packages++}.mlpackage`);
  await writeValidPackage(path, lowered, source);

  const reader = packageReader(path);
  const simulator = new Simulator(await openPackage(reader));
  const run = sampleRun(sample, tensors);
  const bindings = lowered.functions[0]?.bindings ?? [];
  const inputs = Object.fromEntries(
    bindings
      .filter((b) => b.kind === "input")
      .map((b) => [b.feature, packageTensor(b.dtype, b.shape, run.inputs[b.name]?.data ?? [])]),
  );
  const made = await simulator.function().predict(inputs);
  await reader.close();
  const wanted = finish(evaluate(sampleGraph(op, sample), run)).outputs;
  const single = op.name === "rope_table" ? singleTables(sample, tensors) : wanted;
  for (const b of bindings.filter((f) => f.kind === "output")) {
    const got = made[b.feature];
    const want = (got?.dtype === "fp32" ? single : wanted)[b.name];
    expect(got?.data.length, b.name).toBe(want?.data.length);
    expectClose(got, want, b.name);
  }
}

/** fp16: 2e-3 relative RMS. fp32: each number to 1e-5 of itself, or of the tensor's RMS where terms cancel. The rest: equal. */
function expectClose(got: PackageTensor | undefined, want: HostTensor | undefined, name: string): void {
  // The fp32 program keeps a half of the graph at full width; the reference has rounded it.
  const halves = got?.dtype === "fp16" || want?.dtype === "f16";
  const rounded = halves ? roundToHalf : (x: number): number => x;
  const errors: number[] = [];
  const sizes: number[] = [];
  want?.data.forEach((exact, i) => {
    const [w, v] = [rounded(got?.data[i] ?? NaN), rounded(exact)];
    if (!Number.isFinite(v)) return expect(w, name).toBe(v);
    errors.push(Math.abs(w - v));
    sizes.push(Math.abs(v));
  });
  const scale = rms(sizes) || 1;
  if (got?.dtype === "fp16") return expect(rms(errors) / scale, `${name} relative RMS`).toBeLessThanOrEqual(2e-3);
  const worst = errors.reduce((most, error, i) => Math.max(most, error / Math.max(sizes[i] ?? 0, scale)), 0);
  expect(worst, `${name} relative error`).toBeLessThanOrEqual(got?.dtype === "fp32" ? 1e-5 : 0);
}

const rms = (numbers: readonly number[]): number =>
  Math.sqrt(numbers.reduce((sum, x) => sum + x * x, 0) / Math.max(1, numbers.length));

/**
 * The tables of angles as float32 has them: of thousands of radians it keeps few digits behind the point, and no program of
 * float32 can know more. Everything behind the angles stays exact.
 */
function singleTables(sample: AnySample, [positions, factors]: readonly HostTensor[]): Record<string, HostTensor> {
  const { frequencies, magnitude } = ropeFrequencies(sample.attrs as unknown as RopeTableAttrs);
  const angles = [...(positions?.data ?? [])].flatMap((position) =>
    frequencies.map((frequency, i) => {
      const straight = Math.fround(position * Math.fround(frequency));
      return factors === undefined ? straight : Math.fround(straight / (factors.data[i] ?? NaN));
    }),
  );
  const table = (turn: (angle: number) => number): HostTensor =>
    hostTensor(
      "f32",
      [positions?.data.length ?? 0, frequencies.length],
      angles.map((x) => magnitude * turn(x)),
    );
  return { [outputName(0)]: table(Math.cos), [outputName(1)]: table(Math.sin) };
}

/** Whole reasons, and the ops that may give them: "left to the host for now" is none. */
const PLATFORM =
  /^(Core ML has no ((float64|i64|u32) arithmetic|complex numbers|pooling by product|tensors without elements)|Core ML holds whole numbers as int32, which does not wrap at the size of (i8|u8|i16)|Core ML tensors have at most 5 dimensions, this one has \d+)$/;
const ON_BITS =
  /^Core ML has no operators on the bits of whole numbers: it runs as a host segment between Core ML models$/;
const ON_FACTORS =
  /^Core ML solves no systems and factors no matrices: this runs as a host segment between Core ML models$/;
const ON_WORDS =
  /^Core ML has no products of 32-bit words to make these numbers by: it runs as a host segment between Core ML models$/;
const ON_CODES =
  /^Core ML multiplies in floats, where sums of products of codes are not exact: it runs as a host segment between Core ML models$/;
const ON_COMPLEX = /^Core ML has no complex numbers: it runs as a host segment between Core ML models$/;
const HOST_OPS: Readonly<Record<string, RegExp>> = {
  ...Object.fromEntries(
    ["cholesky", "dense_solve", "det", "eigh", "logdet", "qr", "svd", "triangular_solve"].map((op) => [op, ON_FACTORS]),
  ),
  ...Object.fromEntries(["bernoulli", "rng_bits", "rng_normal", "rng_uniform"].map((op) => [op, ON_WORDS])),
  sample: /^Core ML draws no random numbers by a seed: it runs as a host segment between Core ML models$/,
  attention_packed: /^Core ML has no caches of packed blocks: choose f16$/,
  kv_append_packed: /^Core ML has no caches of packed blocks: choose f16$/,
  gaussian_splat_render:
    /^each pixel has a list of its own that ends when it is covered, which Core ML has no operator for: it runs as a host segment between Core ML models$/,
  qconv2d: ON_CODES,
  qmatmul: ON_CODES,
  from_complex: ON_COMPLEX,
  to_complex: ON_COMPLEX,
  log_mel:
    /^Core ML may compute in half precision, in which 1e-10 is 0 and its logarithm no number: it runs as a host segment between Core ML models$/,
  bit_and: ON_BITS,
  bit_or: ON_BITS,
  bit_xor: ON_BITS,
  shift_right: ON_BITS,
  fft: /^Core ML has no Fourier transform: it runs as a host segment between Core ML models$/,
  attention_block: /^the fusions of the CPU backend make it, and they run for the CPU only$/,
  linear_block: /^the fusions of the CPU backend make it, and they run for the CPU only$/,
  lstm: /^Core ML's lstm wants its weights at compile time, [^]* got 9: it is a host segment between Core ML models$/,
  custom: /^a function of the host program: it runs as a host segment between Core ML models$/,
};

const missing = oracleMissing();

describe.skipIf(missing)(`ops on Core ML ${missing ?? ""}`, () => {
  const refused: (readonly [op: string, reason: string])[] = [];
  const sameOnAne: Graph[] = [];
  for (const name of Object.keys(OPS)) {
    const op = opOf(name);
    if (op === undefined) continue;
    for (const sample of op.samples) {
      const { graph, refused: reason } = legalGraph(op, sample);
      if (reason !== undefined) {
        refused.push([name, reason]);
        continue;
      }
      const packed = sample.inputs.map(({ type }) => type.dtype).filter(isPacked);
      if (packed.length === 0) sameOnAne.push(graph);
      for (const profile of packed.length === 0 ? (["exact", "gpu"] as const) : WEIGHT_PROFILES)
        it(`${name} ${profile}: ${sample.title}`, () => runOn(profile, op, sample));
    }
  }

  it("without packed weights, ane's program is gpu's: what was valid there is valid here", () => {
    expect(sameOnAne.length).toBeGreaterThan(300);
    for (const graph of sameOnAne) expect(lower("ane", graph).program).toEqual(lower("gpu", graph).program);
  });

  it("only what Core ML has no numbers or operator for is left to the host", () => {
    const isKnown = ([op, reason]: (typeof refused)[number]): boolean =>
      [PLATFORM, HOST_OPS[op]].some((known) => known?.test(reason));
    expect(refused.filter((each) => !isKnown(each))).toEqual([]);
  });
});
