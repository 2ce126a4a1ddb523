// A lever changes where a program can run and not what it computes: with and without it, the simulator gives the same numbers.
// A palette rounds the weights, and nothing else.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { compile } from "../../compiler/compile.ts";
import { coremlEntry } from "../../engine/models/packageRequest.ts";
import { dequantize } from "../../formats/quant/dequantize.ts";
import { GraphBuilder } from "../../ir/builder.ts";
import type { Graph } from "../../ir/graph.ts";
import { finish } from "../../ir/steps.ts";
import { tensor } from "../../ir/type.ts";
import { packageReader, packageWriter } from "../../node/files/packageDirectory.ts";
import { opTable, typedBuilder } from "../../ops/index.ts";
import { exportPackage } from "./export.ts";
import type { Route } from "./hybrid/route.ts";
import { routeGraph } from "./hybrid/route.ts";
import type { TargetOptions } from "./levers.ts";
import { NO_OPTIONS } from "./levers.ts";
import { partRows } from "./lowering/rowParts.ts";
import { openPackage } from "./package.ts";
import { movedOn } from "./plan/predict.ts";
import type { PackageTensor } from "./package/packageTensor.ts";
import type { PlanTarget } from "./plan/target.ts";
import { resolveTarget } from "./plan/target.ts";
import { Simulator } from "./simulator/simulator.ts";

const folder = mkdtempSync(join(tmpdir(), "rlx-levers-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** More rows than an M2's Neural Engine takes (16 384), and q8_0: a scale of 2^-7 before each 32 codes. */
const [ROWS, WIDTH] = [16_500, 32];
const BYTES = Uint8Array.from({ length: ROWS * 34 }, (_, i) =>
  i % 34 === 0 ? 0 : i % 34 === 1 ? 0x20 : (i * 7919 + (i >> 5) * 104_729) & 0xff,
);
const row = (id: number): readonly number[] => [...dequantize("q8_0", BYTES.subarray(id * 34, (id + 1) * 34), WIDTH)];

/** As the ends of a decoder: looks rows up, picks one of them, and multiplies it with the same table. */
function ends(steps: number): Graph {
  const builder = new GraphBuilder(opTable, "ends");
  const g = typedBuilder(builder);
  const ids = builder.input("ids", tensor("i32", [steps]));
  const rows = builder.input("rows", tensor("i32", [1]));
  const table = builder.param("table", tensor("q8_0", [ROWS, WIDTH]), { file: "", tensor: "table" });
  const found = g.gather([table, ids], { axis: 0 });
  const doubled = g.add([found, found]);
  builder.output("logits", g.linear([g.gather([doubled, rows], { axis: 0 }), table]));
  return builder.finish();
}

const targetOf = (options?: Partial<TargetOptions>, chip = "m2"): PlanTarget =>
  resolveTarget(
    {
      ...{ chip, os: "macos15", units: "cpu-ane", profile: "auto", context: 16 },
      ...(options && { options: { ...NO_OPTIONS, ...options } }),
    },
    "decode",
  );

const routed = (graph: Graph, target: PlanTarget): Route =>
  routeGraph(finish(compile(graph, { backend: "coreml" })).graph, { table: opTable, entries: coremlEntry, target });

async function logits(graph: Graph, target: PlanTarget, inputs: Readonly<Record<string, PackageTensor>>) {
  const path = join(
    folder,
    `${JSON.stringify(target.options ?? {}).length}-${graph.inputs.length}-${Math.random()}.mlpackage`,
  );
  const report = await exportPackage(
    {
      ...{ table: opTable, entries: coremlEntry, graph, target, variants: [{ name: "main", bindings: {} }] },
      *prepare(part) {
        return (yield* compile(part, { backend: "coreml" })).graph;
      },
      metadata: { shortDescription: "", author: "", license: "", version: "1", userDefined: {} },
    },
    {
      directory: await packageWriter(path),
      weights: { read: (_name, at, length) => Promise.resolve(BYTES.slice(at, at + length)), dequantize },
    },
  );
  const reader = packageReader(path);
  try {
    const run = await new Simulator(await openPackage(reader)).function("main").predict(inputs);
    return { values: [...(run["logits"]?.data ?? [])].map(Number), report };
  } finally {
    await reader.close();
  }
}

const ints = (...data: readonly number[]): PackageTensor => ({
  dtype: "int32",
  shape: [data.length],
  data: Int32Array.from(data),
});

describe("an output matrix in parts", () => {
  it("has as few parts as the limit allows, nearly equal, at multiples of 64", () => {
    // 151 936 rows are three parts of at most 65 536; a third is 50 645.3, and the next multiple of 64 is 50 688.
    expect(partRows(151_936, 65_536)).toBe(50_688);
    expect(Math.ceil(151_936 / partRows(151_936, 16_384))).toBe(10);
    expect(partRows(100, 99)).toBe(64);
    expect(partRows(130, 65)).toBe(65);
  });

  it("gives the same numbers, and rows are looked up in the parts", async () => {
    const inputs = { ids: ints(0, 8256, 16_499), rows: ints(1) };
    const [whole, split] = [
      await logits(ends(3), targetOf(), inputs),
      await logits(ends(3), targetOf({ splitRows: true }), inputs),
    ];
    expect(split.values).toEqual(whole.values);
    // By hand: twice the row, times each row.
    const x = row(8256).map((value) => 2 * value);
    for (const id of [0, 8255, 8256, ROWS - 1]) {
      const sum = row(id).reduce((all, value, i) => all + value * (x[i] ?? NaN), 0);
      expect(Math.abs((split.values[id] ?? NaN) - sum)).toBeLessThanOrEqual(2e-3 * Math.abs(sum) + 1e-3);
    }
    // Half of it in each of two records, and nothing twice.
    expect(split.report.weights.map(({ name, shape }) => [name, ...shape])).toEqual([
      ["table.rows_0", 8256, WIDTH],
      ["table.rows_8256", 8244, WIDTH],
    ]);
    expect(split.report.weightBytes - whole.report.weightBytes).toBeLessThan(1024);
  });

  it("runs on the Neural Engine, and only the joined result does not", () => {
    const placed = (options?: Partial<TargetOptions>): readonly string[] => {
      const { plans, lowered } = routed(ends(1), targetOf(options));
      const plan = plans.get(0);
      return [...(plan?.operations ?? [])].flatMap((operation, i) => {
        const op = lowered?.functions[0]?.mil.operations[operation];
        return op?.type === "linear" ? [plan?.ops[i]?.supported.join("+") ?? ""] : [];
      });
    };
    expect(placed()).toEqual(["cpu"]);
    expect(placed({ splitRows: true })).toEqual(["ane+cpu", "ane+cpu"]);
  });

  it("leaves a matrix alone that the chip takes", () => {
    const functions = (chip: string): number | undefined =>
      routed(ends(1), targetOf({ splitRows: true }, chip)).lowered?.plan.weights.length;
    expect([functions("m2"), functions("m4")]).toEqual([2, 1]);
  });
});

describe("an island that picks rows", () => {
  it.each([1, 3])("of %s gives the same numbers without a gather", async (steps) => {
    const inputs = { ids: ints(...[5, 8256, 16_499].slice(0, steps)), rows: ints(steps - 1) };
    const [with_, without] = [
      await logits(ends(steps), targetOf({ islands: true }), inputs),
      await logits(ends(steps), targetOf(), inputs),
    ];
    expect(with_.values).toEqual(without.values);
    const gathers = (options?: Partial<TargetOptions>): number =>
      routed(ends(steps), targetOf(options)).lowered?.functions[0]?.mil.operations.filter((op) => op.type === "gather")
        .length ?? NaN;
    expect([gathers(), gathers({ islands: true })]).toEqual([2, 1]);
  });
});

describe("a palette", () => {
  const inputs = { ids: ints(8256), rows: ints(0) };
  const apart = (made: readonly number[], exact: readonly number[]): number =>
    Math.hypot(...made.map((value, i) => value - (exact[i] ?? NaN))) / Math.hypot(...exact);

  it("rounds the weights, in parts too, and is measured", async () => {
    const options = { palette: 6, splitRows: true } as const;
    const [exact, made] = [await logits(ends(1), targetOf(), inputs), await logits(ends(1), targetOf(options), inputs)];
    // Both operands come from the table: the row that was looked up, and the matrix.
    const [{ rmsError }] = [made.report.weights[0] ?? { rmsError: NaN }];
    expect(rmsError).toBeGreaterThan(0.005);
    expect(rmsError).toBeLessThan(0.03);
    expect(apart(made.values, exact.values)).toBeGreaterThan(rmsError / 4);
    expect(apart(made.values, exact.values)).toBeLessThan(2 * rmsError);
    expect(made.report.forms.map(({ form }) => form)).toEqual(["6-bit palette, one fp16 table"]);
    expect(made.report.weightBytes / exact.report.weightBytes).toBeLessThan(0.4);
  });

  it("is of f16 weights: exact ones have none", () => {
    const stated = {
      chip: "m2",
      os: "macos15",
      units: "cpu",
      context: 16,
      options: { ...NO_OPTIONS, palette: 4 },
    } as const;
    expect(() => resolveTarget({ ...stated, profile: "exact" }, "decode")).toThrow(/palette holds f16 values/u);
    expect(resolveTarget({ ...stated, profile: "ane" }, "decode").options?.palette).toBe(4);
  });

  it("is read by the Neural Engine as it is, and unpacked by the others", () => {
    const bytes = (units: "cpu-ane" | "cpu", options?: Partial<TargetOptions>): number => {
      const target = { ...targetOf(options, "m4"), units, profile: "ane" } as const;
      const [part] = routed(ends(1), target).functions.values();
      const [linear] = (part?.facts.kinds ?? []).filter(({ type }) => type === "linear");
      return movedOn(linear!, units === "cpu" ? "cpu" : "ane").weights;
    };
    const [count, zeros] = [ROWS * WIDTH, 2 * ROWS];
    expect([bytes("cpu-ane"), bytes("cpu")]).toEqual([2 * count + zeros, 2 * count + zeros]);
    expect(bytes("cpu-ane", { palette: 6 })).toBe(0.75 * count + 128 + zeros);
    expect(bytes("cpu", { palette: 6 })).toBe(2 * count + zeros);
  });
});
