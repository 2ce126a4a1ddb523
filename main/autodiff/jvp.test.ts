/**
 * Tangents of single ops and of loops, against central differences; and what a gradient does with
 * branches and loops.
 */
import { finish } from "../ir/steps.ts";
import { describe, expect, it } from "vitest";
import type { AttrRecord } from "../ir/attributes.ts";
import { GraphBuilder } from "../ir/builder.ts";
import { isFloat, isPacked } from "../ir/dtype.ts";
import type { HostTensor } from "../ir/hostTensor.ts";
import { hostScalar, hostTensor } from "../ir/hostTensor.ts";
import { scalar, tensor } from "../ir/type.ts";
import { verify } from "../ir/verify.ts";
import type { AnyOp, Sample } from "../ops/defineOp.ts";
import { evaluate } from "../ops/evaluate.ts";
import { OPS, opOf, opTable, typedBuilder } from "../ops/index.ts";
import { inputName, outputName, sampleGraph, sampleRun, sampleTensors } from "../ops/sampleData.ts";
import { tangentGraph } from "./jvp.ts";
import { gradientGraph } from "./vjp.ts";

const SMALL = 3000;
const wave = (like: HostTensor, salt: number): HostTensor => ({
  ...like,
  data: like.data.map((_, i) => Math.sin(1 + 2.3 * i + salt)),
});

/** What the tangents are, and what differences along the same direction say. */
function tangents(op: AnyOp, sample: Sample<AttrRecord>): readonly (readonly [HostTensor, HostTensor])[] {
  const graph = sampleGraph(op, sample);
  const run = sampleRun(sample, sampleTensors(sample));
  const wrt = sample.inputs.flatMap(({ type }, i) =>
    isFloat(type.dtype) && !isPacked(type.dtype) ? [inputName(i)] : [],
  );
  const primal = finish(evaluate(graph, run)).outputs;
  const of = Object.keys(primal).filter((name) => isFloat(primal[name]!.dtype));
  const direction = Object.fromEntries(wrt.map((name, i) => [name, wave(run.inputs[name]!, i)]));
  const tangent = tangentGraph(graph, { of, wrt });
  expect(verify(opTable, tangent)).toEqual([]);
  const named = Object.fromEntries(wrt.map((name) => [`tangent.${name}`, direction[name]!]));
  const made = finish(evaluate(tangent, { ...run, inputs: { ...run.inputs, ...named } })).outputs;
  const step = 1e-5;
  const moved = (by: number): Readonly<Record<string, HostTensor>> => {
    const inputs = Object.fromEntries(
      Object.entries(run.inputs).map(([name, x]) => [
        name,
        name in direction ? { ...x, data: x.data.map((v, k) => v + by * direction[name]!.data[k]!) } : x,
      ]),
    );
    return finish(evaluate(graph, { ...run, inputs })).outputs;
  };
  const [up, down] = [moved(step), moved(-step)];
  return of.map((name) => {
    const change = up[name]!.data.map((y, k) => (y - down[name]!.data[k]!) / (2 * step));
    return [made[`tangent.${name}`]!, { ...up[name]!, data: change }] as const;
  });
}

describe("the tangent", () => {
  const cases = Object.keys(OPS).flatMap((name) => {
    const op = opOf(name)!;
    return op.samples
      .filter(
        (sample) => op.gradient.kind !== "nondifferentiable" && (sample.differentiable !== false || name === "while"),
      )
      .filter((sample) => sampleTensors(sample).every((x) => x.data.length <= SMALL))
      .map((sample) => [`${name}: ${sample.title}`, op, sample] as const);
  });
  it.each(cases)("of %s equals central differences", (_, op, sample) => {
    for (const [got, want] of tangents(op, sample))
      got.data.forEach((x, k) =>
        expect(Math.abs(x - want.data[k]!)).toBeLessThan(2e-6 * (1 + Math.abs(want.data[k]!))),
      );
  });

  it("asks for what there is", () => {
    const graph = sampleGraph(opOf("add")!, opOf("add")!.samples[0]!);
    const bad = expect.objectContaining({ code: "INPUT_ARGUMENT" });
    expect(() => tangentGraph(graph, { of: ["none"], wrt: [] })).toThrow(bad);
    expect(() => tangentGraph(graph, { of: [outputName(0)], wrt: ["none"] })).toThrow(bad);
  });
});

/** x ← x · w while x < 50. */
function growth(maxIterations?: number | string) {
  const b = new GraphBuilder(opTable, "growth");
  const g = typedBuilder(b);
  const [x, w] = [b.input("x", scalar("f32")), b.input("w", scalar("f32"))];
  const types = [scalar("f32"), scalar("f32")];
  const [y] = g.while([x, w], { carried: 1, ...(maxIterations === undefined ? {} : { maxIterations }) }, "growth", [
    g.region("condition", types, (h, a) => [h.compare([a, h.constant(hostScalar("f32", 50))], { op: "lt" })]),
    g.region("body", types, (h, a, c) => [h.mul([a, c])]),
  ]);
  b.output("y", y!);
  return b.finish();
}

describe("gradients of loops", () => {
  const inputs = { x: hostScalar("f32", 2), w: hostScalar("f32", 3) };

  it("need a limit in reverse mode, and say so", () => {
    for (const limit of [undefined, "T", 100_000] as const)
      expect(() => gradientGraph(growth(limit), { of: ["y"], wrt: ["x"] })).toThrow(
        expect.objectContaining({
          code: "UNSUPPORTED_OP",
          message: expect.stringContaining("maxIterations up to 256"),
        }),
      );
    // No gradient is asked for, so no limit is needed.
    expect(() => gradientGraph(growth(), { of: ["y"], wrt: [] })).not.toThrow();
  });

  it("both ways agree with 2 · 3³: d/dx = 27, d/dw = 54", () => {
    const backward = finish(
      evaluate(gradientGraph(growth(20), { of: ["y"], wrt: ["x", "w"] }), {
        inputs: { ...inputs, "cotangent.y": hostScalar("f32", 1) },
      }),
    ).outputs;
    expect([backward["y"], backward["gradient.x"], backward["gradient.w"]].map((t) => t!.data[0])).toEqual([
      54, 27, 54,
    ]);
    const forward = finish(
      evaluate(tangentGraph(growth(), { of: ["y"], wrt: ["x", "w"] }), {
        inputs: { ...inputs, "tangent.x": hostScalar("f32", 1), "tangent.w": hostScalar("f32", 10) },
      }),
    ).outputs;
    expect([forward["y"]!.data[0], forward["tangent.y"]!.data[0]]).toEqual([54, 27 + 540]);
  });

  it("a second gradient of a loop: d²/dw² of 2 w³ is 12 w", () => {
    const first = gradientGraph(growth(6), { of: ["y"], wrt: ["w"] });
    const second = gradientGraph(first, { of: ["gradient.w"], wrt: ["w"], prefix: "second" });
    const one = hostScalar("f32", 1);
    const { outputs } = finish(
      evaluate(second, { inputs: { ...inputs, "cotangent.y": one, "cotangent.gradient.w": one } }),
    );
    expect(outputs["second.w"]!.data[0]).toBeCloseTo(36, 9);
  });

  it("the branch that was not taken never reaches a gradient", () => {
    const b = new GraphBuilder(opTable, "safe");
    const g = typedBuilder(b);
    const [flag, x] = [b.input("flag", scalar("bool")), b.input("x", tensor("f32", [2]))];
    const types = [g.typeOf(x)];
    const [y] = g.if([flag, x], {}, "safe", [
      g.region("then", types, (h, a) => [h.sqrt([a])]),
      g.region("else", types, (h, a) => [h.add([a, a])]),
    ]);
    b.output("y", y!);
    const graph = gradientGraph(b.finish(), { of: ["y"], wrt: ["x"] });
    const { outputs } = finish(
      evaluate(graph, {
        inputs: {
          flag: hostScalar("bool", 0),
          x: hostTensor("f32", [2], [0, -1]),
          "cotangent.y": hostTensor("f32", [2], [1, 1]),
        },
      }),
    );
    // sqrt has no derivative at 0 and no value at -1: both branches with a choice would give NaN.
    expect([...outputs["gradient.x"]!.data]).toEqual([2, 2]);
  });
});
