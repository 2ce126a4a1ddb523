/** What the compiler does with rules that no op has: WebGPU, which declares none, is lent them. */
import { afterEach, describe, expect, it } from "vitest";
import type { AttrRecord } from "../ir/attributes.ts";
import { GraphBuilder } from "../ir/builder.ts";
import type { Dim } from "../ir/dim.ts";
import { finish } from "../ir/steps.ts";
import { tensor } from "../ir/type.ts";
import type { AnyNumber, Decomposition } from "../ops/defineOp.ts";
import { decomposed } from "../ops/defineOp.ts";
import { opOf, opTable, typedBuilder } from "../ops/index.ts";
import { compileNow } from "./compile.ts";
import { dispatchReport, legalise } from "./legalise.ts";

const exp = opOf("exp")!;
const lend = (via: Decomposition<AttrRecord, AnyNumber>): void =>
  void Object.assign(exp.backends, { webgpu: decomposed(via) });
afterEach(() => void Reflect.deleteProperty(exp.backends, "webgpu"));

const b = new GraphBuilder(opTable, "one exp");
b.output("y", typedBuilder(b).exp([b.input("x", tensor("f32", [3]))]));
const graph = b.finish();

describe("parts that hold the op itself", () => {
  it.each([
    ["legalising", () => finish(legalise(graph, "webgpu"))],
    ["reporting", () => finish(dispatchReport(graph, "webgpu"))],
  ])("%s ends with an error that says so", (_what, work) => {
    let taken = 0;
    lend((g, [x]) => {
      // Where the compiler does not stop it, this does: a test that hangs tells nothing.
      if (++taken > 1000) throw new Error("the compiler did not stop it");
      return g.exp([x!]);
    });
    expect(work).toThrow(
      expect.objectContaining({
        code: "BUG_INVARIANT",
        message: "[legalise] decompositions for webgpu do not end after 16 rounds",
      }),
    );
  });
});

describe("parts of another type than their op gives", () => {
  const run = (verify: boolean) => compileNow(graph, { backend: "webgpu", blocked: "keep", verify });

  it("are found where a compile is asked to verify", () => {
    lend((g, [x]) => {
      const sum = g.reduce([x!], { kind: "sum", axes: [0] });
      (g.typeOf(sum).shape as Dim[]).push(7);
      return sum;
    });
    expect(() => run(true)).toThrow(
      expect.objectContaining({
        code: "BUG_INVARIANT",
        message: "[invariant] after legalisation: [reduce] stored type f32[7], inferred f32[]",
      }),
    );
    expect(() => run(false)).not.toThrow();
  });
});
