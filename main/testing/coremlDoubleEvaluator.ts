/**
 * Numbers for the test double of Core ML: the simulator evaluates its predictions, from the folder that the double compiled. With
 * this, everything above the bridge runs where Core ML does not exist.
 */
import { f16ToF32Array, f32ToF16Array } from "../quant/half.ts";
import { openPackage } from "../backends/coreml/package.ts";
import { SimState } from "../backends/coreml/simulator/simFunction.ts";
import { Simulator } from "../backends/coreml/simulator/simulator.ts";
import type { PackageTensor } from "../backends/coreml/package/packageTensor.ts";
import { packageTensor } from "../backends/coreml/package/packageTensor.ts";
import type { MilDtype } from "../backends/coreml/mil/types.ts";
import { WorkbenchError } from "../diagnostics/errors.ts";
import { packageReader } from "../node/files/packageDirectory.ts";

interface DoubleTensor {
  readonly name: string;
  readonly type: string;
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
}
interface DoubleRequest {
  readonly package: string;
  readonly function: string;
  readonly inputs: readonly DoubleTensor[];
  readonly states: readonly DoubleTensor[];
}
type DoubleReply =
  { readonly outputs: readonly DoubleTensor[]; readonly states: readonly DoubleTensor[] } | { readonly error: string };
/** What the addon exports as `double` when it was built against the double. */
export interface DoubleControls {
  setEvaluator(evaluate: (request: DoubleRequest, answer: (reply: DoubleReply) => void) => void): void;
  configure(text: string): void;
  counts(): { readonly objects: number; readonly predictions: number; readonly handlers: number };
  /** What the model that was opened last was configured with: "units=3 low-precision=0 …". */
  configuration(): string;
}

const DTYPES: Readonly<Record<string, MilDtype>> = { fp16: "fp16", fp32: "fp32", int32: "int32", int8: "int8" };

function fromDouble({ type, shape, bytes }: DoubleTensor): PackageTensor {
  const dtype = DTYPES[type];
  const { buffer, byteOffset, byteLength } = bytes;
  switch (dtype) {
    case "fp16":
      return packageTensor(dtype, shape, f16ToF32Array(new Uint16Array(buffer, byteOffset, byteLength / 2)));
    case "fp32":
      return packageTensor(dtype, shape, new Float32Array(buffer, byteOffset, byteLength / 4).slice());
    case "int32":
      return packageTensor(dtype, shape, new Int32Array(buffer, byteOffset, byteLength / 4).slice());
    case "int8":
      return packageTensor(dtype, shape, Int32Array.from(new Int8Array(buffer, byteOffset, byteLength)));
    default:
      throw new WorkbenchError("UNSUPPORTED_TENSOR_TYPE", `[coreml double] ${type} is not evaluated`);
  }
}

function packed({ dtype, data }: PackageTensor): ArrayBufferView {
  switch (dtype) {
    case "fp16":
      return f32ToF16Array(data);
    case "fp32":
      return Float32Array.from(data);
    case "int8":
      return Int8Array.from(data);
    default:
      return Int32Array.from(data);
  }
}

function toDouble(name: string, tensor: PackageTensor): DoubleTensor {
  const { buffer, byteOffset, byteLength } = packed(tensor);
  const bytes = new Uint8Array(buffer, byteOffset, byteLength);
  return { name, type: tensor.dtype, shape: tensor.shape, bytes };
}

async function evaluate(simulator: Simulator, request: DoubleRequest): Promise<DoubleReply> {
  const state = new SimState();
  for (const held of request.states) state.tensors.set(held.name, fromDouble(held));
  const inputs = Object.fromEntries(request.inputs.map((input) => [input.name, fromDouble(input)]));
  const outputs = await simulator.function(request.function).predict(inputs, { state });
  return {
    outputs: Object.entries(outputs).map(([name, tensor]) => toDouble(name, tensor)),
    states: [...state.tensors].map(([name, tensor]) => toDouble(name, tensor)),
  };
}

/** Answers the double's predictions from now on. */
export function evaluateForDouble(controls: DoubleControls): void {
  const simulators = new Map<string, Promise<Simulator>>();
  const simulatorOf = (path: string): Promise<Simulator> => {
    const known = simulators.get(path) ?? openPackage(packageReader(path)).then((opened) => new Simulator(opened));
    simulators.set(path, known);
    known.catch(() => simulators.delete(path));
    return known;
  };
  controls.setEvaluator((request, answer) => {
    simulatorOf(request.package)
      .then((simulator) => evaluate(simulator, request))
      .then(answer, (error: unknown) => answer({ error: error instanceof Error ? error.message : String(error) }));
  });
}
