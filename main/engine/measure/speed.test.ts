// Predicted times against hand arithmetic: bytes over bandwidth bound every rate, and the parts are the whole.
import { describe, expect, it } from "vitest";
import { coremlCost } from "../../compiler/cost/coremlCost.ts";
import { graphCost } from "../../compiler/cost/graphCost.ts";
import type { Machine } from "../../compiler/cost/machines.ts";
import { machineFor, MACHINES } from "../../compiler/cost/machines.ts";
import type { StepCost } from "../../compiler/cost/stepCost.ts";
import type { Route } from "../../backends/coreml/hybrid/route.ts";
import { NO_OPTIONS } from "../../backends/coreml/levers.ts";
import { heldByMlx } from "../../backends/mlx/weightForms.ts";
import { deviceOf } from "../../contract/views/common.ts";
import { GraphBuilder } from "../../ir/builder.ts";
import type { Graph } from "../../ir/graph.ts";
import { finish } from "../../ir/steps.ts";
import { heldAsStored } from "../../ir/heldBytes.ts";
import { tensor } from "../../ir/type.ts";
import { opTable, typedBuilder } from "../../ops/index.ts";
import { seededRandom } from "../../testing/random.ts";
import { routeFor } from "../../testing/routes.ts";
import { speedOf } from "./speed.ts";

const ELSEWHERE = { platform: "linux", chip: "", cores: 1, totalBytes: 0 };
const TYPES = ["f16", "q8_0", "q4_0"] as const;
type Type = (typeof TYPES)[number];

/** Bits of a weight, by hand: codes, and of 32 weights a scale (and what else a form has). */
const BITS: Readonly<Record<"file" | "ane" | "gpu" | "mlx", Readonly<Record<Type, number>>>> = {
  file: { f16: 16, q8_0: 8 + 16 / 32, q4_0: 4 + 16 / 32 },
  ane: { f16: 16, q8_0: 16, q4_0: 16 },
  gpu: { f16: 16, q8_0: 8 + 16 / 32, q4_0: 4 + (16 + 4) / 32 },
  mlx: { f16: 16, q8_0: 8 + 64 / 32, q4_0: 4 + 64 / 32 },
};

interface Shape {
  readonly width: number;
  readonly inner: number;
  readonly vocabulary: number;
  readonly blocks: number;
  readonly type: Type;
}

/** One token through blocks of two matrices, and a head. */
function modelOf({ width, inner, vocabulary, blocks, type }: Shape, context = 1): Graph {
  const b = new GraphBuilder(opTable, "model");
  const g = typedBuilder(b);
  const matrix = (name: string, rows: number, columns: number) =>
    b.param(name, tensor(type, [rows, columns]), { file: "f", tensor: name });
  let x = b.input("x", tensor("f32", [context, width]));
  for (let i = 0; i < blocks; i++) {
    const up = g.silu([g.linear([x, matrix(`blk.${i}.ffn_up.weight`, inner, width)])]);
    x = g.add([x, g.linear([up, matrix(`blk.${i}.ffn_down.weight`, width, inner)])]);
  }
  b.output("y", g.linear([x, matrix("output.weight", vocabulary, width)]));
  return b.finish();
}

const weightsOf = ({ width, inner, vocabulary, blocks }: Shape): number =>
  blocks * 2 * width * inner + vocabulary * width;
const sum = (values: Iterable<number>): number => [...values].reduce((all, value) => all + value, 0);

/** Of matrices on the Neural Engine places, and for 16 rows a table of halves; the CPU has unpacked the others. */
const inPalette = ({ graph, nodes }: Route, bits: 4 | 6 | 8): number =>
  sum(
    graph.nodes.flatMap(({ id, op, inputs }) => {
      if (op !== "linear") return [];
      const [rows, columns] = (graph.nodes[inputs[1]?.node ?? -1]?.outputs[0]?.shape ?? []).map(Number);
      const count = (rows ?? NaN) * (columns ?? NaN);
      if (deviceOf(nodes.device[id] ?? 0) !== "ane") return [2 * count];
      // Tables of more than a quarter of the places would not pay: there is one.
      const isGrouped = 4 * 2 ** bits * 16 <= 16 * (columns ?? NaN) * bits;
      return [(count * bits) / 8 + 2 * 2 ** bits * (isGrouped ? (rows ?? NaN) / 16 : 1)];
    }),
  );

const UNITS = ["cpu-ane", "all", "cpu-gpu", "cpu"] as const;
interface Case {
  readonly shape: Shape;
  readonly machine: Machine;
  readonly cost: StepCost;
  readonly weightBytes: number;
}

function caseOf(random: ReturnType<typeof seededRandom>): Case {
  const shape: Shape = {
    width: 256 * (1 + random.integer(16)),
    inner: 256 * (1 + random.integer(40)),
    vocabulary: 256 * (8 + random.integer(800)),
    blocks: 1 + random.integer(3),
    type: random.pick(TYPES),
  };
  const machine = machineFor({ chip: random.pick(MACHINES).id }, ELSEWHERE);
  const graph = modelOf(shape);
  const bits = (form: keyof typeof BITS): number => (weightsOf(shape) * BITS[form][shape.type]) / 8;
  const backend = random.pick(["coreml", "coreml", "mlx", "cpu"] as const);
  if (backend === "coreml") {
    const units = random.pick(UNITS);
    const profile = units === "cpu-ane" ? "ane" : "gpu";
    const palette = profile === "ane" ? random.pick([null, 4, 6, 8] as const) : null;
    const route = routeFor(graph, { units, profile, context: 1, options: { ...NO_OPTIONS, palette } });
    const weightBytes = palette === null ? bits(profile) : inPalette(route, palette);
    return { shape, machine, cost: finish(coremlCost({ route, machine, tokens: 1 })), weightBytes };
  }
  const [held, unit, form] =
    backend === "mlx" ? ([heldByMlx, "gpu", "mlx"] as const) : ([heldAsStored, "cpu", "file"] as const);
  return {
    shape,
    machine,
    cost: finish(graphCost({ graph, bindings: {}, held, machine, unit, tokens: 1 })),
    weightBytes: bits(form),
  };
}

describe("200 random shapes, types and targets", () => {
  const random = seededRandom(30);
  const cases = Array.from({ length: 200 }, () => caseOf(random));

  it("move the weights as the target holds them", () => {
    for (const { cost, weightBytes, shape } of cases) {
      const held = sum(cost.segments.map((segment) => segment.weightBytes));
      expect(held).toBeGreaterThanOrEqual(weightBytes);
      // Core ML's linear layers have a bias for each row.
      const rows = shape.blocks * (shape.inner + shape.width) + shape.vocabulary;
      expect(held).toBeLessThanOrEqual(weightBytes + 2 * rows);
    }
  });

  it("are no faster than their bytes over the bandwidth, and no slower than what programs reach at least", () => {
    let told = 0;
    for (const { cost, machine, weightBytes } of cases) {
      const { generate, token } = speedOf({
        machine,
        decode: cost,
        prefill: undefined,
        writes: true,
        wholeText: false,
      });
      const fastest = Math.max(...Object.values(machine.bandwidth).map(({ perSecond }) => perSecond));
      const moved = sum(cost.segments.map((segment) => segment.weightBytes + segment.valueBytes));
      const slowest = Math.min(
        ...Object.values(machine.bandwidth).map(({ perSecond, reach }) => perSecond * reach.low),
      );
      const slowestRate = Math.min(...Object.values(machine.rate).map(({ perSecond, reach }) => perSecond * reach.low));
      const flops = sum(cost.segments.map((segment) => segment.flops));
      const longest = moved / slowest + flops / slowestRate + cost.overhead.high + cost.caches.high;
      expect(token.high).toBeLessThanOrEqual(longest * (1 + 1e-9));
      if (generate === null) continue;
      told++;
      expect(generate.high).toBeLessThan(fastest / weightBytes);
      expect(generate.low).toBeGreaterThanOrEqual((1 - 1e-9) / longest);
      expect(generate.value).toBeCloseTo(1 / token.value, 9);
    }
    // Some are too small for a rate, most are not.
    expect(told).toBeGreaterThan(100);
    expect(told).toBeLessThan(200);
  });

  it("have parts that are the whole: ops and starts of segments, hops, caches; the rows add up to a token", () => {
    for (const { cost, machine } of cases)
      for (const bound of ["value", "low", "high"] as const) {
        const segments = sum(cost.segments.map(({ work, starting }) => work[bound] + starting[bound]));
        const whole = segments + sum(cost.hops.map((hop) => hop[bound])) + cost.caches[bound];
        expect(cost.step[bound]).toBeCloseTo(whole, 12);
        expect(sum(cost.nodes[bound])).toBeLessThanOrEqual(segments * (1 + 1e-9));
        const { rows, token } = speedOf({ machine, decode: cost, prefill: undefined, writes: true, wholeText: false });
        expect(sum(rows.map(({ value }) => value[bound] ?? NaN))).toBeCloseTo(token[bound] ?? NaN, 12);
      }
  });
});

describe("by hand", () => {
  const m4 = machineFor({ chip: "m4" }, ELSEWHERE);
  const shape: Shape = { width: 1024, inner: 3072, vocabulary: 65_536, blocks: 2, type: "f16" };

  it("a matrix of f16 on the Neural Engine takes its bytes over 55 to 85 % of 120 GB/s", () => {
    const graph = modelOf(shape);
    const cost = finish(
      coremlCost({
        route: routeFor(graph, { units: "cpu-ane", profile: "ane", context: 1 }),
        machine: m4,
        tokens: 1,
      }),
    );
    const up = graph.nodes.find(({ op }) => op === "linear")!;
    const named = cost.nodes.at(up.id);
    // And in halves its operands, 1024 in and 3072 out, and a bias for each row.
    const bytes = 2 * (1024 * 3072 + 1024 + 3072 + 3072);
    expect(named.low).toBeCloseTo(bytes / (120e9 * 0.85), 9);
    expect(named.high).toBeCloseTo(bytes / (120e9 * 0.55), 9);
    expect(named.value).toBeCloseTo(bytes / (120e9 * 0.7), 9);
  });

  it("a prompt of 1 000 tokens is as many steps as it takes, each by its arithmetic", () => {
    const tokens = 512;
    const cost = finish(
      graphCost({
        graph: modelOf(shape, tokens),
        bindings: {},
        held: heldByMlx,
        machine: m4,
        unit: "gpu",
        tokens,
      }),
    );
    const decode = finish(
      graphCost({
        graph: modelOf(shape),
        bindings: {},
        held: heldByMlx,
        machine: m4,
        unit: "gpu",
        tokens: 1,
      }),
    );
    const { prompt } = speedOf({ machine: m4, decode, prefill: cost, writes: true, wholeText: false });
    expect(prompt?.value).toBeCloseTo(2 * cost.step.value, 12);
    const flops = 2 * tokens * weightsOf(shape);
    expect(cost.segments[0]?.flops).toBeGreaterThan(flops);
    expect(cost.segments[0]?.flops).toBeLessThan(flops * 1.01);
    expect(prompt?.low).toBeGreaterThan((2 * flops) / (4.3e12 * 0.5));
    expect(prompt?.low).toBeLessThan((2 * flops * 1.2) / (4.3e12 * 0.5));
  });

  it("is told of no longer prompt than the model holds", () => {
    const shape: Shape = { width: 256, inner: 256, vocabulary: 2048, blocks: 1, type: "q8_0" };
    const cost = (tokens: number) =>
      finish(graphCost({ graph: modelOf(shape), bindings: {}, held: heldByMlx, machine: m4, unit: "gpu", tokens }));
    const of = { machine: m4, decode: cost(1), prefill: cost(64), writes: true, wholeText: false };
    const [short, long] = [speedOf({ ...of, context: 256 }), speedOf({ ...of, context: 32_768 })];
    expect(short.promptTokens).toBe(256);
    expect(short.prompt?.basis).toBe("4 steps of 64 tokens");
    expect(long.promptTokens).toBe(1000);
  });

  it("tells no rate where starting decides, and says so", () => {
    const small: Shape = { width: 256, inner: 256, vocabulary: 2048, blocks: 1, type: "q8_0" };
    const decode = finish(
      graphCost({
        graph: modelOf(small),
        bindings: {},
        held: heldByMlx,
        machine: m4,
        unit: "gpu",
        tokens: 1,
      }),
    );
    const speed = speedOf({ machine: m4, decode, prefill: undefined, writes: true, wholeText: false });
    expect(speed.generate).toBeNull();
    expect(speed.sentence).toMatch(/^No rate: \d+ % of a step is starting ops/);
  });
});
