/** What a training session needs of a device: it opens a graph, runs it, and may keep variables between runs. */
import { compileNow } from "../compiler/compile.ts";
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { Graph } from "../ir/graph.ts";
import { numbersIn } from "../ir/hostBytes.ts";
import type { PrecisionPolicy } from "../ir/precision.ts";
import type { FetchedTensor } from "../ir/session.ts";
import type { Backend } from "../ops/defineOp.ts";
import type { Device } from "../runtime/device.ts";

export interface TrainingRunner {
  run(
    inputs: Readonly<Record<string, ArrayBufferView>>,
    fetch: readonly string[],
    signal?: AbortSignal,
  ): Promise<Readonly<Record<string, FetchedTensor>>>;
  /** All states one after the other, in the order of the graph. With `keepsVariables` only. */
  read(): Promise<Float32Array>;
  write(states: Float32Array): Promise<void>;
  dispose(): void | Promise<void>;
}

export interface TrainingDevice {
  readonly id: string;
  readonly title: string;
  /** True, or why weights have to be sent with every step. */
  readonly keepsVariables: true | string;
  /** It chooses its float type by the policy itself; else the graph has it in its types. */
  readonly castsItself: boolean;
  open(graph: Graph, precision: PrecisionPolicy): Promise<TrainingRunner>;
}

/** A device that compiles any graph. Without a backend, the graph runs as it is (the reference). */
export const trainingOn = (device: Device, backend?: Backend): TrainingDevice => ({
  id: device.id,
  title: device.title,
  keepsVariables: backend === undefined ? "The reference keeps its states in float64, of which f32 is no copy." : true,
  castsItself: false,
  open(graph) {
    const compiled = device.compile(backend === undefined ? graph : compileNow(graph, { backend }).graph);
    const session = compiled.open();
    return Promise.resolve({
      run: async (inputs, fetch, signal) => (await session.run({ inputs, fetch }, signal)).outputs,
      read: async () => {
        const bytes = await session.save(0);
        return Float32Array.from(numbersIn("f32", bytes));
      },
      write: (states) => session.restore(0, new Uint8Array(states.buffer, states.byteOffset, states.byteLength)),
      dispose: () => {
        session.dispose();
        compiled.dispose();
      },
    });
  },
});

/** For devices that keep nothing between runs. */
export const keepsNothing = (id: string): Pick<TrainingRunner, "read" | "write"> => {
  const refuse = (): never => {
    throw new WorkbenchError("BUG_INVARIANT", `[training] ${id} keeps no variables`);
  };
  return { read: () => Promise.resolve(refuse()), write: () => Promise.resolve(refuse()) };
};
