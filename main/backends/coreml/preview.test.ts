// What an export will take, said before a byte of weights is read, is what it takes: in the report and on the disk.
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { legalise } from "../../compiler/legalise.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { openGguf } from "../../formats/gguf/open.ts";
import { weightSourceOf } from "../../formats/gguf/weightSource.ts";
import { packageRequest } from "../../engine/models/packageRequest.ts";
import { finish } from "../../ir/steps.ts";
import { CAPACITY } from "../../models/blocks.ts";
import { TEMPLATE } from "../../models/template.ts";
import { openFileSource } from "../../node/files/fileByteSource.ts";
import { packageWriter } from "../../node/files/packageDirectory.ts";
import { opOf } from "../../ops/index.ts";
import { decoderExport, weightsOf } from "../../testing/decoderExport.ts";
import { hostedFamily } from "../../testing/hostedFamily.ts";
import { randomCase } from "../../testing/randomGraphs.ts";
import { sampleHeader } from "../../testing/toyFiles.ts";
import { exportPackage, preview } from "./export.ts";
import { flexibleVariants } from "./variants.ts";
import { CoreML } from "./generated/proto.js";
import type { EntryOf } from "./hybrid/loweredGraph.ts";
import { rulesFrom } from "./hybrid/loweredGraph.ts";
import { lowerProgram } from "./lowering/lower.ts";
import { MilFunctionBuilder } from "./mil/builder.ts";
import { NameTable } from "./mil/names.ts";
import { tensorType } from "./mil/types.ts";
import type { PackageContents } from "./package.ts";
import { MANIFEST_PATH, modelBytes } from "./package.ts";

const entries: EntryOf = (op) => opOf(op)?.backends.coreml;
const sample = fileURLToPath(new URL("../../../assets/models/rlx-sample.gguf", import.meta.url));
const missing = existsSync(sample) ? undefined : "(the sample model is not here)";
const folder = mkdtempSync(join(tmpdir(), "rlx-preview-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const METADATA = { shortDescription: "µ", author: "", license: "", version: "1", userDefined: { "rlx.source": "x" } };

describe.skipIf(missing)(`an export of the sample model ${missing ?? ""}`, () => {
  it.each([
    ["ane", "fixed", true],
    ["gpu", "fixed", false],
    ["exact", "fixed", true],
    ["ane", "native", true],
  ] as const)("%s weights, %s sizes: the preview has every byte", async (profile, flexibility, exact) => {
    const file = await openGguf(await openFileSource(sample));
    const request = decoderExport(file, {
      ...{ profile, flexibility, context: 128, cacheType: "f16", largestStep: 128 },
      metadata: METADATA,
    });
    const before = finish(preview(request));
    const path = join(folder, `${profile}-${flexibility}.mlpackage`);
    const report = await exportPackage(request, {
      directory: await packageWriter(path),
      weights: weightsOf(file),
    });
    await file.close();
    expect(before.exact).toBe(exact);
    expect(before.modelBytes).toBe(report.modelBytes);
    expect(before.weightBytes).toBe(report.weightBytes);
    const files = readdirSync(path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const sizes = files.map((entry) => statSync(join(entry.parentPath, entry.name)).size);
    const manifest = statSync(join(path, MANIFEST_PATH)).size;
    expect(sizes.reduce((a, b) => a + b) - manifest).toBe(before.modelBytes + before.weightBytes);
  });
});

describe("flexible inputs", () => {
  const named = async (flexibility: "inputs" | "native", context: number): Promise<readonly string[]> => {
    const file = await sampleHeader(hostedFamily, hostedFamily.samples[0]!);
    const graph = finish(hostedFamily.of(hostedFamily.hyper(file, "hosted")).graph(weightSourceOf(file), OPTIONS));
    const target = { chip: "m2", os: "macos15", units: "all", profile: "gpu", context, phase: "decode" } as const;
    const wanted = flexibleVariants(target, TEMPLATE, flexibility);
    const request = packageRequest(graph, target, { ...wanted, description: "", source: "", packageName: "none" });
    return finish(preview(request)).functions;
  };

  it("are functions of sizes where a part of the graph runs on the host, and an error where a range was asked for", async () => {
    const functions = await named("inputs", 32);
    const steps = new Set(functions.map((name) => name.replace(/_\d+$/u, "")));
    expect(steps).toEqual(new Set(["decode", "prefill", "prefill_2", "prefill_4", "prefill_8", "prefill_16"]));
    await expect(named("native", 32)).rejects.toMatchObject({ code: "UNSUPPORTED_TARGET" });
    // A context too short for three sizes.
    expect(new Set((await named("inputs", 4)).map((name) => name.replace(/_\d+$/u, "")))).toEqual(
      new Set(["decode", "prefill", "prefill_2"]),
    );
  });
});

const OPTIONS = {
  capacity: CAPACITY,
  cacheType: "f32",
  largestStep: 64,
  largestRows: 64,
  largestCapacity: 64,
} as const;

describe("the bytes of a model, made operator by operator", () => {
  // What the generated code makes of the whole message. `expect` would take minutes to compare as many numbers.
  const agrees = (contents: PackageContents): void => {
    const bytes = finish(modelBytes(contents));
    const { Model } = CoreML.Specification;
    const again = Model.encode(Model.decode(bytes)).finish();
    expect(Buffer.compare(bytes, again)).toBe(0);
  };

  it("are those of the generated encoder, whatever graph they came from", () => {
    let tried = 0;
    for (let seed = 0; seed < 30; seed++) {
      const { graph } = finish(legalise(randomCase(seed).graph, "coreml"));
      const sources = ["main", `a_name_of_${"many".repeat(40)}_letters`].slice(0, 1 + (seed % 2));
      const options = {
        rules: rulesFrom(entries),
        profile: "ane",
        opset: "CoreML8",
        buildInfo: { by: "test" },
      } as const;
      let lowered;
      try {
        lowered = finish(
          lowerProgram(
            sources.map((name) => ({ name, graph })),
            options,
          ),
        );
      } catch (error) {
        // Some of these graphs have parts for the host.
        if (error instanceof WorkbenchError && error.code === "UNSUPPORTED_OP") continue;
        throw error;
      }
      agrees({ program: lowered.program, opset: "CoreML8", defaultFunction: "main", metadata: METADATA });
      tried++;
    }
    expect(tried).toBeGreaterThan(10);
  });

  it("have the operators of blocks, and pauses between operators", () => {
    const b = new MilFunctionBuilder("main", "CoreML8", new NameTable());
    const x = b.input("x", tensorType("fp16", [4]));
    const pred = b.op("greater", { x: b.op("reduce_max", { x, axes: [0], keep_dims: false }), y: 1 });
    const branches = [b.block([], () => [b.op("exp", { x })]), b.block([], () => [b.op("tanh", { x })])] as const;
    let last = b.nested("cond", [["pred", [pred]]], branches, branches[0].types)[0]!;
    for (let i = 0; i < 600; i++) last = b.op("add", { x: last, y: i / 1024 });
    b.output("y", last);
    const program = { functions: [b.finish()], buildInfo: {} };
    const contents: PackageContents = { program, opset: "CoreML8", defaultFunction: "main", metadata: METADATA };
    agrees(contents);
    expect([...modelBytes(contents)].length).toBeGreaterThan(3);
  });
});
