/**
 * Training over Core ML: the gradient is an ordinary graph, so it is exported as a package and predicted, once a step. Weights are
 * inputs of the program and go with every step, because a package's own states are halves or not there at all.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FunctionInterface } from "../../backends/coreml/features.ts";
import type { PackageRunner } from "../../backends/coreml/package/packageRunner.ts";
import { packageTensor } from "../../backends/coreml/package/packageTensor.ts";
import { openPackage } from "../../backends/coreml/package.ts";
import type { Units } from "../../backends/coreml/plan/target.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { plainDType } from "../../ir/dtype.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
import type { Graph } from "../../ir/graph.ts";
import { numbersIn } from "../../ir/hostBytes.ts";
import type { FetchedTensor } from "../../ir/session.ts";
import { inputsOf } from "../../runtime/device.ts";
import { GRADIENTS_ONLY } from "../../runtime/devices/provider.ts";
import type { TrainingDevice, TrainingRunner } from "../../training/trainingDevice.ts";
import { keepsNothing } from "../../training/trainingDevice.ts";
import { packageReader } from "../files/packageDirectory.ts";
import { exportGraph } from "./packages.ts";

/** What runs a package that was written. */
export interface PackageOpener {
  /** As the registry knows it: "coreml-sim". */
  readonly id: string;
  readonly title: string;
  readonly units: Units;
  /** Holds the weights that graphs name. */
  readonly weights?: GgufFile;
  open(path: string): Promise<{ readonly runner: PackageRunner; close(): Promise<void> }>;
}

export const packageTraining = (opener: PackageOpener): TrainingDevice => ({
  id: opener.id,
  title: opener.title,
  keepsVariables: GRADIENTS_ONLY,
  castsItself: true,
  async open(graph, precision): Promise<TrainingRunner> {
    const folder = await mkdtemp(join(tmpdir(), "rlx-train-"));
    const closers: (() => Promise<void>)[] = [() => rm(folder, { recursive: true, force: true })];
    const dispose = async (): Promise<void> => {
      for (const close of closers.splice(0).toReversed()) await close();
    };
    try {
      const path = join(folder, "gradients.mlpackage");
      const profile = precision === "f32" ? "exact" : "gpu";
      const { units, weights } = opener;
      await exportGraph(numbered(graph), path, { units, profile, ...(weights === undefined ? {} : { weights }) });
      const description = await described(path);
      const opened = await opener.open(path);
      const { runner } = opened;
      closers.push(() => opened.close());
      const inputs = new Map(inputsOf(graph).map((input, i) => [inputName(i), input]));
      const outputs = new Map(graph.outputs.map(({ name }, i) => [name, outputName(i)]));
      return {
        ...keepsNothing(opener.id),
        dispose,
        run: async (given, fetch, signal) => {
          const features = description.inputs.map(({ name, dtype, shape }) => {
            const input = inputs.get(name);
            if (input === undefined) throw missing(opener.id, name);
            const array = given[input.name];
            if (array === undefined) throw missing(opener.id, input.name);
            const numbers = numbersIn(plainDType(input.type.dtype, input.name), array);
            return [name, packageTensor(dtype, shape, numbers)] as const;
          });
          const made = await runner.function(description.name).predict(Object.fromEntries(features), {
            ...(signal === undefined ? {} : { signal }),
          });
          return Object.fromEntries(
            fetch.map((name): readonly [string, FetchedTensor] => {
              const tensor = made[outputs.get(name) ?? name];
              if (tensor === undefined) throw missing(opener.id, name);
              const numbers = Float32Array.from(tensor.data);
              return [name, { dtype: "f32", shape: tensor.shape, bytes: new Uint8Array(numbers.buffer) }];
            }),
          );
        },
      };
    } catch (error) {
      await dispose();
      throw error;
    }
  },
});

const inputName = (index: number): string => `in${index}`;
const outputName = (index: number): string => `out${index}`;

/** The same graph with names that a package may have: those of weights have dots and slashes. */
function numbered(graph: Graph): Graph {
  const places = new Map(graph.inputs.map((id, i) => [id, inputName(i)]));
  const nodes = graph.nodes.map((node) => {
    const name = places.get(node.id);
    return name === undefined ? node : { ...node, attrs: { ...node.attrs, name } };
  });
  return { ...graph, nodes, outputs: graph.outputs.map(({ value }, i) => ({ name: outputName(i), value })) };
}

/** Features of the one function that the package has. */
async function described(path: string): Promise<FunctionInterface> {
  const reader = packageReader(path);
  try {
    const { functions, defaultFunction } = await openPackage(reader);
    const found = functions.find(({ name }) => name === defaultFunction);
    if (found === undefined) throw missing("package", defaultFunction);
    return found;
  } finally {
    await reader.close();
  }
}

const missing = (who: string, name: string): WorkbenchError =>
  new WorkbenchError("BUG_INVARIANT", `[${who}] the package has no ${name}`);
