/**
 * Loops over ops × samples: most tests of the op library are made here, from the samples alone. The
 * references are checked against NumPy, SciPy and JAX in conformance.oracle.test.ts.
 */
import { finish } from "../ir/steps.ts";
import { readdirSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { gradientGraph } from "../autodiff/vjp.ts";
import { batchGraph } from "../autodiff/vmap.ts";
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { AttrRecord } from "../ir/attributes.ts";
import { isFloat, isPacked } from "../ir/dtype.ts";
import type { Graph } from "../ir/graph.ts";
import { graphHash } from "../ir/hash.ts";
import type { HostTensor } from "../ir/hostTensor.ts";
import { hostTensor } from "../ir/hostTensor.ts";
import { parseGraph } from "../ir/text/build.ts";
import { printWhole } from "../ir/text/print.ts";
import { bindType, formatType, staticShape } from "../ir/type.ts";
import { verify } from "../ir/verify.ts";
import type { AnyNumber, AnyOp, Backend, Decomposition, Sample } from "./defineOp.ts";
import { STABLE_BACKENDS } from "./defineOp.ts";
import { evaluate } from "./evaluate.ts";
import { expandOps } from "./expand.ts";
import { OPS, opOf, opTable } from "./index.ts";
import { inputName, outputName, sampleGraph, sampleRun, sampleTensors } from "./sampleData.ts";

type AnySample = Sample<AttrRecord>;
const ops = Object.keys(OPS).map((name) => opOf(name)!);
const samples = ops.flatMap((op) => op.samples.map((sample) => [`${op.name}: ${sample.title}`, op, sample] as const));

/** Largest |a - b| / (1 + |b|). */
function distance(a: HostTensor, b: HostTensor): number {
  expect(formatType(a)).toBe(formatType(b));
  return a.data.reduce((worst, x, i) => {
    const y = b.data[i]!;
    return Object.is(x, y) ? worst : Math.max(worst, Math.abs(x - y) / (1 + Math.abs(y)));
  }, 0);
}

const runSample = (graph: Graph, sample: AnySample, tensors: readonly HostTensor[]) =>
  finish(evaluate(graph, sampleRun(sample, tensors)));

describe("every op", () => {
  it("is listed under the name of its file", () => {
    const here = fileURLToPath(new URL(".", import.meta.url));
    const files = readdirSync(here, { recursive: true, encoding: "utf8" })
      .filter((file) => file.includes("/") && !file.startsWith("families") && file.endsWith(".ts"))
      .filter((file) => !file.endsWith(".test.ts") && !file.endsWith("customKernels.ts"));
    expect(files.map((file) => basename(file, ".ts")).sort()).toEqual(Object.keys(OPS).sort());
    for (const [key, op] of Object.entries(OPS)) expect(op.name).toBe(key);
  });

  it.each(ops.map((op) => [op.name, op] as const))("%s has a summary, three samples, one of them symbolic", (_, op) => {
    expect(op.summary).toMatch(/\.$/);
    expect(op.samples.length).toBeGreaterThanOrEqual(3);
    const isSymbolic = (sample: AnySample): boolean =>
      sample.bindings !== undefined &&
      [...sample.inputs.map((input) => input.type), ...sampleGraph(op, sample).nodes.flatMap((n) => n.outputs)].some(
        (type) => type.shape.some((dim) => typeof dim === "string"),
      );
    expect(op.samples.some(isSymbolic)).toBe(true);
    expect(new Set(op.samples.map((sample) => sample.title)).size).toBe(op.samples.length);
  });

  it.each(ops.map((op) => [op.name, op] as const))("%s names its operands and results, each once", (_, op) => {
    // The count of the operands' names is a matter of types.
    expect(op.operands).toHaveLength(op.arity.most > 16 ? 0 : op.arity.most);
    const made = sampleGraph(op, op.samples[0]!).nodes.at(-1)!.outputs.length;
    expect([0, made]).toContain(op.results.length);
    expect(new Set(op.operands).size).toBe(op.operands.length);
    expect(new Set(op.results).size).toBe(op.results.length);
  });

  /** The sizes of a sample that has them bound; those of what it makes for an op without operands, or with a seed alone. */
  const shapesOf = (op: AnyOp, sample: AnySample): readonly (readonly number[])[] => {
    const given = sample.inputs.map((input) => input.type);
    const types =
      given.length > 0 && !op.name.startsWith("rng_") ? given : sampleGraph(op, sample).nodes.at(-1)!.outputs;
    return types.map((type) => staticShape(bindType(type, sample.bindings ?? {}), "sample"));
  };

  it.each(ops.map((op) => [op.name, op] as const))("%s has a sample with an odd size", (_, op) => {
    const sizes = op.samples.flatMap((sample) => shapesOf(op, sample).flat());
    expect(sizes.some((size) => size > 1 && size % 2 === 1)).toBe(true);
  });

  /** Axes at the end that mean something else in each operand: rows and columns. */
  const OWN_AXES: Readonly<Record<string, number>> = { matmul: 2, attention: 2 };

  /** Ops that take a size of 1 as they take another one, though nothing is stretched. */
  const NOT_STRETCHED: Readonly<Record<string, string>> = {
    gaussian_splat_render: "colours have harmonics of any degree",
    gather: "the axis that is indexed may have any size",
    gather_elements: "the axis that is indexed may have any size",
    gather_nd: "the axes that are indexed may have any size",
    qconv2d: "an axis that one window covers, whatever its size",
    conv: "an axis that one window covers, whatever its size",
    sample: "one of any number of positions is drawn",
    softmax_cross_entropy: "there may be any number of classes",
    dequantize_blocks: "a row may have any number of blocks",
    scaled_matmul: "a row may have any number of blocks",
    kv_append: "the cache may have any capacity",
    kv_append_packed: "the cache may have any capacity",
    attention_block: "the caches may have any capacity",
    custom_fn: "what the function makes of an operand is its own",
    if: "what the branches make of an operand is theirs",
    scan: "what the turns make of an operand is theirs",
    while: "what the turns make of an operand is theirs",
  };

  /** Whether the op makes the same of an operand with 1 for a size, or with a size for a 1. */
  function takesOne(op: AnyOp): boolean {
    const madeOf = (sample: AnySample): string | undefined => {
      try {
        return sampleGraph(op, sample).nodes.at(-1)!.outputs.map(formatType).join();
      } catch (error) {
        if (error instanceof WorkbenchError) return undefined;
        throw error;
      }
    };
    return op.samples.some((sample) => {
      const [whole, sizes] = [madeOf(sample), new Set(sample.inputs.flatMap(({ type }) => type.shape))];
      return sample.inputs.some(({ type }, operand) =>
        type.shape.some((dim, axis) =>
          (dim === 1 ? [...sizes].filter((size) => size !== 1) : [1]).some((size) => {
            const changed = { ...type, shape: type.shape.with(axis, size) };
            const inputs = sample.inputs.map((input, i) => (i === operand ? { ...input, type: changed } : input));
            return !isPacked(type.dtype) && madeOf({ ...sample, inputs }) === whole;
          }),
        ),
      );
    });
  }

  /** Two operands of different shapes, of which one fits the other when sizes of 1 and missing axes are stretched. */
  function stretches(op: AnyOp, sample: AnySample): boolean {
    const own = OWN_AXES[op.name] ?? 0;
    const shapes = shapesOf(op, sample).map((shape) => shape.slice(0, shape.length - own).reverse());
    return shapes.some((a) =>
      shapes.some(
        (b) => a.join() !== b.join() && a.every((size, i) => size === (b[i] ?? 1) || size === 1 || (b[i] ?? 1) === 1),
      ),
    );
  }

  const several = ops.filter((op) => op.samples.some((sample) => sample.inputs.length > 1));
  it.each(several.map((op) => [op.name, op] as const))(
    "%s has a sample with a broadcast, where it can have one",
    (_, op) => {
      if (op.name in NOT_STRETCHED) expect(takesOne(op), "no reason is needed").toBe(true);
      else if (takesOne(op)) expect(op.samples.some((sample) => stretches(op, sample))).toBe(true);
    },
  );

  it("finds the ops that broadcast", () => {
    const found = several.filter((op) => !(op.name in NOT_STRETCHED) && takesOne(op)).map((op) => op.name);
    const bits = ["bit_and", "bit_or", "bit_xor", "shift_left", "shift_right"];
    const logical = ["logical_and", "logical_or", "logical_xor"];
    const numbers = [
      "add",
      "atan2",
      "compare",
      "complex_div",
      "complex_mul",
      "div",
      "elementwise_region",
      "fake_quantize",
      "fake_quantize_lsq",
      "maximum",
      "minimum",
      "mod",
      "mul",
      "pow",
      "sub",
      "swiglu_clamped",
    ];
    const elementwise = [...bits, ...logical, ...numbers, "where"];
    expect(found.sort()).toEqual(["attention", "linear_grouped", "matmul", "selective_scan", ...elementwise].sort());
  });

  it.each(ops.map((op) => [op.name, op] as const))("%s gives reasons that are sentences", (_, op) => {
    const reasons = [op.gradient, op.batching, ...STABLE_BACKENDS.map((backend) => op.backends[backend])].flatMap(
      (entry) => ("reason" in entry ? [entry.reason] : []),
    );
    for (const reason of reasons) {
      expect(reason.length).toBeGreaterThan(20);
      expect(reason).not.toMatch(/todo|later|not yet|not implemented/i);
    }
  });
});

describe("inference", () => {
  it.each(samples)("%s: the reference has the inferred type", (_, op, sample) => {
    const graph = sampleGraph(op, sample);
    expect(verify(opTable, graph)).toEqual([]);
    const tensors = sampleTensors(sample);
    const { outputs } = runSample(graph, sample, tensors);
    const inferred = graph.nodes.at(-1)!.outputs.map((type) => formatType(bindType(type, sample.bindings ?? {})));
    expect(inferred.map((_t, i) => formatType(outputs[outputName(i)]!))).toEqual(inferred);
    if (tensors.some((x) => x.data.some(Number.isNaN))) return;
    for (const output of Object.values(outputs)) expect(output.data.every((x) => !Number.isNaN(x))).toBe(true);
  });
});

describe("text and hash", () => {
  it.each(samples)("%s: print and hash are stable, and the text is read back", (_, op, sample) => {
    const [a, b] = [sampleGraph(op, sample), sampleGraph(op, sample)];
    const text = printWhole(a);
    expect(printWhole(b)).toBe(text);
    expect(graphHash(b)).toBe(graphHash(a));
    expect(text).toContain(`${op.name}(`);
    const back = parseGraph(opTable, text);
    expect(graphHash(back)).toBe(graphHash(a));
    expect(back.nodes).toEqual(a.nodes);
  });
});

/** Decompositions of an op by where they are used. */
function decompositions(op: AnyOp): readonly (readonly [string, Decomposition<AttrRecord, AnyNumber>])[] {
  const entries = [
    ["gradient", op.gradient],
    ["batching", op.batching],
    ...STABLE_BACKENDS.map((backend: Backend) => [backend, op.backends[backend]!] as const),
  ] as const;
  const seen = new Set<unknown>();
  return entries.flatMap(([where, entry]) => {
    if (entry.kind !== "decompose" || seen.has(entry.via)) return [];
    seen.add(entry.via);
    return [[where, entry.via] as const];
  });
}

describe("decomposition", () => {
  const cases = samples.flatMap(([name, op, sample]) =>
    decompositions(op).map(([where, via]) => [`${name} (${where})`, op, sample, via] as const),
  );
  it.each(cases)("%s: equals the reference", (_, op, sample, via) => {
    const graph = sampleGraph(op, sample);
    const parts = expandOps(graph, "test", (o) => (o.name === op.name ? via : undefined));
    expect(verify(opTable, parts)).toEqual([]);
    expect(parts.nodes.some((node) => node.op === op.name)).toBe(false);
    const tensors = sampleTensors(sample);
    const [whole, taken] = [runSample(graph, sample, tensors), runSample(parts, sample, tensors)];
    for (const [name, value] of Object.entries(whole.outputs))
      expect(distance(taken.outputs[name]!, value), name).toBeLessThan(1e-9);
  });
});

/** Pseudo-random weights of the test function, so that no gradient cancels by symmetry. */
const cotangentOf = (type: HostTensor, salt: number): HostTensor =>
  hostTensor(
    type.dtype,
    type.shape,
    type.data.map((_, i) => Math.sin(1 + 3.7 * i + salt)),
  );

describe("gradient", () => {
  const cases = samples.filter(
    ([, op, sample]) => op.gradient.kind !== "nondifferentiable" && sample.differentiable !== false,
  );
  it.each(cases)("%s: equals central differences", (_, op, sample) => {
    const graph = sampleGraph(op, sample);
    const tensors = sampleTensors(sample);
    const primal = runSample(graph, sample, tensors).outputs;
    const of = Object.keys(primal).filter((name) => isFloat(primal[name]!.dtype));
    const wrt = sample.inputs.flatMap(({ type }, i) => (isFloat(type.dtype) && !isPacked(type.dtype) ? [i] : []));
    if (of.length === 0 || wrt.length === 0) return;
    const cotangents = Object.fromEntries(of.map((name, i) => [name, cotangentOf(primal[name]!, i)]));
    const gradient = gradientGraph(graph, { of, wrt: wrt.map(inputName) });
    expect(verify(opTable, gradient)).toEqual([]);
    const run = sampleRun(sample, tensors);
    const inputs = { ...run.inputs, ...Object.fromEntries(of.map((n) => [`cotangent.${n}`, cotangents[n]!])) };
    const analytic = finish(evaluate(gradient, { ...run, inputs })).outputs;
    // Differences are taken element by element, so that what does not change cancels exactly.
    const change = (up: readonly HostTensor[], down: readonly HostTensor[]): number => {
      const [high, low] = [runSample(graph, sample, up).outputs, runSample(graph, sample, down).outputs];
      return of.reduce(
        (sum, n) => sum + high[n]!.data.reduce((s, y, k) => s + (y - low[n]!.data[k]!) * cotangents[n]!.data[k]!, 0),
        0,
      );
    };
    for (const i of wrt) {
      const x = tensors[i]!;
      const numeric = x.data.map((at, k) => {
        const step = 1e-5 * Math.max(1, Math.abs(at));
        const shifted = (by: number): HostTensor => ({ ...x, data: x.data.map((v, j) => (j === k ? v + by : v)) });
        const withX = (t: HostTensor): readonly HostTensor[] => tensors.map((old, j) => (j === i ? t : old));
        return change(withX(shifted(step)), withX(shifted(-step))) / (2 * step);
      });
      expect(distance(analytic[`gradient.${inputName(i)}`]!, { ...x, data: numeric }), inputName(i)).toBeLessThan(2e-6);
    }
  });
});

const ITEMS = 3;
const stackTensors = (items: readonly HostTensor[]): HostTensor => ({
  dtype: items[0]!.dtype,
  shape: [items.length, ...items[0]!.shape],
  data: Float64Array.from(items.flatMap((item) => [...item.data])),
});

describe("batching", () => {
  const cases = samples.flatMap(([name, op, sample]) => {
    if (op.batching.kind === "unsupported") return [];
    const plain = sample.inputs.flatMap(({ type }, i) => (isPacked(type.dtype) ? [] : [i]));
    const sets = [plain, plain.slice(0, 1), plain.slice(-1)].filter(
      (set, i, all) => set.length > 0 && all.findIndex((other) => other.join() === set.join()) === i,
    );
    return sets.map((set) => [`${name}, operands ${set.join(" ")}`, op, sample, set] as const);
  });
  it.each(cases)("%s: equals the items one by one", (_, op, sample, set) => {
    const graph = sampleGraph(op, sample);
    const items = Array.from({ length: ITEMS }, (_i, item) => sampleTensors(sample, item));
    const given = (item: number) => items[0]!.map((first, i) => (set.includes(i) ? items[item]![i]! : first));
    const batched = batchGraph(graph, set.map(inputName), ITEMS);
    expect(verify(opTable, batched)).toEqual([]);
    const wide = items[0]!.map((first, i) => (set.includes(i) ? stackTensors(items.map((t) => t[i]!)) : first));
    const together = runSample(batched, sample, wide).outputs;
    const apart = items.map((_t, item) => runSample(graph, sample, given(item)).outputs);
    for (const name of Object.keys(together))
      expect(distance(together[name]!, stackTensors(apart.map((outputs) => outputs[name]!))), name).toBeLessThan(1e-9);
  });
});
