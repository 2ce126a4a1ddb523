/**
 * Random well-typed graphs over every operation. A step is a sample of an op; where its operand is a float that was drawn at
 * random, a value made before may take its place, squeezed into the range of the sample's numbers so that it stays within
 * what the op is made for.
 */
import { GraphBuilder } from "../ir/builder.ts";
import { isFloat, isPacked } from "../ir/dtype.ts";
import type { Graph, Value } from "../ir/graph.ts";
import { hashTensor } from "../ir/hash.ts";
import type { HostTensor } from "../ir/hostTensor.ts";
import { hostScalar, hostTensor, sizeOf } from "../ir/hostTensor.ts";
import { finish } from "../ir/steps.ts";
import type { TensorType } from "../ir/type.ts";
import { staticShape } from "../ir/type.ts";
import type { AttrRecord } from "../ir/attributes.ts";
import type { AnyOp, Sample } from "../ops/defineOp.ts";
import { evaluate } from "../ops/evaluate.ts";
import { OPS, makeRegion, opOf, opTable, typedBuilder } from "../ops/index.ts";
import type { OpBuilder } from "../ops/opBuilder.ts";
import { outputName, sampleGraph, sampleRun, sampleTensor } from "../ops/sampleData.ts";
import type { Random } from "./random.ts";
import { seededRandom } from "./random.ts";

export interface VocabularyCase {
  readonly graph: Graph;
  readonly inputs: Readonly<Record<string, HostTensor>>;
  /** The same with every number a little off, but where an op jumps: how far apart the results are says what rounding may do. */
  readonly nudged: { readonly graph: Graph; readonly inputs: Readonly<Record<string, HostTensor>> };
}

/** Of a number's own size: a hundred roundings of f32. */
const NUDGE = 1e-5;

/** What jumps somewhere, or magnifies without bound: a rounding error before it would be as large as that. */
const STEEP: ReadonlySet<string> = new Set([
  ...["round", "floor", "ceil", "trunc", "sign", "mod", "fake_quantize", "fake_quantize_lsq"],
  "gaussian_splat_render",
  ...["cholesky", "dense_solve", "det", "eigh", "logdet", "qr", "svd", "triangular_solve"],
]);

/** More numbers than this make one step as dear as all others. */
const MOST_NUMBERS = 4096;

/** Nodes of one step, about: an op with its operands. */
const LARGEST_STEP = 12;

interface Choice {
  readonly op: AnyOp;
  readonly sample: Sample<AttrRecord>;
}

/** Samples without symbols and packed weights: a graph has one size for a symbol, and packed weights lie in files. */
const CHOICES: readonly (readonly Choice[])[] = Object.keys(OPS).flatMap((name) => {
  const op = opOf(name);
  const samples = op?.samples.filter(
    ({ inputs, bindings }) =>
      bindings === undefined &&
      inputs.every(({ type }) => !isPacked(type.dtype) && sizeOf(staticShape(type, "sample")) <= MOST_NUMBERS),
  );
  return op === undefined || samples === undefined || samples.length === 0
    ? []
    : [samples.map((sample) => ({ op, sample }))];
});

/** Ops that a graph of this kind can hold. */
export const VOCABULARY: readonly string[] = CHOICES.map(([first]) => first?.op.name ?? "");

/** Whether values made before may stand for the operands; others read inputs only. */
function isSmooth({ op, sample }: Choice): boolean {
  return (
    op.gradient.kind !== "nondifferentiable" &&
    op.regionNames.length === 0 &&
    sample.differentiable !== false &&
    !STEEP.has(op.name)
  );
}

interface Made {
  readonly value: Value;
  /** Its numbers, by the reference. */
  readonly data: HostTensor;
}

class Drawing {
  readonly builder: GraphBuilder;
  readonly g: OpBuilder;
  readonly random: Random;
  readonly inputs: Record<string, HostTensor> = {};
  readonly #made: Made[] = [];
  readonly #read = new Set<Value>();
  readonly #nudgedInputs: Record<string, HostTensor> = {};
  readonly #nudgedConstants = new Map<string, HostTensor>();

  constructor(seed: number) {
    this.builder = new GraphBuilder(opTable, `vocabulary ${seed}`);
    this.g = typedBuilder(this.builder);
    this.random = seededRandom(seed);
  }

  step(choice: Choice): void {
    const { op, sample } = choice;
    const smooth = isSmooth(choice);
    const operands = sample.inputs.map((input): Made => {
      const data = sampleTensor(input, {}, this.random.integer(1000));
      const drawn = input.fill.kind === "normal" || input.fill.kind === "uniform";
      const earlier = smooth && drawn && input.type.dtype === "f32" ? this.#earlier() : undefined;
      return earlier === undefined
        ? { value: this.#leaf(input.type, data, smooth), data }
        : this.#fitted(earlier, data);
    });
    const values = operands.map(({ value }) => value);
    const regions =
      sample.regions?.(
        makeRegion,
        sample.inputs.map(({ type }) => type),
      ) ?? [];
    const results = this.builder.apply(op.name, values, sample.attrs, { regions });
    const tensors = operands.map(({ data }) => data);
    const { outputs } = finish(evaluate(sampleGraph(op, sample), sampleRun(sample, tensors)));
    results.forEach((value, i) => {
      const data = outputs[outputName(i)];
      if (data !== undefined) this.#made.push({ value, data });
    });
  }

  /** One of the last values, if it is made of ordinary numbers: a NaN would end all that the graph can show. */
  #earlier(): Made | undefined {
    if (this.#made.length === 0 || this.random.integer(4) === 0) return undefined;
    const made = this.random.pick(this.#made.slice(-8));
    const { dtype, data } = made.data;
    const isOrdinary = isFloat(dtype) && data.length > 0 && data.length <= MOST_NUMBERS && data.every(Number.isFinite);
    return isOrdinary ? made : undefined;
  }

  #leaf(type: TensorType, data: HostTensor, smooth: boolean): Value {
    const nudged = smooth && isFloat(data.dtype) ? this.#nudge(data) : data;
    if (this.random.integer(3) === 0) {
      this.#nudgedConstants.set(hashTensor(data), nudged);
      return this.builder.constant(data);
    }
    const name = `x${Object.keys(this.inputs).length}`;
    this.inputs[name] = data;
    this.#nudgedInputs[name] = nudged;
    return this.builder.input(name, type);
  }

  #nudge(tensor: HostTensor): HostTensor {
    return { ...tensor, data: tensor.data.map((x) => x * (1 + NUDGE * (2 * this.random.next() - 1))) };
  }

  /**
   * The value in another shape, its numbers between the least and the largest of `like`. Noise keeps them apart, far from where
   * the sigmoid is flat: where all are equal, norms divide by nothing but their epsilon, and the order is rounding's.
   */
  #fitted({ value, data }: Made, like: HostTensor): Made {
    const { g } = this;
    this.#read.add(value);
    const [has, wants] = [data.data.length, sizeOf(like.shape)];
    const noise = hostTensor(
      "f32",
      [wants],
      Float64Array.from({ length: wants }, () => Math.fround(this.random.normal())),
    );
    let x = data.dtype === "f32" ? value : g.cast([value], { to: "f32" });
    x = g.reshape([x], { shape: [has] });
    if (has < wants) x = g.tile([x], { reps: [Math.ceil(wants / has)] });
    if (has !== wants) x = g.narrow([x], { axis: 0, start: 0, length: wants });
    x = g.reshape([g.sigmoid([g.add([g.tanh([x]), this.builder.constant(noise)])])], { shape: [...like.shape] });
    const low = Math.fround(Math.min(...like.data));
    const high = Math.fround(Math.max(...like.data));
    const numbers = noise.data.map(
      (extra, i) => low + (high - low) / (1 + Math.exp(-Math.tanh(data.data[i % has] ?? 0) - extra)),
    );
    const fitted = g.add([g.mul([x, g.constant(hostScalar("f32", high - low))]), g.constant(hostScalar("f32", low))]);
    return { value: fitted, data: hostTensor("f32", like.shape, numbers) };
  }

  /** What nothing reads is a result: passes would prune it. */
  finish(): VocabularyCase {
    this.#made
      .filter(({ value }) => !this.#read.has(value))
      .forEach(({ value }, i) => this.builder.output(`y${i}`, value));
    const graph = this.builder.finish();
    const constants = new Map([...graph.constants, ...this.#nudgedConstants]);
    return { graph, inputs: this.inputs, nudged: { graph: { ...graph, constants }, inputs: this.#nudgedInputs } };
  }
}

/** Every seed gives a graph of its own; among as many seeds in a row as there are ops, each op begins one. */
export function vocabularyCase(seed: number, mostNodes = 60): VocabularyCase {
  const drawing = new Drawing(seed);
  const { random, builder } = drawing;
  const wanted = random.integer(mostNodes);
  drawing.step(random.pick(CHOICES[seed % CHOICES.length] ?? []));
  while (builder.size < wanted - LARGEST_STEP) drawing.step(random.pick(random.pick(CHOICES)));
  return drawing.finish();
}
