/**
 * The TypeScript reference in place of the CPU engine: only where none was built, never for one that is broken, and never in
 * silence. The weights come from the file through the unpacking in TypeScript, and stay in memory as float64.
 */
import type { Ability, ReferenceNotice } from "../../contract/views/common.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
import { dequantize } from "../../formats/quant/dequantize.ts";
import { isPacked } from "../../ir/dtype.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import type { DecoderModel, DecoderPlanOptions } from "../../runtime/decoderModel.ts";
import { decoderGraph, decoderOver, requireData } from "../../runtime/decoderModel.ts";
import {
  REFERENCE_LIMIT,
  referenceDevice,
  referenceEstimate,
  referenceRefusal,
} from "../../runtime/devices/reference.ts";
import { figure } from "../measure/forecast.ts";
import { cannot } from "../views/overviewView.ts";
import { inSlices } from "./works.ts";

export const REFERENCE_SENTENCE = `No native engine was built here: the TypeScript reference runs models of up to ${REFERENCE_LIMIT / 1e6} M parameters, slowly.`;
/** Several tokens at once gain little here, and a cancel waits for one operation on all of them. */
const CHUNK = 4;

export function referenceNotice(parameters: number): ReferenceNotice {
  const range = referenceEstimate(parameters);
  const basis = "by parameters alone, on a machine that does nothing else";
  const secondsPerToken = figure((range.low + range.high) / 2, "seconds", "predicted", basis, range);
  return { sentence: REFERENCE_SENTENCE, secondsPerToken };
}

/** What refuses a model of so many parameters; undefined when nothing does. */
export function referenceAbility(parameters: number): Ability | undefined {
  const refusal = referenceRefusal(parameters);
  if (refusal === undefined) return undefined;
  const { code, message, hint } = refusal;
  return cannot(
    code,
    `${REFERENCE_SENTENCE} ${message.replace(/^\[[^\]]*\] /u, "This model is larger: ")}.`,
    hint ?? null,
  );
}

export async function openReference(file: GgufFile, plan: DecoderPlanOptions): Promise<DecoderModel> {
  requireData(file);
  const options = { ...plan, chunk: Math.min(plan.chunk ?? CHUNK, CHUNK) };
  const weights = new Map<string, HostTensor>();
  const device = referenceDevice({
    param: (name) => {
      const weight = weights.get(name);
      if (weight === undefined)
        throw new WorkbenchError("INPUT_MISSING_TENSOR", `[reference] the tensor "${name}" is missing`);
      return weight;
    },
    pace: (steps, signal) => inSlices(steps, signal ?? new AbortController().signal),
  });
  const graph = decoderGraph(file, options);
  // Refused before anything is read.
  const compiled = device.compile(graph);
  for (const { op, attrs } of graph.nodes) if (op === "param") await readWeight(file, String(attrs["name"]), weights);
  return decoderOver(file, options, compiled);
}

async function readWeight(file: GgufFile, name: string, weights: Map<string, HostTensor>): Promise<void> {
  if (weights.has(name)) return;
  const tensor = file.requireTensor(name);
  const { element } = tensor.type;
  if (element === undefined)
    throw new WorkbenchError("UNSUPPORTED_TENSOR_TYPE", `[reference] ${tensor.type.name} cannot be unpacked`);
  const values = dequantize(element, await file.readTensor(tensor), tensor.elements);
  weights.set(name, hostTensor(isPacked(element) ? "f32" : element, tensor.shape, values));
}
