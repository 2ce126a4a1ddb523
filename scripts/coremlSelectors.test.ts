// The nets around the Core ML bridge's API: a misspelt selector, a wrong value, a wrong argument type and a name that is not in
// the table are each caught. Seeded one by one, because a net that was never torn proves nothing.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { availabilityFaults, proofSource, readTable, usedFaults } from "./coremlSelectors.mjs";
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

/** Replaces text wherever the formatter put its spaces and line ends. */
function seed(text: string, from: string, to: string): string {
  const words = from.match(/\w+|[^\s\w]/g) ?? [];
  return text.replace(new RegExp(words.map((word) => word.replace(/\W/, "\\$&")).join("\\s*")), to);
}

describe.skipIf(missing)(`the table against headers and bridge (${missing ?? "clang"})`, () => {
  const table = readTable();

  it("accepts the headers as they are", () => {
    expect(compile(proofSource(table))).toBe("");
    expect(compile(source)).toBe("");
  });

  it("stops at a selector that is misspelt in the bridge", () => {
    const seeded = seed(
      source,
      "usingState:(MLState *)held->state() options:proposal error:&error",
      "withState:(MLState *)held->state() options:proposal error:&error",
    );
    expect(seeded).not.toBe(source);
    expect(compile(seeded)).toContain("withState:options:error:");
  });

  it("stops at a header that misspells a selector as the bridge does", () => {
    const misspelt = (header: string): string => seed(header, "getMultiArrayForStateNamed:", "getMultiArrayForState:");
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
    const seeded = (header: string): string => seed(header, from, to);
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

/** The C++ library of this machine, whose headers serve a Mac target too as long as nothing is linked. */
const library = existsSync("/usr/include/c++")
  ? readdirSync("/usr/include/c++").sort((a, b) => Number(b) - Number(a))[0]
  : undefined;

/** What clang says when the bridge is compiled for a Mac of 13.3: real guards, Apple's runtime, the double's declarations. */
function compileForMac(text: string, { warn = false } = {}): string {
  const name = join(folder, "mac.mm");
  writeFileSync(name, text);
  const linux = "/usr/include/x86_64-linux-gnu";
  const headers = [
    `/usr/include/c++/${library ?? ""}`,
    `${linux}/c++/${library ?? ""}`,
    "/usr/lib/llvm-19/lib/clang/19/include",
    linux,
    "/usr/include",
  ];
  const { status, stderr } = spawnSync(
    findClang() ?? "clang++",
    [
      ...[
        "-target",
        "x86_64-apple-macos13.3",
        "-std=c++20",
        "-fsyntax-only",
        "-fblocks",
        "-fobjc-arc",
        "-Wall",
        "-Wextra",
        ...(warn ? ["-Wno-unused"] : ["-Werror"]),
      ],
      // glibc's headers take these for granted; a Mac target does not have them.
      ...[
        "-U__nonnull",
        "-D_GNU_SOURCE",
        "-D__linux__=1",
        "-D__ELF__=1",
        "-nostdinc++",
        "-Wno-nullability-completeness",
      ],
      ...[`-I${include}`, `-I${join(root, "native/src/coreml")}`, ...headers.flatMap((path) => ["-isystem", path])],
      name,
    ],
    { encoding: "utf8" },
  );
  return status === 0 && !warn ? "" : stderr;
}

describe.skipIf(missing ?? (library === undefined ? "no C++ library" : undefined))(
  `guards for older systems (${missing ?? "clang"})`,
  () => {
    const bridge = join(root, "native/src/coreml");
    const read = (name: string): string => readFileSync(join(bridge, name), "utf8");

    it.each(readdirSync(bridge).filter((name) => name.endsWith(".mm")))(
      "are around everything newer than 13.3 in %s",
      (name) => {
        expect(compileForMac(read(name))).toBe("");
      },
    );

    // A missing guard shows only where clang asks for one, so the marks of the headers are proven too.
    const proof = proofSource(readTable(), { guards: true });
    const faultsWith = (edit: (header: string) => string, table = readTable()): string[] => {
      const original = readFileSync(join(include, "CoreML/CoreML.h"), "utf8");
      const header = join(folder, "marked.h");
      writeFileSync(header, edit(original));
      const text = proof.replace("#import <CoreML/CoreML.h>", `#import "${header}"`);
      return availabilityFaults(table, text, compileForMac(text, { warn: true }), "13.3");
    };

    it("are asked for by the headers wherever the table says so, and nowhere else", () => {
      expect(faultsWith((header) => header)).toEqual([]);
    });

    it.each([
      [
        "a mark that is missing",
        "_Nullable output, NSError *_Nullable error))completionHandler\n    API_AVAILABLE(macos(14.0));",
        "_Nullable output, NSError *_Nullable error))completionHandler;",
        ["MLModel -predictionFromFeatures:options:completionHandler:: the headers say nothing newer, the table 14.0"],
      ],
      [
        "a mark that is too old",
        "functionName API_AVAILABLE(macos(15.0))",
        "functionName API_AVAILABLE(macos(14.4))",
        ["MLModelConfiguration -setFunctionName:: the headers say 14.4, the table 15.0"],
      ],
      [
        "a mark that should not be",
        "BOOL allowLowPrecisionAccumulationOnGPU;",
        "BOOL allowLowPrecisionAccumulationOnGPU API_AVAILABLE(macos(14.0));",
        ["MLModelConfiguration -setAllowLowPrecisionAccumulationOnGPU:: the headers say 14.0, the table 10.15"],
      ],
    ])("stop at %s", (_, from, to, faults) => {
      const seeded = faultsWith((header) => {
        const changed = seed(header, from, to);
        expect(changed).not.toBe(header);
        return changed;
      });
      expect(seeded).toEqual(faults);
    });

    it("are missed when one is taken away", () => {
      const seeded = read("machine.mm").replace("if (@available(macOS 14.0, *)) {", "if (true) {");
      expect(compileForMac(seeded)).toContain("'MLAllComputeDevices' is only available on macOS 14.0 or newer");
    });
  },
);
