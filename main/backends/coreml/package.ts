/**
 * A `.mlpackage`: Manifest.json, the model, the weight file. Written under a temporary name and put in place at the end
 * by the directory writer that the caller brings; the same input gives the same bytes (identifiers come from content).
 */
import { WorkbenchError, throwIfCancelled } from "../../diagnostics/errors.ts";
import { hashBytes, hashText } from "../../ir/hash.ts";
import type { Steps } from "../../ir/steps.ts";
import { finish } from "../../ir/steps.ts";
import type { BlobPlan, PositionedSink, RangeSource } from "./blob.ts";
import { BlobReader, writeBlobFrame } from "./blob.ts";
import { CoreML } from "./generated/proto.js";
import type { Flexibility, FunctionInterface, ModelMetadata } from "./features.ts";
import { descriptionMessage, interfaceOf, interfacesFrom } from "./interface.ts";
import { malformed, programFrom } from "./mil/fromProto.ts";
import { programBytes } from "./mil/toProto.ts";
import type { MilOpset, MilProgram } from "./mil/types.ts";
import { MIL_OPSETS } from "./mil/types.ts";

export const MODEL_PATH = "Data/com.apple.CoreML/model.mlmodel";
export const WEIGHTS_PATH = "Data/com.apple.CoreML/weights/weight.bin";
export const MANIFEST_PATH = "Manifest.json";
/** What protobuf can hold in one message. */
export const MAX_MODEL_BYTES = 2 ** 31 - 1;

/** A directory in the making; nothing is visible under its name before `commit`. */
export interface DirectoryWriter {
  /** A file for positioned writes; parents are made. `close` makes it durable. */
  file(path: string, byteLength?: number): Promise<PositionedSink & { close(): Promise<void> }>;
  commit(): Promise<void>;
  /** Leaves nothing behind; harmless after `commit`. */
  abandon(): Promise<void>;
}

/** A directory that is read; `undefined` where no such file exists. */
export interface DirectoryReader {
  file(path: string): Promise<RangeSource | undefined>;
}

export interface PackageContents {
  readonly program: MilProgram;
  readonly opset: MilOpset;
  readonly defaultFunction: string;
  readonly metadata: ModelMetadata;
  /** Flexible inputs by function, then by input. */
  readonly flexible?: Readonly<Record<string, Readonly<Record<string, Flexibility>>>>;
}

/** A UUID from a hash: version 8 (custom), lower case. */
function uuid(text: string): string {
  const h = hashText(text);
  const variant = ((parseInt(h[16] ?? "0", 16) & 3) | 8).toString(16);
  return `${h.slice(0, 8)}-${h.slice(8, 12)}-8${h.slice(13, 16)}-${variant}${h.slice(17, 20)}-${h.slice(20, 32)}`;
}

/** Manifest of a package whose model bytes hash to `content`. */
export function manifestText(content: string): string {
  const item = (name: string, description: string, path: string): Record<string, string> => ({
    author: "com.apple.CoreML",
    description,
    name,
    path,
  });
  const [model, weights] = [uuid(`model ${content}`), uuid(`weights ${content}`)];
  const entries = {
    [model]: item("model.mlmodel", "CoreML Model Specification", "com.apple.CoreML/model.mlmodel"),
    [weights]: item("weights", "CoreML Model Weights", "com.apple.CoreML/weights"),
  };
  const sorted = Object.fromEntries(Object.entries(entries).sort(([a], [b]) => (a < b ? -1 : 1)));
  return `${JSON.stringify({ fileFormatVersion: "1.0.0", itemInfoEntries: sorted, rootModelIdentifier: model }, null, 4)}\n`;
}

/** The model but for its program. */
function modelFrame(contents: PackageContents): CoreML.Specification.Model.$Properties {
  const functions = contents.program.functions.map((f) => interfaceOf(f, contents.flexible?.[f.name]));
  return {
    specificationVersion: MIL_OPSETS[contents.opset].specificationVersion,
    description: descriptionMessage(functions, contents.defaultFunction, contents.opset, contents.metadata),
  };
}

/** The tag of `mlProgram`, field 502 of a model. */
const PROGRAM_TAG = 502 * 8 + 2;

/** The serialised model. */
export function* modelBytes(contents: PackageContents): Steps<Uint8Array> {
  const program = yield* programBytes(contents.program);
  const bytes = CoreML.Specification.Model.encode(modelFrame(contents)).uint32(PROGRAM_TAG).bytes(program).finish();
  requireModelFits(bytes.length);
  return bytes;
}

/** Refuses a program, without its weight file, that one protobuf message cannot hold. */
export function requireModelFits(bytes: number): void {
  const limit = MAX_MODEL_BYTES;
  if (bytes <= limit) return;
  throw new WorkbenchError("UNSUPPORTED_TARGET", `[mlpackage] program: got ${bytes} bytes, expected ${limit} at most`, {
    details: { bytes, limit },
    hint: "Large constants belong into parameters: their numbers are kept in the weight file.",
  });
}

/** How a write can be stopped, and how it lets others cut in. */
export interface PackageRun {
  readonly signal?: AbortSignal | undefined;
  /** Runs what takes long without waiting for anything; all at once without it. */
  readonly inSlices?: (<T>(steps: Steps<T>) => Promise<T>) | undefined;
}

/**
 * Writes and commits; on any failure (or cancel) nothing is left. `writeWeights` fills the data of every planned record and
 * runs first: only then is it known which weights need a power of two, so `contents` is asked for afterwards.
 */
export async function writePackage(
  directory: DirectoryWriter,
  blob: BlobPlan,
  writeWeights: (sink: PositionedSink) => Promise<void>,
  contents: () => PackageContents | Promise<PackageContents>,
  { signal, inSlices }: PackageRun = {},
): Promise<{ readonly modelBytes: number; readonly weightBytes: number }> {
  try {
    // Closed only when whole: closing waits until the disk has it, which for what is abandoned would be gigabytes for nothing.
    const weights = await directory.file(WEIGHTS_PATH, blob.byteLength);
    await writeBlobFrame(blob, weights);
    await writeWeights(weights);
    throwIfCancelled(signal);
    await weights.close();
    throwIfCancelled(signal);
    const steps = modelBytes(await contents());
    const model = inSlices === undefined ? finish(steps) : await inSlices(steps);
    await writeWhole(directory, MODEL_PATH, model);
    await writeWhole(directory, MANIFEST_PATH, new TextEncoder().encode(manifestText(hashBytes(model))));
    throwIfCancelled(signal);
    await directory.commit();
    return { modelBytes: model.length, weightBytes: blob.byteLength };
  } catch (error) {
    await directory.abandon();
    throw error;
  }
}

async function writeWhole(directory: DirectoryWriter, path: string, bytes: Uint8Array): Promise<void> {
  const file = await directory.file(path, bytes.length);
  await file.write(0, bytes);
  await file.close();
}

/** A package read back: structure at once, weights on demand. */
export interface OpenPackage {
  readonly specificationVersion: number;
  readonly program: MilProgram;
  readonly functions: readonly FunctionInterface[];
  readonly defaultFunction: string;
  readonly userDefined: Readonly<Record<string, string>>;
  /** Absent when the package has no weight file. */
  readonly weights: BlobReader | undefined;
}

/** Largest manifest anyone writes by hand; a bigger one is not ours. */
const MAX_MANIFEST_BYTES = 1 << 20;

export async function openPackage(directory: DirectoryReader): Promise<OpenPackage> {
  const modelPath = modelPathOf(await readManifest(directory));
  const file = await directory.file(modelPath);
  if (file === undefined) return malformed(modelPath, "the file is missing");
  const model = decodeModel(await file.read(0, file.byteLength));
  if (!model.mlProgram || !model.description) return malformed(modelPath, "not an ML Program");
  const weightsPath = `${modelPath.slice(0, modelPath.lastIndexOf("/"))}/weights/weight.bin`;
  const weightFile = await directory.file(weightsPath);
  const functions = interfacesFrom(model.description);
  return {
    specificationVersion: model.specificationVersion ?? 0,
    program: programFrom(model.mlProgram),
    functions,
    defaultFunction: model.description.defaultFunctionName || (functions[0]?.name ?? "main"),
    userDefined: { ...model.description.metadata?.userDefined },
    weights: weightFile === undefined ? undefined : await BlobReader.open(weightFile),
  };
}

function decodeModel(bytes: Uint8Array): CoreML.Specification.Model.$Properties {
  try {
    return CoreML.Specification.Model.decode(bytes);
  } catch (cause) {
    throw new WorkbenchError("INPUT_MALFORMED", "[mlpackage] model.mlmodel is not a protobuf model", {
      cause,
      hint: "Export the model again.",
    });
  }
}

async function readManifest(directory: DirectoryReader): Promise<unknown> {
  const file = await directory.file(MANIFEST_PATH);
  if (file === undefined) return malformed(MANIFEST_PATH, "the file is missing");
  if (file.byteLength > MAX_MANIFEST_BYTES) malformed(MANIFEST_PATH, `${file.byteLength} bytes`);
  try {
    return JSON.parse(new TextDecoder().decode(await file.read(0, file.byteLength)));
  } catch {
    return malformed(MANIFEST_PATH, "not JSON");
  }
}

const record = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};

function modelPathOf(manifest: unknown): string {
  const root = record(manifest)["rootModelIdentifier"];
  const items = record(record(manifest)["itemInfoEntries"]);
  const path = typeof root === "string" && Object.hasOwn(items, root) ? record(items[root])["path"] : undefined;
  if (typeof path !== "string" || path.startsWith("/") || path.includes("\\") || path.split("/").includes(".."))
    return malformed(MANIFEST_PATH, "no usable root model");
  return `Data/${path}`;
}
