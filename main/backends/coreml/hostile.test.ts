// A package is a file like any other: mutated models, manifests and paths end in coded errors, never in a crash or a hang.
import { describe, expect, it } from "vitest";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { finish } from "../../ir/steps.ts";
import { BlobPlan, MemorySink, memorySource, writeBlobFrame } from "./blob.ts";
import { MilFunctionBuilder } from "./mil/builder.ts";
import { NameTable } from "./mil/names.ts";
import type { MilValue } from "./mil/types.ts";
import { tensorType } from "./mil/types.ts";
import type { DirectoryReader } from "./package.ts";
import { MANIFEST_PATH, MODEL_PATH, WEIGHTS_PATH, manifestText, modelBytes, openPackage } from "./package.ts";
import { Simulator } from "./simulator/simulator.ts";
import { packageTensor } from "./package/packageTensor.ts";

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

async function goodFiles(): Promise<Map<string, Uint8Array>> {
  const blob = new BlobPlan();
  const record = blob.place("w", "fp16", 64);
  const builder = new MilFunctionBuilder("main", "CoreML8", new NameTable());
  const weight = builder.data({ type: tensorType("fp16", [8, 8]), data: { kind: "blob", offset: record.offset } }, "w");
  const y = builder.op("linear", { x: builder.input("x", tensorType("fp16", [1, 8])), weight });
  builder.output("y", builder.op("softmax", { x: y, axis: -1 }));
  const sink = new MemorySink();
  await writeBlobFrame(blob, sink);
  await sink.write(record.dataOffset, new Uint8Array(128));
  const metadata = { shortDescription: "", author: "", license: "", version: "", userDefined: {} };
  const program = { functions: [builder.finish()], buildInfo: {} };
  return new Map([
    [MANIFEST_PATH, encode(manifestText("test"))],
    [MODEL_PATH, finish(modelBytes({ program, opset: "CoreML8", defaultFunction: "main", metadata }))],
    [WEIGHTS_PATH, sink.bytes.slice()],
  ]);
}

const directory = (files: ReadonlyMap<string, Uint8Array>): DirectoryReader => ({
  file: (path) => {
    const bytes = files.get(path);
    return Promise.resolve(bytes === undefined ? undefined : memorySource(bytes));
  },
});

async function runOnce(files: ReadonlyMap<string, Uint8Array>): Promise<void> {
  const opened = await openPackage(directory(files));
  await new Simulator(opened).function().predict({ x: packageTensor("fp16", [1, 8], new Float32Array(8)) });
}

describe("hostile packages", () => {
  it("runs as it is", async () => {
    await expect(runOnce(await goodFiles())).resolves.toBeUndefined();
  });

  it(
    "3 000 mutations of the model and the weights end in coded errors or in numbers",
    { timeout: 120_000 },
    async () => {
      const good = await goodFiles();
      let seed = 4711;
      const random = (below: number): number =>
        (((seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32) * below) | 0;
      const foreign: string[] = [];
      for (let round = 0; round < 3000; round++) {
        const files = new Map(good);
        const path = round % 3 === 0 ? WEIGHTS_PATH : MODEL_PATH;
        const bytes = (good.get(path) ?? new Uint8Array(0)).slice();
        for (let n = 1 + random(4); n > 0; n--)
          bytes[random(Math.min(bytes.length, path === WEIGHTS_PATH ? 128 : bytes.length))] = random(256);
        files.set(path, round % 7 === 0 ? bytes.slice(0, random(bytes.length)) : bytes);
        await runOnce(files).catch((error: unknown) => {
          if (!(error instanceof WorkbenchError) || error.code.startsWith("BUG_"))
            foreign.push(`${round}: ${String(error)}`);
        });
      }
      expect(foreign).toEqual([]);
    },
  );

  /** A package of a few hundred bytes whose program asks for memory. */
  const asking = async (program: (b: MilFunctionBuilder) => MilValue, limit: number): Promise<void> => {
    const b = new MilFunctionBuilder("main", "CoreML8", new NameTable());
    b.output("y", program(b));
    const metadata = { shortDescription: "", author: "", license: "", version: "", userDefined: {} };
    const contents = { program: { functions: [b.finish()], buildInfo: {} }, opset: "CoreML8", metadata } as const;
    const files = new Map(await goodFiles()).set(
      MODEL_PATH,
      finish(modelBytes({ ...contents, defaultFunction: "main" })),
    );
    const opened = await openPackage(directory(files));
    const x = packageTensor("fp16", [1, 8], new Float32Array(8));
    await new Simulator(opened, limit).function().predict({ x });
  };
  const input = (b: MilFunctionBuilder): MilValue => b.input("x", tensorType("fp16", [1, 8]));
  const times = (b: MilFunctionBuilder, x: MilValue, n: number): MilValue => b.op("tile", { x, reps: [n, 1] });
  const MEGABYTES = 64e6;

  it.each<[string, (b: MilFunctionBuilder) => MilValue, RegExp]>([
    [
      "one result of 32 TB",
      (b) => times(b, input(b), 1e12),
      /^\[coreml-sim\] tile: got \d+ MB beside 1 MB that are held/,
    ],
    [
      "a state of 4 TB",
      (b) => {
        b.input("cache", { kind: "state", dtype: "fp16", shape: [1_000_000, 1_000_000] });
        return b.op("relu", { x: input(b) });
      },
      /^\[coreml-sim\] state cache: got 4000000 MB/,
    ],
    [
      "many results that are all kept",
      (b) => {
        const x = input(b);
        return b.op("concat", { values: Array.from({ length: 9 }, (_, i) => times(b, x, 250_000 + i)), axis: 0 });
      },
      /^\[coreml-sim\] tile: got 1\d MB beside \d\d MB that are held, expected at most 64 MB/,
    ],
  ])("refuses %s before it has the memory", async (_what, program, message) => {
    const before = process.memoryUsage().arrayBuffers;
    await expect(asking(program, MEGABYTES)).rejects.toMatchObject({
      code: "ENV_NO_MEMORY",
      message: expect.stringMatching(message) as string,
    });
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 * MEGABYTES);
  });

  it("counts what lives, not all that was ever made", async () => {
    // Forty results of 8 MB, one after the other.
    const chain = (b: MilFunctionBuilder): MilValue => {
      let x = times(b, input(b), 250_000);
      for (let i = 0; i < 40; i++) x = b.op("relu", { x });
      return x;
    };
    await expect(asking(chain, MEGABYTES)).resolves.toBeUndefined();
  });

  it("refuses manifests that lead elsewhere or nowhere", async () => {
    const good = await goodFiles();
    const id = "00000000-0000-4000-8000-000000000000";
    const pointing = (path: string): string =>
      JSON.stringify({ fileFormatVersion: "1.0.0", itemInfoEntries: { [id]: { path } }, rootModelIdentifier: id });
    for (const manifest of [
      "",
      "{",
      "[]",
      "{}",
      "null",
      pointing("../../etc/passwd"),
      pointing("/etc/passwd"),
      pointing("a\\b"),
      '{"rootModelIdentifier":"__proto__","itemInfoEntries":{}}',
    ])
      await expect(
        openPackage(directory(new Map(good).set(MANIFEST_PATH, encode(manifest)))),
        manifest,
      ).rejects.toMatchObject({ code: "INPUT_MALFORMED" });
    await expect(openPackage(directory(new Map()))).rejects.toMatchObject({ code: "INPUT_MALFORMED" });
  });
});
