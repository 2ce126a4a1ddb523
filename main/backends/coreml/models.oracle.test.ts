// Whole decoders as packages: exported to disk, accepted by coremltools, and run by the simulator against the float64
// reference on the same file. The exact profile gives its tokens; fp16 profiles stay within 1e-3 of its distribution.
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { requireDecoder } from "../../models/architecture.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
import { openGguf } from "../../formats/gguf/open.ts";
import { dequantize } from "../../formats/quant/dequantize.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostScalar, hostTensor } from "../../ir/hostTensor.ts";
import { INPUTS, LOGITS } from "../../models/blocks.ts";
import { openFileSource } from "../../node/files/fileByteSource.ts";
import { finish } from "../../ir/steps.ts";
import { packageReader, packageWriter } from "../../node/files/packageDirectory.ts";
import { evaluate } from "../../ops/evaluate.ts";
import { decoderExport, decoderTemplate, weightsOf } from "../../testing/decoderExport.ts";
import { oracleMissing, validatePackage, packageInputs } from "../../testing/oracle.ts";
import { repositoryRoot } from "../../testing/oracleProcess.ts";
import { writeRandomModel } from "../../testing/randomModel.ts";
import type { ExportReport, ExportRequest } from "./export.ts";
import { bindingsOf, exportPackage, preview } from "./export.ts";
import type { ShapeFlexibility } from "./flexible.ts";
import type { PlanTarget } from "./plan/target.ts";
import type { MilConstant, MilFunction } from "./mil/types.ts";
import { elementCount, nestedOperations } from "./mil/types.ts";
import { openPackage } from "./package.ts";
import { PackageDecoder } from "./package/packageDecoder.ts";
import { Simulator } from "./simulator/simulator.ts";
import type { WeightProfile } from "./weights/forms.ts";

const folder = mkdtempSync(join(tmpdir(), "rlx-models-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const NAMES = { tokens: INPUTS.tokens, past: INPUTS.past, rows: INPUTS.rows, logits: LOGITS };
const CONTEXT = 96;
const missing = oracleMissing();

async function makeFile(preset: string, type: string, tied?: boolean): Promise<GgufFile> {
  const path = join(folder, `${preset}-${type}-${tied}.gguf`);
  const tying = tied === undefined ? [] : [tied ? "--tied" : "--no-tied"];
  await writeRandomModel("--preset", preset, "--type", type, "--out", path, ...tying);
  return openGguf(await openFileSource(path));
}

const TEMPLATE = { context: CONTEXT, cacheType: "f32", largestRows: 64 } as const;
const request = (
  file: GgufFile,
  profile: WeightProfile,
  flexibility: ShapeFlexibility = "fixed",
  os: PlanTarget["os"] = "macos15",
): ExportRequest => decoderExport(file, { ...TEMPLATE, profile, flexibility, os, verify: true });

async function exported(
  file: GgufFile,
  profile: WeightProfile,
  flexibility: ShapeFlexibility = "fixed",
  os: PlanTarget["os"] = "macos15",
): Promise<{ readonly path: string; readonly report: ExportReport }> {
  const path = join(folder, `${file.name}-${profile}-${flexibility}-${os}.mlpackage`);
  const report = await exportPackage(request(file, profile, flexibility, os), {
    directory: await packageWriter(path),
    weights: weightsOf(file),
  });
  return { path, report };
}

/** Log-probabilities of every position by the reference, one token at a time. */
async function referenceRows(file: GgufFile, tokens: readonly number[]): Promise<readonly Float64Array[]> {
  const weights = new Map<string, HostTensor>();
  for (const tensor of file.tensors)
    weights.set(
      tensor.name,
      hostTensor(
        "f32",
        tensor.shape,
        dequantize(tensor.type.element ?? "f32", await file.readTensor(tensor), tensor.elements),
      ),
    );
  const result = finish(
    evaluate(decoderTemplate(file, TEMPLATE), {
      inputs: {
        [INPUTS.tokens]: hostTensor("i32", [tokens.length], tokens),
        [INPUTS.past]: hostScalar("i32", 0),
        [INPUTS.rows]: hostTensor(
          "i32",
          [tokens.length],
          tokens.map((_, i) => i),
        ),
      },
      bindings: { capacity: CONTEXT },
      param: (name) => weights.get(name) ?? hostScalar("f32", NaN),
    }),
  );
  const logits = result.outputs[LOGITS];
  const width = logits?.shape[1] ?? 1;
  return tokens.map((_, i) => logProbabilities(logits?.data.subarray(i * width, (i + 1) * width) ?? []));
}

function logProbabilities(row: ArrayLike<number>): Float64Array {
  const largest = Math.max(...Array.from(row));
  const total = largest + Math.log(Array.from(row).reduce((sum, x) => sum + Math.exp(x - largest), 0));
  return Float64Array.from(row, (x) => x - total);
}

const divergence = (exact: Float64Array, other: Float64Array): number =>
  exact.reduce((sum, p, i) => sum + Math.exp(p) * (p - (other[i] ?? NaN)), 0);
const best = (row: Float64Array): number => row.reduce((at, x, i) => (x > (row[at] ?? -Infinity) ? i : at), 0);

/** Where a function's constants lie in the weight file, each with its number of elements. */
function recordsOf(functions: readonly MilFunction[]): Map<number, number> {
  const records = new Map<number, number>();
  const add = ({ type, data }: MilConstant): void =>
    void (data.kind === "blob" && records.set(data.offset, elementCount(type.shape)));
  for (const { operations } of functions)
    for (const op of operations.flatMap((outer) => [outer, ...nestedOperations(outer)])) {
      if (op.value) add(op.value);
      for (const [, bindings] of op.inputs) for (const b of bindings) if (b.kind === "value") add(b.value);
    }
  return records;
}

describe.skipIf(missing)(`decoders as packages ${missing ?? ""}`, () => {
  it.each([
    { preset: "tiny-qwen3", tied: true },
    { preset: "tiny-llama3", tied: false },
  ])(
    "$preset: both functions read the same records, an embedding that is the output too is one of them",
    async (the) => {
      const file = await makeFile(the.preset, "q4_k_m", the.tied);
      const { vocabulary, width, tiedEmbedding } = requireDecoder(file);
      expect(tiedEmbedding).toBe(the.tied);
      for (const profile of ["exact", "gpu", "ane"] as const) {
        const { path } = await exported(file, profile);
        const reader = packageReader(path);
        const { program } = await openPackage(reader);
        await reader.close();
        const [first, second] = program.functions.map((f) => recordsOf([f]));
        const tables = (records = new Map<number, number>()): number[] =>
          [...records].filter(([, count]) => count === vocabulary * width).map(([offset]) => offset);
        expect(tables(first)).toHaveLength(the.tied ? 1 : 2);
        expect(tables(second)).toEqual(tables(first));
        // What only one of them has (a table of positions for its steps) is less than a layer's matrix.
        const own = [...(first ?? []), ...(second ?? [])].filter(
          ([offset]) => !(first?.has(offset) && second?.has(offset)),
        );
        for (const [, count] of own) expect(count).toBeLessThan(width * width);
      }
      await file.close();
    },
  );

  for (const [preset, type] of [
    ["tiny-qwen3", "q4_k_m"],
    ["tiny-llama3", "q8_0"],
    ["tiny-qwen2", "f16"],
    ["tiny-odd", "q4_k_m"],
  ] as const)
    it(
      `${preset} ${type}: valid in every profile; prefill and decode agree with the reference`,
      { timeout: 240_000 },
      async () => {
        const file = await makeFile(preset, type);
        const tokens = Array.from({ length: 76 }, (_, i) => (i * 37 + 11) % requireDecoder(file).vocabulary);
        const exact = await referenceRows(file, tokens);
        for (const profile of ["exact", "gpu", "ane"] as const) {
          const { path, report } = await exported(file, profile);
          const findings = await validatePackage(path);
          expect(findings.rows.filter(([severity]) => severity !== "I")).toEqual([]);
          expect(report.functions).toEqual(["decode", "prefill"]);
          expect(finish(preview(request(file, profile))).weightBytes).toBe(report.weightBytes);
          const reader = packageReader(path);
          const opened = await openPackage(reader);
          const decoder = new PackageDecoder(new Simulator(opened), bindingsOf(opened.userDefined), NAMES);
          expect(decoder.capacity).toBe(CONTEXT);
          // 64 tokens through the bucket, then a short prompt through it with rows left over, then single ones.
          const rows: [number, Float64Array][] = [];
          const take = async (from: number, to: number): Promise<void> => {
            const logits = await decoder.step(Int32Array.from(tokens.slice(from, to)), from, [to - from - 1]);
            rows.push([to - 1, logProbabilities(logits)]);
          };
          await take(0, 64);
          const fork = await decoder.fork();
          for (let at = 64; at < tokens.length; at++) await take(at, at + 1);
          const short = await fork.step(Int32Array.from(tokens.slice(64, 70)), 64, [5]);
          rows.push([69, logProbabilities(short)]);
          await reader.close();
          const kl = rows.map(([at, row]) => divergence(exact[at] ?? row, row));
          const mean = kl.reduce((a, b) => a + b, 0) / kl.length;
          if (profile === "exact") {
            expect(Math.max(...kl)).toBeLessThan(1e-8);
            for (const [at, row] of rows) expect(best(row)).toBe(best(exact[at] ?? row));
          } else expect(mean).toBeLessThan(1e-3);
        }
        await file.close();
      },
    );

  it.each([
    ["tiny-qwen3", "q4_k_m"],
    ["tiny-llama3", "q8_0"],
    ["tiny-odd", "q4_k_m"],
  ] as const)(
    "%s %s with one flexible function: valid in every profile, and steps of any size agree with the reference",
    { timeout: 240_000 },
    async (preset, type) => {
      const file = await makeFile(preset, type);
      const tokens = Array.from({ length: 76 }, (_, i) => (i * 37 + 11) % requireDecoder(file).vocabulary);
      const exact = await referenceRows(file, tokens);
      const listed = [1, 2, 4, 8, 16, 32, 61].map((size) => [size]);
      for (const [profile, flexibility, os] of [
        ["exact", "native", "macos15"],
        ["gpu", "inputs", "macos15"],
        // Before it can be asked to optimise for each shape, the Neural Engine refuses a range.
        ["ane", "inputs", "macos14"],
      ] as const) {
        const { path, report } = await exported(file, profile, flexibility, os);
        const said = os === "macos15" ? { range: [[1, 61]], enumerated: null } : { range: null, enumerated: listed };
        expect((await packageInputs(path))["main"]?.["tokens"]).toEqual({ shape: [1], ...said });
        const findings = await validatePackage(path);
        expect(findings.rows.filter(([severity]) => severity !== "I")).toEqual([]);
        expect(report.functions).toEqual(["main"]);
        const reader = packageReader(path);
        const opened = await openPackage(reader);
        const decoder = new PackageDecoder(new Simulator(opened), bindingsOf(opened.userDefined), NAMES);
        const kl: number[] = [];
        let at = 0;
        // Steps of one, of a few, of the most, of none of the sizes that it was lowered at.
        for (const size of [7, 1, 61, 2, 5]) {
          at += size;
          const logits = await decoder.step(Int32Array.from(tokens.slice(at - size, at)), at - size, [size - 1]);
          const row = logProbabilities(logits);
          kl.push(divergence(exact[at - 1] ?? row, row));
        }
        await reader.close();
        if (profile === "exact") expect(Math.max(...kl)).toBeLessThan(1e-8);
        else expect(kl.reduce((a, b) => a + b, 0) / kl.length).toBeLessThan(1e-3);
      }
      await file.close();
    },
  );

  const sample = join(repositoryRoot, "assets/models/rlx-sample.gguf");
  it("the sample model is valid in every profile", { timeout: 240_000 }, async () => {
    const file = await openGguf(await openFileSource(sample));
    for (const profile of ["exact", "gpu", "ane"] as const) {
      const { path } = await exported(file, profile);
      const findings = await validatePackage(path);
      expect(findings.rows.filter(([severity]) => severity !== "I")).toEqual([]);
    }
    await file.close();
  });

  it("a cancel while weights are written leaves nothing", async () => {
    const file = await makeFile("tiny-qwen3", "q8_0");
    const path = join(folder, "cancelled.mlpackage");
    const abort = new AbortController();
    const run = exportPackage(request(file, "gpu"), {
      directory: await packageWriter(path),
      weights: weightsOf(file),
      signal: abort.signal,
      onProgress: (p) => {
        if (p.kind === "progress") abort.abort();
      },
    });
    await expect(run).rejects.toMatchObject({ code: "CANCELLED" });
    expect(readdirSync(folder).join()).not.toMatch(/cancelled/);
    await file.close();
  });
});
