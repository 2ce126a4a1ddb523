// The nets around the CoreML bridge's API: a misspelt selector, a wrong value, a wrong argument type and a name that is not in
// the table are each caught. Seeded one by one, because a net that was never torn proves nothing.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { proofSource, readTable, usedFaults } from "./coremlSelectors.mjs";
import { findClang, lacksDouble } from "./lib/environment.mjs";
import { root } from "./lib/process.mjs";

const missing = lacksDouble();
const folder = mkdtempSync(join(tmpdir(), "rlx-selectors-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const include = join(root, "native/tests/coreml_double/include");
const source = readFileSync(join(root, "native/src/coreml/model.mm"), "utf8");

/** What clang says about a source against the double's headers, which `edit` may have changed. */
function compile(text: string, edit: (header: string) => string = (header) => header): string {
  const name = join(folder, "seed.mm");
  const header = join(folder, "CoreML.h");
  const original = readFileSync(join(include, "CoreML/CoreML.h"), "utf8");
  const changed = edit(original);
  writeFileSync(header, changed);
  writeFileSync(name, text.replace("#import <CoreML/CoreML.h>", `#import "${header}"`));
  const flags = [
    "-std=c++20",
    "-fsyntax-only",
    "-fblocks",
    "-fobjc-arc",
    "-fobjc-runtime=gnustep-2.0",
    "-Wall",
    "-Werror",
  ];
  const places = [`-I${include}`, `-I${join(root, "native/src/coreml")}`, "-Wno-nullability-completeness"];
  const { status, stderr } = spawnSync(findClang() ?? "clang++", [...flags, ...places, name], { encoding: "utf8" });
  return status === 0 ? "" : stderr;
}

describe.skipIf(missing)(`the table against headers and bridge (${missing ?? "clang"})`, () => {
  const table = readTable();

  it("accepts the headers as they are", () => {
    expect(compile(proofSource(table))).toBe("");
    expect(compile(source)).toBe("");
  });

  it("stops at a selector that is misspelt in the bridge", () => {
    const seeded = source.replace(
      "usingState:(MLState *)held->state() options:proposal error:&error",
      "withState:(MLState *)held->state() options:proposal error:&error",
    );
    expect(seeded).not.toBe(source);
    expect(compile(seeded)).toContain("withState:options:error:");
  });

  it("stops at a header that misspells a selector as the bridge does", () => {
    const misspelt = (header: string): string =>
      header.replace("getMultiArrayForStateNamed:", "getMultiArrayForState:");
    expect(compile(proofSource(table), misspelt)).toContain("getMultiArrayForStateNamed:handler:");
  });

  it.each([
    [
      "a wrong value",
      "MLComputeUnitsCPUAndNeuralEngine API_AVAILABLE(macos(13.0)) = 3",
      "MLComputeUnitsCPUAndNeuralEngine = 4",
    ],
    ["a wrong type of a result", "nonatomic) double weight", "nonatomic) float weight"],
    ["a wrong class of a result", "- (MLState *)newState", "- (MLModel *)newState"],
    [
      "a wrong class of an argument",
      "- (BOOL)isAllowedValue:(MLFeatureValue *)value",
      "- (BOOL)isAllowedValue:(MLMultiArray *)value",
    ],
    [
      "a wrong order of arguments",
      "(void *mutableBytes, NSInteger size, NSArray<NSNumber *> *strides)",
      "(void *mutableBytes, NSArray<NSNumber *> *strides, NSInteger size)",
    ],
    [
      "a block with two arguments for three",
      "(void *mutableBytes, NSInteger size, NSArray<NSNumber *> *strides)",
      "(void *mutableBytes, NSInteger size)",
    ],
  ])("stops at %s", (_, from, to) => {
    const seeded = (header: string): string => header.replace(from, to);
    const original = readFileSync(join(include, "CoreML/CoreML.h"), "utf8");
    expect(seeded(original)).not.toBe(original);
    expect(compile(proofSource(table), seeded)).not.toBe("");
  });

  it("names what the bridge uses beside the table", () => {
    const symbols =
      "0 V .objc_selector_predictionFromFeatures:options:error:_@40\n0 V .objc_selector_predictFeatures:_@24\n U ._OBJC_REF_CLASS_MLModle\n";
    expect(usedFaults(table, symbols, ["x = MLComputeUnitsGPUOnly; // MLInAComment"])).toEqual([
      "the bridge sends predictFeatures:, which the table does not have",
      "the bridge uses the class MLModle, which the table does not have",
      "the bridge names MLComputeUnitsGPUOnly, which the table does not have",
    ]);
  });
});
