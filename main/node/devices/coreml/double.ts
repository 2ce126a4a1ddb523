/**
 * Numbers for the test double of Core ML: its predictions are evaluated by the simulator, from the folder that the double
 * compiled. With this, everything above the bridge runs where Core ML does not exist; results are labelled simulated.
 */
import { f16ToF32Array, f32ToF16Array } from "../../../ir/half.ts";
import { openPackage } from "../../../backends/coreml/package.ts";
import { SimState } from "../../../backends/coreml/simulator/simFunction.ts";
import { Simulator } from "../../../backends/coreml/simulator/simulator.ts";
import type { SimTensor } from "../../../backends/coreml/simulator/tensor.ts";
import { simTensor } from "../../../backends/coreml/simulator/tensor.ts";
import type { MilDtype } from "../../../backends/coreml/mil/types.ts";
import { WorkbenchError } from "../../../diagnostics/errors.ts";
import { packageReader } from "../../files/packageDirectory.ts";
import type { DoubleControls, DoubleReply, DoubleRequest, DoubleTensor } from "./native.ts";

const DTYPES: Readonly<Record<string, MilDtype>> = { fp16: "fp16", fp32: "fp32", int32: "int32", int8: "int8" };

function fromDouble({ type, shape, bytes }: DoubleTensor): SimTensor {
  const dtype = DTYPES[type];
  const { buffer, byteOffset, byteLength } = bytes;
  switch (dtype) {
    case "fp16":
      return simTensor(dtype, shape, f16ToF32Array(new Uint16Array(buffer, byteOffset, byteLength / 2)));
    case "fp32":
      return simTensor(dtype, shape, new Float32Array(buffer, byteOffset, byteLength / 4).slice());
    case "int32":
      return simTensor(dtype, shape, new Int32Array(buffer, byteOffset, byteLength / 4).slice());
    case "int8":
      return simTensor(dtype, shape, Int32Array.from(new Int8Array(buffer, byteOffset, byteLength)));
    default:
      throw new WorkbenchError("UNSUPPORTED_TENSOR_TYPE", `[coreml double] ${type} is not evaluated`);
  }
}

function packed({ dtype, data }: SimTensor): ArrayBufferView {
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

function toDouble(name: string, tensor: SimTensor): DoubleTensor {
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
