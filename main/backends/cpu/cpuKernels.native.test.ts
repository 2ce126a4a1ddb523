// Kernels by their own name, those above all that no op emits yet: against float64, on each instruction set.
import { describe, expect, test } from "vitest";
import { planMemory } from "./memoryPlan.ts";
import { writePlan } from "./planWriter.ts";
import type { CpuKernel } from "./kernels.ts";
import type { KernelParams } from "./emitter.ts";
import { TestDraft } from "./testDraft.ts";
import { tensorBytes } from "../../ir/hostBytes.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { tensor } from "../../ir/type.ts";
import { expectClose, numbersOf } from "../../testing/nativeTensors.ts";
import { seededRandom } from "../../testing/random.ts";
import { loadAddon } from "../../node/native/addon.ts";

const engines = loadAddon().isas.map((isa) => loadAddon({ isa }));

/** Runs one instruction; a missing operand is undefined. */
async function runKernel(
  engine: (typeof engines)[number],
  kernel: CpuKernel,
  inputs: readonly (HostTensor | undefined)[],
  wanted: readonly HostTensor[],
  params: KernelParams = {},
): Promise<void> {
  const draft = new TestDraft();
  const type = ({ dtype, shape }: HostTensor) => tensor(dtype, shape);
  const ids = inputs.map((input, i) => (input === undefined ? -1 : draft.input(`x${i}`, type(input))));
  draft.emit(kernel, ids, wanted.map(type), params).forEach((id, i) => draft.output(`y${i}`, id));
  const plan = engine.loadPlan(writePlan(draft.draft, planMemory(draft.draft, {}), {}), null);
  const session = plan.openSession({ threads: 2 });
  const given = inputs.flatMap((input, i) => (input === undefined ? [] : [[`x${i}`, tensorBytes(input)] as const]));
  const fetch = wanted.map((_, i) => `y${i}`);
  const { outputs } = await session.run({ symbols: {}, inputs: Object.fromEntries(given), fetch });
  for (const [i, want] of wanted.entries()) {
    const { dtype, shape, bytes } = outputs[`y${i}`]!;
    expectClose(hostTensor(dtype, shape, numbersOf(dtype, bytes, engine)), want, `${kernel}, result ${i}`);
  }
  session.dispose();
  plan.dispose();
}

/** What has kernels of its own. */
const REALS = ["f32", "f64"] as const;

const random = seededRandom(3);
const normal = (shape: readonly number[], scale = 1): HostTensor => {
  const count = shape.reduce((product, size) => product * size, 1);
  // As f32 holds them: the reference starts from the same numbers.
  return hostTensor(
    "f32",
    shape,
    Array.from({ length: count }, () => Math.fround(scale * random.normal())),
  );
};
const mapped = (x: HostTensor, f: (x: number) => number): HostTensor => hostTensor(x.dtype, x.shape, x.data.map(f));

const UNARY: Partial<Record<CpuKernel, (x: number) => number>> = {
  square: (x) => x * x,
  reciprocal: (x) => 1 / x,
  tan: Math.tan,
  atan: Math.atan,
  softplus: (x) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x))),
  ceil: Math.ceil,
};
const FLOATS: Partial<Record<CpuKernel, (a: number, b: number) => number>> = {
  mod: (a, b) => a % b,
  atan2: Math.atan2,
};
const WHOLE: Partial<Record<CpuKernel, (a: number, b: number) => number>> = { mod: (a, b) => a % b };
const LOGICAL: Partial<Record<CpuKernel, (a: boolean, b: boolean) => boolean>> = {
  logical_and: (a, b) => a && b,
  logical_or: (a, b) => a || b,
  logical_xor: (a, b) => a !== b,
};

const names = (table: object): CpuKernel[] => Object.keys(table) as CpuKernel[];

/** What a recurrent layer computes of its gates: `input` and `recurrent` are the products with their biases, the state is the old one. */
type Cell = (input: readonly number[], recurrent: readonly number[], state: number[]) => number[];

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));
/** As PyTorch defines it: gates r, z, n. */
const gru: Cell = (input, recurrent, state) =>
  state.map((old, i) => {
    const n = state.length;
    const gate = (k: number): number => sigmoid(input[k * n + i]! + recurrent[k * n + i]!);
    const [reset, update] = [gate(0), gate(1)];
    return (1 - update) * Math.tanh(input[2 * n + i]! + reset * recurrent[2 * n + i]!) + update * old;
  });
const rnn =
  (f: (x: number) => number): Cell =>
  (input, recurrent, state) =>
    state.map((_, i) => f(input[i]! + recurrent[i]!));

const [BATCH, STEPS, FEATURES, HIDDEN, LAYERS] = [3, 5, 4, 6, 2];

interface Recurrent {
  readonly gates: number;
  readonly directions: number;
  readonly wIh: HostTensor;
  readonly wHh: HostTensor;
  readonly biases: readonly HostTensor[];
  readonly start: HostTensor | undefined;
}

/** [B, S, D·hidden] and the last states [layers·D, B, hidden]. */
function recur(cell: Cell, x: HostTensor, { gates, directions, wIh, wHh, biases, start }: Recurrent): HostTensor[] {
  const rows = gates * HIDDEN;
  const last = new Float64Array(LAYERS * directions * BATCH * HIDDEN);
  let sequences = Array.from({ length: BATCH }, (_, b) =>
    Array.from({ length: STEPS }, (__, t) => [
      ...x.data.slice((b * STEPS + t) * FEATURES, (b * STEPS + t + 1) * FEATURES),
    ]),
  );
  let weights = 0;
  for (let layer = 0; layer < LAYERS; layer++) {
    const width = layer === 0 ? FEATURES : directions * HIDDEN;
    const results = sequences.map((sequence) => sequence.map(() => [] as number[]));
    for (let direction = 0; direction < directions; direction++) {
      const block = layer * directions + direction;
      const product = (w: HostTensor, at: number, bias: HostTensor | undefined, vector: readonly number[]) =>
        Array.from({ length: rows }, (_, row) =>
          vector.reduce(
            (sum, value, i) => sum + w.data[at + row * vector.length + i]! * value,
            bias?.data[block * rows + row] ?? 0,
          ),
        );
      for (const [b, sequence] of sequences.entries()) {
        const place = (block * BATCH + b) * HIDDEN;
        let state = Array.from({ length: HIDDEN }, (_, i) => start?.data[place + i] ?? 0);
        const order = [...sequence.keys()];
        for (const t of direction === 0 ? order : order.reverse()) {
          const input = product(wIh, weights, biases[0], sequence[t]!);
          state = cell(input, product(wHh, block * rows * HIDDEN, biases[1], state), state);
          results[b]![t]!.push(...state);
        }
        last.set(state, place);
      }
      weights += rows * width;
    }
    sequences = results;
  }
  return [
    hostTensor("f32", [BATCH, STEPS, directions * HIDDEN], sequences.flat(2)),
    hostTensor("f32", [LAYERS * directions, BATCH, HIDDEN], last),
  ];
}

describe.each(engines.map((engine) => [engine.isa, engine] as const))("kernels on %s", (_isa, engine) => {
  const x = normal([7, 41], 3);

  test.each(names(UNARY))("%s", (kernel) => runKernel(engine, kernel, [x], [mapped(x, UNARY[kernel]!)]));

  test.each(names(FLOATS))("%s", async (kernel) => {
    // The second is a row for all.
    const row = normal([41], 2);
    const f = FLOATS[kernel]!;
    const want = hostTensor(
      "f32",
      x.shape,
      x.data.map((a, i) => f(a, row.data[i % 41]!)),
    );
    await runKernel(engine, kernel, [x, row], [want]);
  });

  test.each(names(WHOLE))("%s of whole numbers", async (kernel) => {
    const of = (values: readonly number[]): HostTensor => hostTensor("i32", [values.length], values);
    const [a, b] = [
      [7, -7, 7, -7, 2 ** 31 - 1, 0],
      [3, 3, -3, -3, 1000, 5],
    ];
    // A remainder of nothing has no sign here.
    const want = of(a.map((value, i) => WHOLE[kernel]!(value, b[i]!) + 0));
    await runKernel(engine, kernel, [of(a), of(b)], [want]);
  });

  test.each(names(LOGICAL))("%s", async (kernel) => {
    const of = (values: readonly boolean[]): HostTensor => hostTensor("bool", [values.length], values.map(Number));
    const [a, b] = [
      [true, true, false, false],
      [true, false, true, false],
    ];
    await runKernel(engine, kernel, [of(a), of(b)], [of(a.map((value, i) => LOGICAL[kernel]!(value, b[i]!)))]);
  });

  test("logical_not", () =>
    runKernel(engine, "logical_not", [hostTensor("bool", [3], [1, 0, 1])], [hostTensor("bool", [3], [0, 1, 0])]));

  test.each([0, 1, 2])("log_softmax along axis %d", async (axis) => {
    const wide = mapped(normal([4, 5, 6], 20), (value) => value + 100);
    const stride = [30, 6, 1][axis]!;
    const size = wide.shape[axis]!;
    const want = wide.data.map((value, i) => {
      const first = i - (Math.floor(i / stride) % size) * stride;
      const lane = Array.from({ length: size }, (_, k) => wide.data[first + k * stride]!);
      const largest = Math.max(...lane);
      return value - largest - Math.log(lane.reduce((sum, each) => sum + Math.exp(each - largest), 0));
    });
    for (const dtype of REALS) {
      const of = (data: Float64Array): HostTensor => hostTensor(dtype, wide.shape, data);
      await runKernel(engine, "log_softmax", [of(wide.data)], [of(want)], { axis });
    }
  });

  test.each([
    ["gru", "gru", gru, {}],
    ["rnn", "rnn", rnn(Math.tanh), {}],
    ["rnn of relu", "rnn", rnn((value) => Math.max(value, 0)), { relu: true }],
  ] as const)("%s, in one direction and in both, from nothing and from a start", async (_, kernel, cell, params) => {
    const gates = kernel === "gru" ? 3 : 1;
    for (const directions of [1, 2])
      for (const started of [false, true]) {
        const rows = gates * HIDDEN;
        const input = normal([BATCH, STEPS, FEATURES]);
        const wIh = normal([directions * rows * (FEATURES + (LAYERS - 1) * directions * HIDDEN)], 0.4);
        const wHh = normal([LAYERS * directions * rows * HIDDEN], 0.4);
        const biases = Array.from({ length: kernel === "gru" ? 2 : 1 }, () =>
          normal([LAYERS * directions * rows], 0.3),
        );
        const start = started ? normal([LAYERS * directions, BATCH, HIDDEN]) : undefined;
        const wanted = recur(cell, input, { gates, directions, wIh, wHh, biases, start });
        for (const dtype of REALS)
          await runKernel(
            engine,
            kernel,
            [input, wIh, wHh, ...biases, start].map((x) => x && { ...x, dtype }),
            wanted.map((x) => ({ ...x, dtype })),
            { hidden: HIDDEN, layers: LAYERS, bidirectional: directions === 2, ...params },
          );
      }
  });
});

test("leaves nothing behind", () => {
  for (const engine of engines) expect(engine.counts()).toEqual({ weights: 0, plans: 0, sessions: 0, jobs: 0 });
});
