/**
 * Every op that moves elements, over its samples with complex numbers for floats: the reference against NumPy, the CPU engine
 * against the reference, and gradients against those of the real parts and of the imaginary parts.
 */
import { describe, expect, it } from "vitest";
import { cotangentName, gradientGraph, gradientName } from "../autodiff/vjp.ts";
import { legalise } from "../compiler/legalise.ts";
import type { AttrRecord } from "../ir/attributes.ts";
import { GraphBuilder } from "../ir/builder.ts";
import { isFloat, isPacked } from "../ir/dtype.ts";
import type { Graph, Value } from "../ir/graph.ts";
import { tensorBytes } from "../ir/hostBytes.ts";
import type { HostTensor } from "../ir/hostTensor.ts";
import { hostTensor } from "../ir/hostTensor.ts";
import { finish } from "../ir/steps.ts";
import { like } from "../ir/type.ts";
import { loadAddon } from "../node/native/addon.ts";
import { cpuDevice } from "../runtime/devices/cpu.ts";
import { numbersOf } from "../testing/nativeTensors.ts";
import { numpyEval, oracleMissing, tensor } from "../testing/oracle.ts";
import type { OracleInputs } from "../testing/oracle.ts";
import type { AnyOp, Sample, SampleInput } from "./defineOp.ts";
import { evaluate } from "./evaluate.ts";
import { OPS, opOf, opTable } from "./index.ts";
import { inputName, outputName, sampleGraph, sampleRun, sampleTensors } from "./sampleData.ts";

type AnySample = Sample<AttrRecord>;

/** The sample with other types for its floats: complex numbers are twice as many. */
function typed(sample: AnySample, dtype: "c64" | "f32"): AnySample {
  const inputs = sample.inputs.map(({ type, fill }): SampleInput => {
    if (!isFloat(type.dtype)) return { type, fill };
    const isListed = fill.kind === "values" && dtype === "c64";
    return {
      type: like(type, dtype),
      fill: isListed ? { kind: "values", data: fill.data.flatMap((value, i) => [value, i - 0.5]) } : fill,
    };
  });
  return { ...sample, inputs };
}

const MOVING = Object.keys(OPS).flatMap((name) => {
  const op = opOf(name)!;
  const moves = op.traits.includes("movement") || name === "pad" || name === "reshape";
  return moves ? op.samples.map((sample) => [`${name}: ${sample.title}`, op, sample] as const) : [];
});
/** Of each op, samples with floats in plain types and of their own: doubles say nothing that singles do not. */
const CASES = MOVING.filter(
  ([title, , { inputs }]) =>
    !title.endsWith("float64") &&
    inputs.some(({ type }) => isFloat(type.dtype)) &&
    !inputs.some(({ type }) => isPacked(type.dtype)),
);

const missing = oracleMissing();
describe.skipIf(missing)(`movements of complex numbers ${missing ?? ""}`, () => {
  it("are all that there are", () => {
    const names = [...new Set(CASES.map(([, op]) => op.name))].sort();
    expect(names).toEqual([
      ...["concat", "expand", "gather", "gather_elements", "gather_nd", "narrow", "pad", "reshape", "reverse"],
      ...["roll", "slice", "split", "tile", "transpose", "trilu", "where"],
    ]);
  });

  it.each(CASES)("%s", async (_, op, sample) => {
    const complex = typed(sample, "c64");
    const expected = valuesOf(op, complex);
    const { oracle } = op;
    if (!("numpy" in oracle)) throw new Error(`${op.name} has no oracle in NumPy`);
    const numpy = await numpyEval(oracle.numpy, oracleInputs(complex, expected));
    expect(expected.map(({ dtype, shape, data }) => [dtype, shape, [...data]])).toEqual(
      numpy.map(({ shape, data }) => ["c64", shape, [...data]]),
    );
    const onCpu = await cpuValues(op, complex);
    expect(onCpu).toEqual(expected.map(({ data }) => [...data]));
  });

  it.each(CASES.filter(([, , { differentiable }]) => differentiable !== false))("gradient of %s", (_, op, sample) => {
    const seeds = valuesOf(op, typed(sample, "c64")).map(({ shape, data }, i): HostTensor =>
      hostTensor(
        "f32",
        [...shape, 2],
        data.map((_value, k) => Math.sin(k + 7 * i)),
      ),
    );
    const complex = typed(sample, "c64");
    const made = gradients(blockGraph(op, complex), sampleTensors(complex).map(asBlock), seeds, complex);
    const real = typed(sample, "f32");
    const parts = [0, 1].map((part) =>
      gradients(
        sampleGraph(op, real),
        sampleTensors(real),
        seeds.map((seed) => onePart(seed, part)),
        real,
      ),
    );
    expect(Object.keys(made).length).toBeGreaterThan(0);
    for (const [name, { data }] of Object.entries(made))
      parts.forEach((each, part) => {
        const wanted = each[name]!.data;
        expect(data.length).toBe(2 * wanted.length);
        wanted.forEach((value, k) => expect(data[2 * k + part]!).toBeCloseTo(value, 5));
      });
  });
});

const valuesOf = (op: AnyOp, sample: AnySample): readonly HostTensor[] =>
  Object.values(finish(evaluate(sampleGraph(op, sample), sampleRun(sample, sampleTensors(sample)))).outputs);

const onePart = ({ shape, data }: HostTensor, part: number): HostTensor =>
  hostTensor(
    "f32",
    shape.slice(0, -1),
    data.filter((_, i) => i % 2 === part),
  );

/** A complex number as a pair of floats, which is its block. */
const asBlock = (x: HostTensor): HostTensor => (x.dtype === "c64" ? hostTensor("f32", [...x.shape, 2], x.data) : x);

/** The op between blocks: leaves and outputs that have a gradient are floats. */
function blockGraph(op: AnyOp, sample: AnySample): Graph {
  const builder = new GraphBuilder(opTable, op.name);
  const only = (name: string, x: Value, attrs: AttrRecord): Value => builder.apply(name, [x], attrs)[0]!;
  const operands = sample.inputs.map(({ type: { dtype, shape } }, i) => {
    if (dtype !== "c64") return builder.input(inputName(i), { dtype, shape });
    const block = builder.input(inputName(i), { dtype: "f32", shape: [...shape, 2] });
    return only("reshape", only("to_complex", block, {}), { shape });
  });
  builder.apply(op.name, operands, sample.attrs).forEach((y, i) => {
    const { shape } = builder.typeOf(y);
    builder.output(outputName(i), only("from_complex", only("reshape", y, { shape: [...shape, 1] }), {}));
  });
  return builder.finish();
}

function oracleInputs(sample: AnySample, [first]: readonly HostTensor[]): OracleInputs {
  const bound = JSON.parse(JSON.stringify(sample.attrs), (_key, value: unknown) =>
    typeof value === "string" && sample.bindings?.[value] !== undefined ? sample.bindings[value] : value,
  ) as Record<string, OracleInputs[string]>;
  const xs = sampleTensors(sample).map((x) => tensor(x.dtype, x.shape, x.data));
  const named = Object.fromEntries(xs.map((x, i) => [inputName(i), x]));
  return { ...named, xs, a: { ...bound, title: sample.title }, s: [...first!.shape] };
}

async function cpuValues(op: AnyOp, sample: AnySample): Promise<readonly (readonly number[])[]> {
  const graph = sampleGraph(op, sample);
  const { graph: legal, blocked } = finish(legalise(graph, "cpu"));
  expect([...blocked.values()]).toEqual([]);
  const engine = loadAddon();
  const compiled = cpuDevice(engine, { threads: 1, limits: sample.bindings ?? {} }).compile(legal);
  const session = compiled.open();
  try {
    const { inputs } = sampleRun(sample, sampleTensors(sample));
    const { outputs } = await session.run({
      inputs: Object.fromEntries(Object.entries(inputs).map(([name, x]) => [name, tensorBytes(x)])),
      symbols: sample.bindings ?? {},
      fetch: graph.outputs.map(({ name }) => name),
    });
    return graph.outputs.map(({ name }) => [...numbersOf(outputs[name]!.dtype, outputs[name]!.bytes, engine)]);
  } finally {
    session.dispose();
    compiled.dispose();
  }
}

/** By the names of operands. */
function gradients(
  graph: Graph,
  tensors: readonly HostTensor[],
  seeds: readonly HostTensor[],
  { bindings = {} }: AnySample,
): Readonly<Record<string, HostTensor>> {
  const wrt = tensors.flatMap(({ dtype }, i) => (dtype === "f32" ? [inputName(i)] : []));
  const given = tensors.map((x, i) => [inputName(i), x] as const);
  const cotangents = seeds.map((seed, i) => [cotangentName(outputName(i)), seed] as const);
  const inputs = Object.fromEntries([...given, ...cotangents]);
  const gradient = gradientGraph(graph, { of: seeds.map((_, i) => outputName(i)), wrt });
  const { outputs } = finish(evaluate(gradient, { inputs, bindings }));
  return Object.fromEntries(wrt.map((name) => [name, outputs[gradientName(name)]!]));
}
