/** Small packages for tests: y = x + 1 on fp16[2, 200], and a state that sums its inputs. */
import { BlobPlan } from "../backends/coreml/blob.ts";
import type { MilFunction, MilOperation, MilOpset } from "../backends/coreml/mil/types.ts";
import { tensorType } from "../backends/coreml/mil/types.ts";
import { writePackage } from "../backends/coreml/package.ts";
import { packageWriter } from "../node/files/packageDirectory.ts";

const SHAPE = [2, 200];
const half = tensorType("fp16", SHAPE);
const scalar = tensorType("fp16", []);

const named = (name: string): { kind: "name"; name: string } => ({ kind: "name", name });

function operation(type: string, output: string | undefined, inputs: Readonly<Record<string, string>>): MilOperation {
  return {
    type,
    name: `${type}_${output ?? "total"}`,
    inputs: Object.entries(inputs).map(([argument, value]) => [argument, [named(value)]] as const),
    outputs: output === undefined ? [] : [{ name: output, type: half }],
    origins: [],
  };
}

const main: MilFunction = {
  name: "main",
  opset: "CoreML8",
  inputs: [
    { name: "x", type: half },
    { name: "total", type: { kind: "state", dtype: "fp16", shape: SHAPE } },
  ],
  operations: [
    {
      type: "const",
      name: "one",
      inputs: [],
      outputs: [{ name: "one", type: scalar }],
      value: { type: scalar, data: { kind: "numbers", values: Float32Array.of(1) } },
      origins: [],
    },
    operation("add", "y", { x: "x", y: "one" }),
    operation("read_state", "before", { input: "total" }),
    operation("add", "after", { x: "before", y: "x" }),
    operation("write_state", undefined, { input: "total", data: "after" }),
  ],
  outputs: ["y"],
};

export const writeTinyPackage = (path: string): Promise<void> => write(path, main, "CoreML8");

/** Passes one feature of each type through. int8 needs the newest operators. */
export function writeTypedPackage(path: string): Promise<void> {
  const types = { singles: "fp32", halves: "fp16", whole: "int32", bytes: "int8" } as const;
  const features = Object.entries(types).map(([name, dtype]) => ({ name, type: tensorType(dtype, [3]) }));
  return write(
    path,
    {
      name: "main",
      opset: "CoreML9",
      inputs: features,
      operations: features.map(({ name, type }) => ({
        type: "identity",
        name: `${name}_out`,
        inputs: [["x", [named(name)]]],
        outputs: [{ name: `${name}_out`, type }],
        origins: [],
      })),
      outputs: features.map(({ name }) => `${name}_out`),
    },
    "CoreML9",
  );
}

async function write(path: string, only: MilFunction, opset: MilOpset): Promise<void> {
  const metadata = { shortDescription: "tiny", author: "", license: "", version: "1", userDefined: {} };
  await writePackage(
    await packageWriter(path),
    new BlobPlan(),
    () => Promise.resolve(),
    () => ({ program: { functions: [only], buildInfo: {} }, opset, defaultFunction: "main", metadata }),
  );
}
