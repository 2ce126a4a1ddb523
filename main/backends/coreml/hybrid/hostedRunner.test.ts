// A step with host parts as one function of a package: states of every type and of every way to cross, against the evaluator.
import { expect, it } from "vitest";
import { legalise } from "../../../compiler/legalise.ts";
import { GraphBuilder } from "../../../ir/builder.ts";
import { DTYPES } from "../../../ir/dtype.ts";
import type { DType } from "../../../ir/dtype.ts";
import type { Graph } from "../../../ir/graph.ts";
import type { HostTensor } from "../../../ir/hostTensor.ts";
import { hostTensor } from "../../../ir/hostTensor.ts";
import { finish } from "../../../ir/steps.ts";
import { tensor } from "../../../ir/type.ts";
import { evaluate } from "../../../ops/evaluate.ts";
import { opOf, opTable, typedBuilder } from "../../../ops/index.ts";
import { coremlKernel } from "../../../ops/signal/customKernels.ts";
import { Simulator } from "../simulator/simulator.ts";
import { HostedRunner } from "./hostedRunner.ts";
import { programOf } from "./program.ts";
import { routeGraph } from "./route.ts";
import { fromHeld, heldForm, toHeld } from "./tensors.ts";

const target = { chip: "m2", os: "macos15", units: "all", profile: "gpu", context: 1, phase: "decode" } as const;

/** Core ML reads `told` and the host writes it; `heard` the other way round; `kept` is one Core ML part's; `spun` the host's alone. */
function stepped(): Graph {
  const b = new GraphBuilder(opTable, "stepped");
  const g = typedBuilder(b);
  const type = tensor("f32", [2, 4]);
  const transform = { inverse: false, norm: "ortho" } as const;
  const x = b.input("x", type);
  const [told, heard, kept, spun] = ["told", "heard", "kept", "spun"].map((name) => b.state(name, type));
  const first = g.tanh([g.add([x, told!])]);
  const next = g.fft([g.add([first, first])], transform);
  b.setState("told", next);
  const turned = g.fft([heard!], transform);
  b.setState("spun", g.fft([spun!], transform));
  b.setState("heard", g.sin([g.add([turned, first])]));
  b.setState("kept", g.add([kept!, next]));
  b.output("y", g.add([g.sub([next, kept!]), turned]));
  b.output("same", x);
  return finish(legalise(b.finish(), "coreml")).graph;
}

const x = (step: number): HostTensor =>
  hostTensor(
    "f32",
    [2, 4],
    Array.from({ length: 8 }, (_, i) => Math.fround(Math.sin(step + i))),
  );

function hosted(onHost: () => void = () => undefined): HostedRunner {
  const route = routeGraph(stepped(), {
    ...{ table: opTable, target: { ...target, profile: "exact" }, entries: (op) => opOf(op)?.backends.coreml },
  });
  const { lowered } = route;
  if (lowered === undefined) throw new Error("nothing was lowered");
  const runner = new Simulator({
    ...{ specificationVersion: 9, program: lowered.program, functions: [], defaultFunction: "main", userDefined: {} },
    weights: undefined,
  });
  const host = (
    graph: Graph,
    inputs: Readonly<Record<string, HostTensor>>,
  ): Promise<Readonly<Record<string, HostTensor>>> => {
    onHost();
    return Promise.resolve(finish(evaluate(graph, { inputs })).outputs);
  };
  return new HostedRunner(
    { table: opTable, runner, host, kernel: coremlKernel },
    new Map([["step", programOf(route)]]),
  );
}

it("is a function whose states come and go, and gives what the evaluator gives step after step", async () => {
  const package_ = hosted();
  const bindings = package_.bindings["step"]!;
  const own = bindings.filter(({ feature }) => feature.startsWith("part"));
  expect(new Set(own.map(({ name }) => name))).toEqual(new Set(["kept"]));
  // A state that the step only reads, or only makes, is there all the same.
  expect(new Set(bindings.filter(({ kind }) => kind === "stateIn").map(({ name }) => name))).toEqual(
    new Set(["told", "heard", "kept", "spun"]),
  );
  const graph = stepped();
  let states: Readonly<Record<string, HostTensor>> = {};
  let held: Readonly<Record<string, Parameters<typeof fromHeld>[1]>> = {};
  for (let step = 0; step < 6; step++) {
    const wanted = finish(evaluate(graph, { inputs: { x: x(step) }, states }));
    const features = Object.fromEntries(
      bindings.flatMap((b) => {
        if (b.kind === "input") return [[b.feature, toHeld(tensor("f32", [2, 4]), x(step))] as const];
        const known = held[b.name];
        return b.kind === "stateIn" && known !== undefined ? [[b.feature, known] as const] : [];
      }),
    );
    const made = await package_.function("step").predict(features);
    held = Object.fromEntries(
      bindings.flatMap((b) => (b.kind === "stateOut" ? [[b.name, made[b.feature]!] as const] : [])),
    );
    for (const [name, value] of Object.entries(wanted.outputs)) {
      const got = made[bindings.find((b) => b.kind === "output" && b.name === name)!.feature]!;
      value.data.forEach((v, i) => expect(got.data[i], `${name} of step ${step}`).toBeCloseTo(v, 4));
    }
    ({ states } = wanted);
  }
  expect(package_.times).toMatchObject([{ function: "step", steps: 6 }]);
  expect(package_.times[0]?.seconds.length).toBeGreaterThan(2);
});

it("stops between the nodes of a part, and passes functions that are whole on", async () => {
  const stop = new AbortController();
  let nodes = 0;
  const package_ = hosted(() => {
    nodes++;
    stop.abort();
  });
  const bindings = package_.bindings["step"]!;
  const features = Object.fromEntries(
    bindings.flatMap((b) => (b.kind === "input" ? [[b.feature, toHeld(tensor("f32", [2, 4]), x(0))] as const] : [])),
  );
  const cut = package_.function("step").predict(features, { signal: stop.signal });
  await expect(cut).rejects.toMatchObject({ code: "CANCELLED" });
  expect(nodes).toBe(1);
  expect(package_.times).toEqual([]);
  expect(() => package_.function("other")).toThrow(/other/u);
});

const NUMBERS: Readonly<Record<DType, readonly number[]>> = {
  bool: [0, 1],
  u8: [0, 255],
  i8: [-128, 127],
  i16: [-32768, 32767],
  bf16: [-1.5, 3.3895313892515355e38],
  f16: [65504, -(2 ** -24)],
  u32: [0, 2 ** 32 - 1],
  i32: [-(2 ** 31), 2 ** 31 - 1],
  i64: [-(2 ** 53) + 1, 2 ** 40 + 1],
  f32: [Math.fround(0.1), -Infinity],
  f64: [0.1, 1e300],
  c64: [0.5, -0.25, NaN, 2],
};

it.each(DTYPES)("holds %s between steps without a loss", (dtype) => {
  const type = tensor(dtype, [2]);
  const value = hostTensor(dtype, [2], NUMBERS[dtype]);
  const held = toHeld(type, value);
  expect(held).toMatchObject(heldForm(type));
  expect(held.data).toHaveLength(held.shape.reduce((product, size) => product * size, 1));
  expect(fromHeld(type, held)).toEqual(value);
});
