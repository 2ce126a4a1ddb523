/**
 * Which model a file holds: its family's reading of it, or one sentence on why there is no graph
 * for it. It is worked out once for an open file; later callers get the same value.
 */
import { WorkbenchError } from "../diagnostics/errors.ts";
import { adaptersOf } from "../formats/gguf/adapters.ts";
import type { GgufFile } from "../formats/gguf/file.ts";
import { quote } from "../formats/gguf/header.ts";
import { FAMILIES } from "./families/index.ts";
import type { Architecture, DecoderArchitecture, Embedder, Family, TensorSpec } from "./family.ts";
import { noTensor, sameButOnes, wrongShape } from "./tensorErrors.ts";

export type ArchitectureReading =
  | { readonly kind: "known"; readonly architecture: Architecture }
  /** `sentence` is for people: what it is and what still works. */
  | { readonly kind: "unsupported"; readonly name: string | undefined; readonly sentence: string }
  /** It names a family we know, but a key or tensor that all of them have is missing or broken. */
  | { readonly kind: "broken"; readonly name: string; readonly error: WorkbenchError };

const STILL_WORKS = "Its metadata, blocks, tensors and tokenizer can be inspected, but there is no graph for it.";

/** Files of this format that are not models, by their `general.type`. */
const NO_MODELS: ReadonlyMap<string, string> = new Map([
  ["adapter", "It is an adapter (LoRA), not a model: open the model that it belongs to, and give the adapter with it."],
  ["imatrix", "It is an importance matrix, not a model: it tells a quantiser which weights matter."],
]);

/** "llama, qwen3 and 38 more" */
function listed(families: readonly Family[]): string {
  const names = families.flatMap(({ architectures }) => architectures);
  if (names.length < 4) return names.join(", ");
  const first = ["llama", "qwen3", "gemma3"].filter((name) => names.includes(name));
  return `${first.join(", ")} and ${names.length - first.length} more`;
}

/** What to do about a file without a graph. */
export const USE_A_KNOWN_FAMILY = `Use a model of another architecture: ${listed(FAMILIES)} have a graph.`;

const readings = new WeakMap<GgufFile, ArchitectureReading>();

export function readArchitecture(file: GgufFile): ArchitectureReading {
  const known = readings.get(file);
  if (known !== undefined) return known;
  const reading = readWith(FAMILIES, file);
  readings.set(file, reading);
  return reading;
}

/** The same with other families than those of the program. */
export function readWith(families: readonly Family[], file: GgufFile): ArchitectureReading {
  const name = optionalText(file, "general.architecture");
  const unsupported = (sentence: string): ArchitectureReading => ({
    kind: "unsupported",
    name,
    sentence: `${sentence} ${STILL_WORKS}`,
  });
  const other = NO_MODELS.get(optionalText(file, "general.type") ?? "");
  if (other !== undefined) return unsupported(other);
  if (file.tensors.length === 0)
    return unsupported(
      `It holds no weights${file.metadata.has("tokenizer.ggml.model") ? ", only a vocabulary and keys" : ", only keys"}.`,
    );
  if (file.made?.unread !== undefined) return unsupported(file.made.unread);
  if (name === undefined) return unsupported("The file does not name its architecture.");
  const family = families.find(({ architectures }) => architectures.includes(name));
  if (family === undefined) return unsupported(unknownSentence(families, file, name));
  try {
    const architecture = family.read(file, name);
    const unread = unreadTensors(file, architecture);
    return unread.length > 0 ? unsupported(leftOver(name, unread)) : { kind: "known", architecture };
  } catch (error) {
    if (!(error instanceof WorkbenchError)) throw error;
    if (error.code === "UNSUPPORTED_ARCHITECTURE") return unsupported(error.message.replace(/^\[[^\]]*\] /u, ""));
    return { kind: "broken", name, error };
  }
}

function unknownSentence(families: readonly Family[], file: GgufFile, name: string): string {
  const known = listed(families);
  const experts = file.metadata.get(`${name}.expert_count`);
  const mixture =
    experts?.kind === "number" && experts.value > 0 ? ` It is a mixture of experts (${experts.value} of them).` : "";
  return `The architecture ${quote(name)} is not supported yet (${known} are).${mixture}`;
}

/** Finding it builds the graph, and two questions about a file that is opened need it. */
const tensorsRead = new WeakMap<GgufFile, { readonly by: Architecture; readonly tensors: readonly TensorSpec[] }>();

function tensorsOf(file: GgufFile, architecture: Architecture): readonly TensorSpec[] {
  const known = tensorsRead.get(file);
  if (known?.by === architecture) return known.tensors;
  const tensors = readTensors(file, architecture);
  tensorsRead.set(file, { by: architecture, tensors });
  return tensors;
}

/** What the graph reads of this file. A file with fewer tensors than layers is no model, and its graph is not built. */
function readTensors(file: GgufFile, architecture: Architecture): readonly TensorSpec[] {
  if (architecture.layers > file.tensors.length)
    throw new WorkbenchError(
      "INPUT_MALFORMED",
      `[${file.name}] block_count: got ${architecture.layers} in a file of ${file.tensors.length} tensors`,
      { hint: "The file is incomplete; convert or download it again." },
    );
  return architecture.tensors((name) => file.tensor(name) !== undefined, adaptersOf(file));
}

/** A number by which some engines round what an NVFP4 matrix multiplies. Here it is not rounded so. */
const INPUT_SCALE = /\.input_scale$/u;

/** Tensors of the file that its family's graph leaves out: answers without them could be wrong. */
function unreadTensors(file: GgufFile, architecture: Architecture): readonly string[] {
  const read = new Set<string>();
  for (const { name } of tensorsOf(file, architecture)) read.add(name);
  const isNeeded = (name: string): boolean =>
    !read.has(name) && !architecture.isBeside(name) && !INPUT_SCALE.test(name);
  return file.tensors.map(({ name }) => name).filter(isNeeded);
}

function leftOver(name: string, unread: readonly string[]): string {
  const some = unread.slice(0, 3).map(quote).join(", ");
  const more = unread.length > 3 ? ` and ${unread.length - 3} more` : "";
  return `It has tensors that a ${name} model does not read, so its answers could be wrong without them: ${some}${more}.`;
}

/** The architecture, or the error that `run` and `graph` end with. */
export function requireArchitecture(file: GgufFile): Architecture {
  const reading = readArchitecture(file);
  if (reading.kind === "known") return reading.architecture;
  if (reading.kind === "broken") throw reading.error;
  throw new WorkbenchError("UNSUPPORTED_ARCHITECTURE", `[${file.name}] ${reading.sentence}`, {
    hint: USE_A_KNOWN_FAMILY,
    details: { architecture: reading.name ?? null },
  });
}

/** The model of a file that writes; an encoder is refused. */
export function requireDecoder(file: GgufFile): DecoderArchitecture {
  const architecture = requireArchitecture(file);
  if (architecture.kind === "decoder") return architecture;
  throw new WorkbenchError(
    "UNSUPPORTED_MODEL_KIND",
    `[${file.name}] got an encoder (${architecture.name}), expected a decoder: it makes vectors of texts and writes none`,
    { hint: "Use `rlx embed`, or `rlx rerank` with a reranker." },
  );
}

/** Why a model has no conversations, whatever its file says of a template; undefined where nothing speaks against them. */
export function chatRefusal(file: GgufFile): string | undefined {
  const reading = readArchitecture(file);
  if (reading.kind !== "known" || reading.architecture.kind !== "decoder" || reading.architecture.encoder === undefined)
    return undefined;
  return "This is an encoder-decoder: it reads one text and writes what becomes of it, so it has no conversation with turns.";
}

/** A decoder that reads texts itself; an encoder-decoder is refused. */
export function requireReadingDecoder(file: GgufFile): DecoderArchitecture {
  const architecture = requireDecoder(file);
  if (architecture.encoder === undefined) return architecture;
  throw new WorkbenchError(
    "UNSUPPORTED_MODEL_KIND",
    `[${file.name}] got an encoder-decoder (${architecture.name}), expected a decoder that reads the text itself`,
    { hint: "`rlx run` gives it a text as the prompt; what looks at a text alone (score, imatrix) is for decoders." },
  );
}

/** What makes vectors of texts; a model that only writes is refused. */
export function requireEmbedder(file: GgufFile): Embedder & { readonly context: number; readonly name: string } {
  const { embedder, context, name } = requireArchitecture(file);
  if (embedder !== undefined) return { ...embedder, context, name };
  throw new WorkbenchError(
    "UNSUPPORTED_MODEL_KIND",
    `[${file.name}] got a decoder (${name}) without a pooling, expected a model that makes vectors of texts`,
    { hint: "Use an embedding model; this one runs with `rlx run`." },
  );
}

/** Why the file's tensors make no graph: the first that is missing or has another shape; undefined when none is. */
export function missingTensor(file: GgufFile, architecture: Architecture): WorkbenchError | undefined {
  for (const { name, shape } of tensorsOf(file, architecture)) {
    const found = file.tensor(name)?.shape;
    if (found === undefined) return noTensor(file.name, name);
    if (!sameButOnes(found, shape)) return wrongShape(file.name, name, `[${found.join(",")}]`, shape);
  }
  return undefined;
}

function optionalText(file: GgufFile, key: string): string | undefined {
  return file.metadata.get(key)?.kind === "string" ? file.metadata.optionalString(key) : undefined;
}
