/**
 * A checkpoint: a snapshot as a safetensors file of float64, which other programs can read too. Steps and the scale of the loss
 * stand in its metadata. A file is untrusted: whether its tensors fit a session is asked when one is restored from it.
 */
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { ByteSource } from "../formats/byteSource.ts";
import type { SafeTensor } from "../formats/safetensors/header.ts";
import { readSafetensors } from "../formats/safetensors/header.ts";
import type { TensorToWrite } from "../formats/safetensors/write.ts";
import { safetensorsPieces } from "../formats/safetensors/write.ts";
import { numbersIn, tensorBytes } from "../ir/hostBytes.ts";
import type { HostTensor } from "../ir/hostTensor.ts";
import { hostTensor } from "../ir/hostTensor.ts";
import type { Snapshot } from "./session.ts";

const FORMAT = "rlx training";
const VERSION = "1";

/** The file in pieces, in order. */
export function checkpointPieces({ steps, tensors, scale }: Snapshot): readonly Uint8Array[] {
  const written = Object.entries(tensors).map(([name, tensor]): TensorToWrite => {
    const bytes = tensorBytes(hostTensor("f64", tensor.shape, tensor.data));
    return { name, type: "F64", shape: tensor.shape, bytes };
  });
  const facts = { format: FORMAT, version: VERSION, steps: String(steps) };
  const scaling = scale === undefined ? {} : { scale: String(scale.scale), good: String(scale.good) };
  return safetensorsPieces(written, { ...facts, ...scaling });
}

export async function readCheckpoint(source: ByteSource, signal?: AbortSignal): Promise<Snapshot> {
  const { name } = source;
  const { tensors, metadata } = await readSafetensors(source, signal);
  const said = `${metadata.get("format") ?? "another"} ${metadata.get("version") ?? ""}`.trim();
  if (said !== `${FORMAT} ${VERSION}`)
    throw new WorkbenchError(
      "INPUT_MALFORMED",
      `[${name}] checkpoint: got the format ${JSON.stringify(said.slice(0, 60))}, expected "${FORMAT} ${VERSION}"`,
      { hint: "Take a file that a training session has saved." },
    );
  const fact = (key: string, least: number): number => {
    const text = metadata.get(key) ?? "";
    const number = Number(text);
    if (text.trim() !== "" && Number.isFinite(number) && number >= least) return number;
    throw damaged(name, `${key}: got ${JSON.stringify(text.slice(0, 40))}, expected a number from ${least}`);
  };
  const read: [string, HostTensor][] = [];
  for (const tensor of tensors) read.push([tensor.name, await valuesOf(source, tensor, signal)]);
  const steps = fact("steps", 0);
  if (!Number.isSafeInteger(steps)) throw damaged(name, `steps: got ${steps}, expected a whole number`);
  const scale = metadata.has("scale") ? { scale: fact("scale", 1), good: fact("good", 0) } : undefined;
  return { steps, tensors: Object.fromEntries(read), ...(scale === undefined ? {} : { scale }) };
}

async function valuesOf(source: ByteSource, tensor: SafeTensor, signal: AbortSignal | undefined): Promise<HostTensor> {
  const { name, type, shape, offset, byteLength } = tensor;
  if (type !== "F64") throw damaged(source.name, `${name.slice(0, 60)}: got ${type}, expected F64`);
  return hostTensor("f64", shape, Float64Array.from(numbersIn("f64", await source.read(offset, byteLength, signal))));
}

const damaged = (file: string, message: string): WorkbenchError =>
  new WorkbenchError("INPUT_MALFORMED", `[${file}] checkpoint: ${message}`, {
    hint: "The file is damaged; take an older checkpoint.",
  });
