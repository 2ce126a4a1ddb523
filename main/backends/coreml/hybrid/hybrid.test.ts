// Cuts, routes and the hybrid runner on the demo graph (Fourier transform, LSTM, custom function) and on small graphs.
import { finish } from "../../../ir/steps.ts";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { legalise } from "../../../compiler/legalise.ts";
import { GraphBuilder } from "../../../ir/builder.ts";
import type { Graph } from "../../../ir/graph.ts";
import { isLeaf } from "../../../ir/graph.ts";
import type { HostTensor } from "../../../ir/hostTensor.ts";
import { hostTensor } from "../../../ir/hostTensor.ts";
import { formatType, tensor } from "../../../ir/type.ts";
import { demoGraph, STEPS, WIDTH } from "../../../models/demo.ts";
import { packageReader, packageWriter } from "../../../node/files/packageDirectory.ts";
import { evaluate } from "../../../ops/evaluate.ts";
import { opOf, opTable, typedBuilder } from "../../../ops/index.ts";
import {
  SOFT_THRESHOLD,
  coremlKernel,
  customKernel,
  registerCoremlKernel,
  registerCustomKernel,
} from "../../../ops/signal/customKernels.ts";
import { openPackage, writePackage } from "../package.ts";
import type { PlanTarget } from "../plan/target.ts";
import { Simulator } from "../simulator/simulator.ts";
import { writeWeights } from "../weights/write.ts";
import type { CoremlKernel } from "./customKernels.ts";
import type { EntryOf } from "./loweredGraph.ts";
import { isWhole, partition } from "./partition.ts";
import { programOf } from "./program.ts";
import type { Route } from "./route.ts";
import { routeGraph } from "./route.ts";
import type { HostExecutor, HybridOptions, HybridResult } from "./runner.ts";
import { HybridRunner } from "./runner.ts";
import { fromFeature, toFeature } from "./tensors.ts";

const folder = mkdtempSync(join(tmpdir(), "rlx-hybrid-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const entries: EntryOf = (op) => opOf(op)?.backends.coreml;
const target = (profile: "exact" | "gpu"): PlanTarget => ({
  chip: "m2",
  os: "macos15",
  units: "all",
  profile,
  context: 1,
  phase: "decode",
});
const host: HostExecutor = (graph, inputs) => Promise.resolve(finish(evaluate(graph, { inputs })).outputs);

const legal = (graph: Graph): Graph => finish(legalise(graph, "coreml")).graph;
const demoRoute = (profile: "exact" | "gpu"): Route =>
  routeGraph(legal(demoGraph()), { table: opTable, entries, target: target(profile) });

const signal = hostTensor(
  "f32",
  [STEPS, WIDTH],
  Float64Array.from({ length: STEPS * WIDTH }, (_, i) => Math.fround(Math.sin(i * 0.37) + Math.cos(i * i * 0.01))),
);

async function runOn(
  route: Route,
  name: string,
  kernel: HybridOptions["kernel"] = coremlKernel,
  inputs: Readonly<Record<string, HostTensor>> = { signal },
): Promise<Pick<HybridResult, "outputs" | "states"> & { readonly sides: readonly string[] }> {
  const { lowered } = route;
  if (lowered === undefined) throw new Error("nothing was lowered");
  const path = join(folder, `${name}.mlpackage`);
  const metadata = { shortDescription: "demo", author: "", license: "", version: "1", userDefined: {} };
  const nothing = {
    read: () => Promise.reject(new Error("the demo has no weight file")),
    dequantize: () => new Float32Array(0),
  };
  await writePackage(
    await packageWriter(path),
    lowered.plan.blob,
    async (sink) => void (await writeWeights(lowered.plan, nothing, sink)),
    () => ({
      program: lowered.program,
      opset: lowered.opset,
      defaultFunction: lowered.program.functions[0]?.name ?? "main",
      metadata,
    }),
  );
  const reader = packageReader(path);
  const simulator = new Simulator(await openPackage(reader));
  const runner = new HybridRunner({ table: opTable, program: programOf(route), runner: simulator, host, kernel });
  try {
    const { truth, outputs, states, timings } = await runner.run(inputs);
    expect(truth).toBe("simulated");
    return { outputs, states, sides: timings.map((t) => t.side) };
  } finally {
    await reader.close();
  }
}

const unitMatrix = (n: number): Float64Array =>
  Float64Array.from({ length: n * n }, (_, i) => Number(i % (n + 1) === 0));

function relativeRms(actual: HostTensor | undefined, expected: HostTensor | undefined): number {
  let [error, size] = [0, 0];
  expected?.data.forEach((v, i) => {
    error += ((actual?.data[i] ?? NaN) - v) ** 2;
    size += v * v;
  });
  return Math.sqrt(error / size);
}

describe("partition", () => {
  it("cuts the demo graph around its three host ops, every node once, in a legal order", () => {
    const graph = legal(demoGraph());
    const route = demoRoute("exact");
    expect(route.parts.map((p) => p.side)).toEqual(["coreml", "host", "coreml", "host", "coreml", "host", "coreml"]);
    expect(route.parts.filter((p) => p.side === "host").map((p) => p.nodes.map((id) => graph.nodes[id]?.op))).toEqual([
      ["fft"],
      ["custom"],
      ["lstm"],
    ]);
    const seen = new Set<number>();
    for (const part of route.parts) {
      for (const id of part.nodes)
        for (const input of graph.nodes[id]?.inputs ?? []) {
          const leaf = graph.nodes[input.node];
          expect(leaf !== undefined && (isLeaf(leaf) || seen.has(input.node) || part.nodes.includes(input.node))).toBe(
            true,
          );
        }
      for (const id of part.nodes) {
        expect(seen.has(id)).toBe(false);
        seen.add(id);
      }
    }
    expect(seen.size).toBe(graph.nodes.filter((n) => !isLeaf(n)).length);
  });

  it("crosses exactly the values that the other side needs", () => {
    const route = demoRoute("exact");
    expect(route.parts[1]?.inputs.map((c) => [c.type.shape.join(), c.bytes])).toEqual([
      [`${STEPS},${WIDTH}`, 4 * STEPS * WIDTH],
    ]);
    expect(route.parts[1]?.why).toMatch(/^fft: /);
    expect(route.parts[2]?.why).toBe("Core ML goes on once fft has run on the host.");
  });

  it("starts with the side that needs fewer turns, and leaves a graph of one side whole", () => {
    const builder = new GraphBuilder(opTable, "two inputs");
    const g = typedBuilder(builder);
    const x = builder.input("x", tensor("f32", [4]));
    const y = builder.input("y", tensor("f32", [4]));
    builder.output("z", g.add([g.exp([x]), g.sin([y])]));
    const graph = builder.finish();
    const blocked = partition(opTable, graph, (node) => (node.op === "sin" ? "no sine today" : true));
    expect(blocked.map((p) => [p.side, p.nodes.length])).toEqual([
      ["host", 1],
      ["coreml", 2],
    ]);
    const [only] = partition(opTable, graph, () => true);
    expect(only?.graph).toBe(graph);
  });
});

describe("route", () => {
  it("shows on the first target what the demo graph is for: Neural Engine, CPU and host code side by side", () => {
    const first: PlanTarget = { ...target("exact"), chip: "m4", units: "cpu-ane", profile: "ane" };
    const route = routeGraph(legal(demoGraph()), { table: opTable, entries, target: first });
    const devices = route.segments.map((segment) => segment.device);
    expect(new Set(devices)).toEqual(new Set(["ane", "cpu", "host"]));
    expect(devices[0]).toBe("ane");
    expect(route.verdicts.map(({ rule }) => rule)).toContain("island");
  });

  it("names a device, a rule and a reason for every node that works", () => {
    const route = demoRoute("gpu");
    for (const node of route.graph.nodes) {
      if (isLeaf(node)) expect(route.nodes.device[node.id]).toBe(0);
      else {
        expect(route.nodes.device[node.id], node.op).toBeGreaterThan(0);
        expect(route.verdicts[route.nodes.verdict[node.id] ?? 0]?.reason.length ?? 0).toBeGreaterThan(10);
      }
    }
    expect(route.nodes.work.reduce((a, b) => a + b, 0)).toBeCloseTo(1, 5);
    expect(route.segments.reduce((sum, s) => sum + s.workShare, 0)).toBeCloseTo(1, 9);
    expect(route.segments.filter((s) => s.device === "host").map((s) => s.title)).toEqual([
      "spectrum",
      "shrink",
      "memory",
    ]);
  });

  it("hops carry the bytes that leave one segment and enter another", () => {
    const route = demoRoute("gpu");
    for (const hop of route.hops) {
      expect(hop.from).toBeLessThan(hop.to);
      expect(hop.bytes).toBeGreaterThan(0);
      expect(hop.bytes).toBeLessThanOrEqual(route.segments[hop.to]?.bytesIn ?? 0);
    }
    expect(route.hops.length).toBeGreaterThanOrEqual(6);
  });
});

describe("hybrid runner", () => {
  it("gives what the reference gives: fp32 to 1e-5, fp16 to 1e-2 over the whole graph", async () => {
    const want = finish(evaluate(demoGraph(), { inputs: { signal } })).outputs;
    for (const [profile, tolerance] of [
      ["exact", 1e-5],
      ["gpu", 1e-2],
    ] as const) {
      const { outputs, sides } = await runOn(demoRoute(profile), profile);
      expect(sides).toHaveLength(7);
      for (const name of ["probabilities", "reconstruction"])
        expect(relativeRms(outputs[name], want[name]), `${profile} ${name}`).toBeLessThan(tolerance);
    }
  });

  it("runs factorisations on the host between parts, with all their results", async () => {
    const b = new GraphBuilder(opTable, "factored");
    const g = typedBuilder(b);
    const x = b.input("signal", tensor("f32", [STEPS, WIDTH]));
    const square = g.matmul([x, g.transpose([x], { perm: [1, 0] })]);
    const ridge = g.add([square, g.constant(hostTensor("f32", [STEPS, STEPS], unitMatrix(STEPS)))]);
    const [values, vectors] = g.eigh([ridge]);
    b.output("back", g.matmul([g.mul([vectors!, values!]), g.transpose([vectors!], { perm: [1, 0] })]));
    b.output("solved", g.tanh([g.dense_solve([g.cholesky([ridge]), x])]));
    const graph = b.finish();
    const route = routeGraph(legal(graph), { table: opTable, entries, target: target("exact") });
    const { outputs, sides } = await runOn(route, "factored");
    expect(new Set(sides)).toEqual(new Set(["coreml", "host"]));
    const want = finish(evaluate(graph, { inputs: { signal } })).outputs;
    for (const name of ["back", "solved"]) expect(relativeRms(outputs[name], want[name]), name).toBeLessThan(1e-5);
  });

  it("renders splats on the host between parts", async () => {
    const b = new GraphBuilder(opTable, "splats");
    const g = typedBuilder(b);
    const x = g.tanh([b.input("signal", tensor("f32", [STEPS, WIDTH]))]);
    const columns = (from: number, length: number) => g.narrow([x], { axis: 1, start: from, length });
    const sizes = g.sub([columns(3, 3), g.constant(hostTensor("f32", [], [2]))]);
    const opacities = g.reshape([columns(10, 1)], { shape: [STEPS] });
    const none = g.constant(hostTensor("f32", [STEPS, 0, 3], []));
    const camera = g.constant(hostTensor("f32", [15], [0, 0, -4, 0, 0, 0, 0, 1, 0, 0.8, 0.1, 9, 0, 0.1, 0.2]));
    const picture = g.gaussian_splat_render(
      [columns(0, 3), sizes, columns(6, 4), opacities, columns(11, 3), none, camera],
      { width: 9, height: 7 },
    );
    b.output("light", g.reduce([g.square([picture])], { kind: "mean", axes: [2] }));
    const graph = b.finish();
    const route = routeGraph(legal(graph), { table: opTable, entries, target: target("exact") });
    const { outputs, sides } = await runOn(route, "splats");
    expect(sides).toEqual(["coreml", "host", "coreml"]);
    const want = finish(evaluate(graph, { inputs: { signal } })).outputs;
    expect(relativeRms(outputs["light"], want["light"])).toBeLessThan(1e-5);
  });

  it("keeps on the host what a package cannot hold: 64 bits, complex numbers, no elements, many dimensions", async () => {
    const held = {
      long: hostTensor("i64", [1], [2 ** 32 + 1]),
      word: hostTensor("u32", [1], [2 ** 32 - 1]),
      double: hostTensor("f64", [1], [0.1]),
      complex: hostTensor("c64", [1], [1, 2]),
      none: hostTensor("f32", [0, 3], []),
      deep: hostTensor("f32", [1, 1, 1, 1, 1, 2], [3, 4]),
    };
    const b = new GraphBuilder(opTable, "held");
    const g = typedBuilder(b);
    const x = b.input("signal", tensor("f32", [STEPS, WIDTH]));
    b.output("y", g.add([x, x]));
    for (const [name, value] of Object.entries(held)) {
      b.output(name, g.constant(value));
      b.output(`${name} given`, b.input(`${name} in`, tensor(value.dtype, value.shape)));
    }
    const state = b.state("count", tensor("i64", [1]), { rewind: "none" });
    b.output("count", state);
    b.setState("count", g.constant(held.long));
    const route = routeGraph(legal(b.finish()), { table: opTable, entries, target: target("exact") });
    expect(isWhole(route.graph, route.parts)).toBe(false);
    expect(
      route.parts.map(({ inputs, outputs }) => [inputs, outputs].map((all) => all.map(({ name }) => name))),
    ).toEqual([[["signal"], ["y"]]]);
    const given = Object.fromEntries(Object.entries(held).map(([name, value]) => [`${name} in`, value]));
    const { outputs, states, sides } = await runOn(route, "held", coremlKernel, { signal, ...given });
    expect(sides).toEqual(["coreml"]);
    for (const [name, value] of Object.entries(held)) {
      expect(outputs[name]).toEqual(value);
      expect(outputs[`${name} given`]).toEqual(value);
    }
    expect(outputs["count"]?.data).toEqual(Float64Array.of(0));
    expect(states["count"]).toEqual(held.long);
  });

  it("refuses a feature that would be cut or wrapped", () => {
    const feature = { feature: "n", dtype: "int32", shape: [1] } as const;
    const refusal = expect.objectContaining({ code: "BUG_INVARIANT" });
    expect(() => toFeature(feature, hostTensor("i64", [1], [1]))).toThrow(refusal);
    const made = { dtype: "int32", shape: [1], data: Int32Array.of(1) } as const;
    expect(() => fromFeature(feature, made, tensor("u32", [1]))).toThrow(refusal);
  });

  it("names a missing input and stops when cancelled", async () => {
    const route = demoRoute("exact");
    const runner = new HybridRunner({
      table: opTable,
      program: programOf(route),
      runner: new Simulator({
        specificationVersion: 9,
        program: { functions: [], buildInfo: {} },
        functions: [],
        defaultFunction: "main",
        userDefined: {},
        weights: undefined,
      }),
      host,
      kernel: coremlKernel,
    });
    await expect(runner.run({})).rejects.toMatchObject({ code: "INPUT_ARGUMENT" });
    await expect(runner.run({ signal }, { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "CANCELLED" });
  });
});

describe("custom functions", () => {
  const CLIP = "test.clip";
  /** A function of this program between two parts that Core ML runs. */
  function clipped(): Graph {
    const b = new GraphBuilder(opTable, "clipped");
    const g = typedBuilder(b);
    const x = b.input("signal", tensor("f32", [STEPS, WIDTH]));
    const [y] = g.custom([g.tanh([x])], { name: CLIP, outputs: [`f32[${STEPS},${WIDTH}]`] });
    b.output("y", g.sin([y!]));
    return b.finish();
  }
  const route = (): Route => routeGraph(legal(clipped()), { table: opTable, entries, target: target("exact") });
  const filled = (x: HostTensor | undefined, value: number): readonly HostTensor[] =>
    x === undefined ? [] : [{ ...x, data: x.data.map(() => value) }];
  const results = async (name: string): Promise<ReadonlySet<number>> => {
    const { outputs, sides } = await runOn(route(), name);
    expect(sides).toEqual(["coreml", "host", "coreml"]);
    return new Set(outputs["y"]?.data);
  };

  it("are called as registered for Core ML, which may wait, else by their meaning, and are refused without either", async () => {
    const calls: string[] = [];
    const undoMeaning = registerCustomKernel(CLIP, { summary: "one", run: ([x]) => filled(x, 1) });
    const undo = registerCoremlKernel(CLIP, async ([x], types) => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      calls.push(types.map(formatType).join());
      return filled(x, 0);
    });
    expect(() => registerCoremlKernel(CLIP, () => [])).toThrow(expect.objectContaining({ code: "IR_STRUCTURE" }));
    expect(await results("registered")).toEqual(new Set([0]));
    expect(calls).toEqual([`f32[${STEPS},${WIDTH}]`]);
    // The evaluator knows the meaning alone.
    expect(finish(evaluate(clipped(), { inputs: { signal } })).outputs["y"]?.data[0]).toBe(Math.sin(1));

    undo();
    expect(await results("meaning")).toEqual(new Set([Math.fround(Math.sin(1))]));
    expect(calls).toHaveLength(1);

    undoMeaning();
    undoMeaning();
    await expect(runOn(route(), "unregistered")).rejects.toMatchObject({
      code: "UNSUPPORTED_OP",
      message: `[custom] no kernel named "${CLIP}" is registered: have ${SOFT_THRESHOLD}`,
      hint: expect.stringContaining("registerCoremlKernel") as string,
    });
  });

  it("without a meaning run on a route, and nowhere else", async () => {
    const undo = registerCoremlKernel(CLIP, ([x]) => filled(x, 0));
    expect(await results("route-only")).toEqual(new Set([0]));
    expect(() => finish(evaluate(clipped(), { inputs: { signal } }))).toThrow(
      expect.objectContaining({ code: "UNSUPPORTED_OP", hint: expect.stringContaining("registerCustomKernel") }),
    );
    undo();
    expect(() => coremlKernel(CLIP)).toThrow(expect.objectContaining({ code: "UNSUPPORTED_OP" }));
  });

  it("that are not registered are told before the first part runs", async () => {
    const asked: string[] = [];
    const simulator = {
      label: "coreml-sim",
      truth: "simulated",
      newState: () => ({
        copy: () => undefined,
        read: () => undefined,
        write: () => undefined,
        dispose: () => undefined,
      }),
      function: (name: string) => ({ predict: () => Promise.reject(new Error(`${name} was run`)) }),
    } as unknown as HybridOptions["runner"];
    const kernel = (name: string): CoremlKernel => (asked.push(name), coremlKernel(name));
    const runner = new HybridRunner({ table: opTable, program: programOf(route()), runner: simulator, host, kernel });
    await expect(runner.run({ signal })).rejects.toMatchObject({ code: "UNSUPPORTED_OP" });
    expect(asked).toEqual([CLIP]);
  });

  it("have to give what their node says", async () => {
    for (const wrong of [() => [], ([x]: readonly HostTensor[]) => filled(x && { ...x, dtype: "f64" }, 0)]) {
      const undo = registerCoremlKernel(CLIP, wrong);
      await expect(runOn(route(), "wrong")).rejects.toMatchObject({ code: "RUN_FAILED" });
      undo();
    }
  });

  it("are what the demo graph runs by: its own function for Core ML, in f32, which is near its meaning and not the same", async () => {
    expect(() => registerCoremlKernel(SOFT_THRESHOLD, () => [])).toThrow(/registered already/);
    const made: HostTensor[] = [];
    const counting = (name: string): CoremlKernel => {
      expect(name).toBe(SOFT_THRESHOLD);
      return async (inputs, types) => {
        const out = await coremlKernel(name)(inputs, types);
        const meant = customKernel(name).run(inputs, types);
        expect(relativeRms(out[0], meant[0])).toBeGreaterThan(0);
        expect(relativeRms(out[0], meant[0])).toBeLessThan(1e-6);
        expect(out[0]?.data).toEqual(out[0]?.data.map(Math.fround));
        made.push(...out);
        return out;
      };
    };
    await runOn(demoRoute("exact"), "demo", counting);
    expect(made).toHaveLength(1);
  });
});

describe("control flow", () => {
  /** A loop that Core ML runs, then a choice with a Fourier transform in one branch, which it cannot. */
  function control(): Graph {
    const b = new GraphBuilder(opTable, "control");
    const g = typedBuilder(b);
    const x = b.input("signal", tensor("f32", [STEPS, WIDTH]));
    const types = [tensor("i32", []), g.typeOf(x)];
    const count = (h: typeof g, value: number) => h.constant(hostTensor("i32", [], [value]));
    const [, turned] = g.while([count(g, 0), g.tanh([x])], { carried: 2, maxIterations: 8 }, "loop", [
      g.region("condition", types, (h, i) => [h.compare([i, count(h, 3)], { op: "lt" })]),
      g.region("body", types, (h, i, a) => [h.add([i, count(h, 1)]), h.sin([h.add([a, a])])]),
    ]);
    const largest = g.reduce([x], { kind: "max", axes: [0, 1] });
    const flag = g.compare([largest, g.constant(hostTensor("f32", [], [0.5]))], { op: "gt" });
    const [chosen] = g.if([flag, turned!], {}, "choice", [
      g.region("then", types.slice(1), (h, a) => [h.fft([a], { inverse: false, norm: "ortho" })]),
      g.region("else", types.slice(1), (_h, a) => [a]),
    ]);
    b.output("y", g.sigmoid([chosen!]));
    return b.finish();
  }

  it("loops on Core ML, on its CPU or GPU, and hosts the choice as a whole", async () => {
    const graph = legal(control());
    const route = routeGraph(graph, { table: opTable, entries, target: target("exact") });
    expect(route.parts.map(({ side }) => side)).toEqual(["coreml", "host", "coreml"]);
    const opsOn = (side: string): readonly (string | undefined)[] =>
      route.parts.filter((part) => part.side === side).flatMap((part) => part.nodes.map((id) => graph.nodes[id]?.op));
    expect(opsOn("host")).toEqual(["if"]);
    expect(opsOn("coreml")).toContain("while");
    const plan = route.plans.get(0)!;
    const loop = route.lowered!.functions[0]!.mil.operations.findIndex(({ type }) => type === "while_loop");
    const planned = plan.ops[plan.operations.indexOf(loop)]!;
    expect(planned.preferred).not.toBe("ane");
    expect(planned.findings.map(({ rule }) => rule)).toContain("ane-control-flow");
    const { outputs, sides } = await runOn(route, "control");
    expect(sides).toEqual(["coreml", "host", "coreml"]);
    const want = finish(evaluate(control(), { inputs: { signal } })).outputs["y"];
    expect(relativeRms(outputs["y"], want)).toBeLessThan(1e-5);
  });
});
