import { describe, expect, it } from "vitest";
import { readFailure } from "./failures.ts";

describe("messages of Core ML's compilers", () => {
  it.each([
    [
      "E5RT encountered an STL exception. msg = MILCompilerForANE error: failed to compile ANE model using ANEF. Error=_ANECompiler : ANECCompile() FAILED.",
      "ane-compile",
      null,
    ],
    ["E5RT: MILCompilerForANE error: Error=_ANECompiler : ANECCompile() FAILED (11)", "ane-compile", 11],
    [
      "[Espresso::handle_ex_plan] exception=ANECF error: ANECCompile(/var/tmp/5350/C599/) FAILED: err=(\n CompilationFailure\n)\n[coreml] Error plan build: -1.",
      "ane-compile",
      -1,
    ],
    ["ANECCompileOffline() failed: OSStatus=0, aneCompileStatus=1", "ane-compile", null],
    [
      "Failed to build the model execution plan using a model architecture file '/a/model.mil' with error code: -14.",
      "plan-build",
      -14,
    ],
    ["[coreml] Error plan build: -1.", "plan-build", -1],
    ["error:: Program load failure (0x20004)", "ane-load", 0x20004],
  ])("%s", (text, id, number) => {
    expect(readFailure(text)).toMatchObject({ id, number });
  });

  it("joins the sentence of the error with what was written beside it", () => {
    const read = readFailure(
      "Failed to build the model execution plan using a model architecture file 'm' with error code: -14.",
      "MILCompilerForANE error: failed",
    );
    expect(read).toMatchObject({ id: "ane-compile", number: -14 });
    expect(read?.title).toBe("The Neural Engine’s compiler refused the program (-14)");
  });

  it("says nothing of what it does not know, and of megabytes within a moment", () => {
    expect(readFailure("The model is fine", "")).toBeUndefined();
    const long = "Failed to build the model execution plan ".repeat(100_000);
    const start = performance.now();
    expect(readFailure(long, "ANECCompile(".repeat(100_000))).toBeUndefined();
    expect(performance.now() - start).toBeLessThan(1000);
  });
});
