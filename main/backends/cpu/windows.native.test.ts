// Random convolutions, transposes, pools and general products, and their gradients, on the CPU engine (every instruction set)
// and on MLX (every mode) against the reference evaluator.
import { afterAll, describe, expect, test } from "vitest";
import { cotangentName, gradientGraph } from "../../autodiff/vjp.ts";
import { MLX_MODES } from "../mlx/engine.ts";
import { compile } from "../../compiler/compile.ts";
import type { Graph } from "../../ir/graph.ts";
import { tensorBytes } from "../../ir/hostBytes.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { staticShape } from "../../ir/type.ts";
import { evaluate } from "../../ops/evaluate.ts";
import { cpuDevice } from "../../runtime/devices/cpu.ts";
import { mlxDevice } from "../../runtime/devices/mlx.ts";
import { expectClose, numbersOf } from "../../testing/nativeTensors.ts";
import { randomWindowCase } from "../../testing/randomWindows.ts";
import { loadAddon } from "../../node/native/addon.ts";
import { findMlxEngine } from "../../node/native/mlxAddon.ts";
import { reasonNotFound } from "../../testing/skipping.ts";

const CASES = 200;
const cpu = loadAddon();
const engines = cpu.isas.map((isa) => loadAddon({ isa }));
const mlx = findMlxEngine();
const noMlx = reasonNotFound(mlx);

interface Task {
  readonly graph: Graph;
  readonly inputs: Readonly<Record<string, HostTensor>>;
  readonly where: string;
}
interface Answered extends Task {
  readonly expected: Readonly<Record<string, HostTensor>>;
}

/** The op, and its gradient with respect to all operands. */
function tasksOf(seed: number): readonly Task[] {
  const { graph, inputs } = randomWindowCase(seed);
  const gradient = gradientGraph(graph, { of: ["y"], wrt: Object.keys(inputs.inputs) });
  const leaf = gradient.nodes.find((node) => node.attrs["name"] === cotangentName("y"))!;
  const shape = staticShape(leaf.outputs[0]!, "test");
  const cotangent = hostTensor(
    "f32",
    shape,
    Array.from({ length: shape.reduce((n, d) => n * d, 1) }, (_, i) => Math.fround(Math.sin(1 + 3.7 * i))),
  );
  return [
    { graph, inputs: inputs.inputs, where: `seed ${seed}, ${graph.nodes.at(-1)?.op ?? ""}` },
    {
      graph: gradient,
      inputs: { ...inputs.inputs, [cotangentName("y")]: cotangent },
      where: `seed ${seed}, ${gradient.nodes.at(-1)?.op ?? ""} gradient`,
    },
  ];
}

/** With what the reference says, asked once for all devices. */
const answered: readonly Answered[] = Array.from({ length: CASES }, (_, i) => tasksOf(i + 1))
  .flat()
  .map((task) => ({ ...task, expected: evaluate(task.graph, { inputs: task.inputs }).outputs }));

type Device = Pick<ReturnType<typeof cpuDevice>, "compile">;

async function compare(device: Device, backend: "cpu" | "mlx", task: Answered): Promise<void> {
  const { graph, inputs, expected, where } = task;
  const { graph: legal } = compile(graph, { backend });
  const compiled = device.compile(legal);
  const session = compiled.open();
  try {
    const given = Object.fromEntries(Object.entries(inputs).map(([name, value]) => [name, tensorBytes(value)]));
    const result = await session.run({ inputs: given, fetch: Object.keys(expected) });
    for (const [name, want] of Object.entries(expected)) {
      const { dtype, shape, bytes } = result.outputs[name]!;
      expectClose(hostTensor(dtype, shape, numbersOf(dtype, bytes, cpu)), want, `${where}, ${name},`);
    }
  } finally {
    session.dispose();
    compiled.dispose();
  }
}

async function compareAll(device: Device, backend: "cpu" | "mlx"): Promise<void> {
  for (const task of answered) await compare(device, backend, task);
}

describe.each(engines.map((engine) => [engine.isa, engine] as const))("windows on %s", (_isa, engine) => {
  test(
    `${CASES} random cases and their gradients`,
    () => compareAll(cpuDevice(engine, { threads: 2 }), "cpu"),
    120_000,
  );
});

describe.skipIf(noMlx !== undefined)(`windows on MLX ${noMlx ?? ""}`, () => {
  test.each(MLX_MODES)(
    `${CASES} random cases and their gradients, %s`,
    async (mode) => {
      if (typeof mlx === "string") throw new Error(mlx);
      await compareAll(mlxDevice(mlx, { mode }), "mlx");
    },
    120_000,
  );
});

afterAll(() => {
  for (const engine of engines) expect(engine.counts()).toEqual({ weights: 0, plans: 0, sessions: 0, jobs: 0 });
});
