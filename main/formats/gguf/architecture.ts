/**
 * What a file says its model is: the hyper-parameters of the llama, qwen2 and qwen3 families in one typed value, or one
 * sentence on why there is no graph for it. Keys and defaults are those llama.cpp reads, so that both see one model.
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { GgufFile } from "./file.ts";
import { quote } from "./header.ts";

export const FAMILIES = ["llama", "qwen2", "qwen3"] as const;
export type Family = (typeof FAMILIES)[number];

export type RopeScaling =
  | { readonly kind: "none" }
  /** Positions divided by the factor. */
  | { readonly kind: "linear"; readonly factor: number }
  /** NTK-by-parts: low frequencies are divided by the factor, high ones kept, a ramp between them. */
  | {
      readonly kind: "yarn";
      readonly factor: number;
      readonly originalContext: number;
      readonly betaFast: number;
      readonly betaSlow: number;
    };

export interface Rope {
  /** Dimensions of a head that are rotated. */
  readonly dims: number;
  readonly base: number;
  /** Which two dimensions turn together: (2i, 2i+1), or (i, i + dims/2). */
  readonly pairing: "adjacent" | "halves";
  readonly scaling: RopeScaling;
  /** What sine and cosine are multiplied by: attn_factor, and for yarn (1 + 0.1 · ln factor) besides. */
  readonly attentionFactor: number;
  /** Tensor of dims/2 divisors, one per frequency (how llama3 scaling travels); applies on top of `scaling`. */
  readonly factorsTensor: string | undefined;
}

export interface Architecture {
  /** general.architecture, the prefix of its keys. */
  readonly name: string;
  readonly family: Family;
  readonly layers: number;
  readonly width: number;
  readonly feedForward: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  readonly rope: Rope;
  readonly normEpsilon: number;
  readonly vocabulary: number;
  /** Positions it was trained for. */
  readonly context: number;
  /** No output.weight: the embedding is the output matrix too. */
  readonly tiedEmbedding: boolean;
  readonly biases: { readonly qkv: boolean; readonly attentionOutput: boolean; readonly feedForward: boolean };
  /** RMS norms over each head of q and k. */
  readonly qkNorm: boolean;
}

export type ArchitectureReading =
  | { readonly kind: "known"; readonly architecture: Architecture }
  /** `sentence` is for people: what it is and what still works. */
  | { readonly kind: "unsupported"; readonly name: string | undefined; readonly sentence: string }
  /** It names a family we know, but a key or tensor that all of them have is missing or broken. */
  | { readonly kind: "broken"; readonly name: string; readonly error: WorkbenchError };

const STILL_WORKS = "Its metadata, tensors and tokenizer can be inspected, but there is no graph for it.";

/** Files of this format that are no models, by their `general.type`. */
const NO_MODELS: ReadonlyMap<string, string> = new Map([
  [
    "adapter",
    "It is an adapter (LoRA), not a model: it changes the weights of another file, which is not supported yet.",
  ],
  ["imatrix", "It is an importance matrix, not a model: it tells a quantiser which weights matter."],
]);

export function readArchitecture(file: GgufFile): ArchitectureReading {
  const name = optionalText(file, "general.architecture");
  const other = NO_MODELS.get(optionalText(file, "general.type") ?? "");
  if (other !== undefined) return { kind: "unsupported", name, sentence: `${other} ${STILL_WORKS}` };
  if (file.tensors.length === 0)
    return {
      kind: "unsupported",
      name,
      sentence: `It holds no weights${file.metadata.has("tokenizer.ggml.model") ? ", only a vocabulary and keys" : ", only keys"}. ${STILL_WORKS}`,
    };
  if (name === undefined)
    return { kind: "unsupported", name, sentence: `The file does not name its architecture. ${STILL_WORKS}` };
  const family = FAMILIES.find((known) => known === name);
  if (family === undefined)
    return {
      kind: "unsupported",
      name,
      sentence: `The architecture ${quote(name)} is not supported yet (${FAMILIES.join(", ")} are). ${mixture(file, name) ?? ""}${STILL_WORKS}`,
    };
  const experts = mixture(file, name);
  if (experts !== undefined) return { kind: "unsupported", name, sentence: `${experts}${STILL_WORKS}` };
  try {
    const architecture = readFamily(file, name, family);
    const unread = file.tensors.map((tensor) => tensor.name).filter((tensor) => !isRead(architecture, tensor));
    if (unread.length > 0) return { kind: "unsupported", name, sentence: `${leftOver(name, unread)} ${STILL_WORKS}` };
    return { kind: "known", architecture };
  } catch (error) {
    if (!(error instanceof WorkbenchError)) throw error;
    if (error.code === "UNSUPPORTED_ARCHITECTURE")
      return { kind: "unsupported", name, sentence: `${error.message.replace(/^\[[^\]]*\] /u, "")} ${STILL_WORKS}` };
    return { kind: "broken", name, error };
  }
}

const IN_A_BLOCK =
  /^blk\.(0|[1-9]\d{0,4})\.(?:(?:attn|ffn)_norm\.weight|(?:attn_(?:q|k|v|output)|ffn_(?:gate|up|down))\.(?:weight|bias)|(attn_[qk]_norm)\.weight)$/u;

/** Whether the family's graph reads this tensor, or no answer needs it. What else it leaves out would be missing from every answer. */
function isRead({ family, layers, rope }: Architecture, tensor: string): boolean {
  // A classifier's head stands beside the decoder: the logits do not depend on it.
  if (tensor === rope.factorsTensor || tensor.startsWith("cls.")) return true;
  if (["token_embd.weight", "output_norm.weight", "output.weight"].includes(tensor)) return true;
  const [, layer, headNorm] = IN_A_BLOCK.exec(tensor) ?? [];
  return layer !== undefined && Number(layer) < layers && (headNorm === undefined || family === "qwen3");
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
    hint: "Use a dense model of the llama, qwen2 or qwen3 family.",
    details: { architecture: reading.name ?? null },
  });
}

function mixture(file: GgufFile, name: string): string | undefined {
  const experts = file.metadata.get(`${name}.expert_count`);
  if (experts?.kind !== "number" || experts.value <= 0) return undefined;
  return `It is a mixture of experts (${experts.value} of them), which is not supported yet. `;
}

function optionalText(file: GgufFile, key: string): string | undefined {
  return file.metadata.get(key)?.kind === "string" ? file.metadata.optionalString(key) : undefined;
}

function readFamily(file: GgufFile, name: string, family: Family): Architecture {
  const keys = file.metadata;
  const layers = positive(file, `${name}.block_count`);
  const width = positive(file, `${name}.embedding_length`);
  const heads = sameInEveryLayer(file, `${name}.attention.head_count`, undefined);
  const kvHeads = sameInEveryLayer(file, `${name}.attention.head_count_kv`, heads);
  const headDim = headSize(file, name, width, heads);
  const feedForward = sameInEveryLayer(file, `${name}.feed_forward_length`, undefined);
  const context = positive(file, `${name}.context_length`);
  const causal = keys.get(`${name}.attention.causal`);
  if (causal?.kind === "bool" && !causal.value)
    throw new WorkbenchError(
      "UNSUPPORTED_ARCHITECTURE",
      `[${file.name}] Its attention looks both ways, as that of an encoder; only causal decoders are supported.`,
    );
  const normEpsilon = keys.number(`${name}.attention.layer_norm_rms_epsilon`);
  if (!(normEpsilon >= 0) || !Number.isFinite(normEpsilon))
    throw malformed(file, `${name}.attention.layer_norm_rms_epsilon: got ${normEpsilon}, expected 0 or more`);
  if (heads % kvHeads !== 0)
    throw malformed(file, `${heads} heads cannot share ${kvHeads} key/value heads: expected a multiple`);
  if (layers > 10_000) throw malformed(file, `${name}.block_count: got ${layers}, expected at most 10000`);
  const embedding = file.requireTensor("token_embd.weight");
  const [vocabulary, columns] = embedding.shape;
  if (vocabulary === undefined || columns !== width || embedding.shape.length !== 2)
    throw malformed(file, `token_embd.weight is [${embedding.shape.join(", ")}]: expected [vocabulary, ${width}]`);
  const tokens = keys.get("tokenizer.ggml.tokens");
  if (tokens?.kind === "strings" && tokens.strings.length !== vocabulary)
    throw malformed(
      file,
      `tokenizer.ggml.tokens has ${tokens.strings.length} tokens: expected ${vocabulary}, one for each row of token_embd.weight`,
    );
  const has = (tensor: string): boolean => file.tensor(`blk.0.${tensor}`) !== undefined;
  return {
    name,
    family,
    layers,
    width,
    feedForward,
    heads,
    kvHeads,
    headDim,
    rope: readRope(file, name, family, headDim, context),
    normEpsilon,
    vocabulary,
    context,
    tiedEmbedding: file.tensor("output.weight") === undefined,
    biases: {
      qkv: has("attn_q.bias") || has("attn_k.bias") || has("attn_v.bias"),
      attentionOutput: has("attn_output.bias"),
      feedForward: has("ffn_gate.bias") || has("ffn_up.bias") || has("ffn_down.bias"),
    },
    qkNorm: has("attn_q_norm.weight") || has("attn_k_norm.weight"),
  };
}

function headSize(file: GgufFile, name: string, width: number, heads: number): number {
  const given = file.metadata.optionalCount(`${name}.attention.key_length`);
  const headDim = given ?? width / heads;
  if (!Number.isInteger(headDim) || headDim <= 0 || headDim % 2 !== 0)
    throw malformed(file, `the size of a head: got ${headDim}, expected an even whole number`);
  const values = file.metadata.optionalCount(`${name}.attention.value_length`) ?? given ?? headDim;
  if (values !== headDim)
    throw new WorkbenchError(
      "UNSUPPORTED_ARCHITECTURE",
      `[${file.name}] Its keys have ${headDim} dimensions per head and its values ${values}; only equal sizes are supported.`,
    );
  return headDim;
}

/** Defaults as llama.cpp has them: a type that is not given means linear, a factor that is not given none; 0 is not given. */
function readRope(file: GgufFile, name: string, family: Family, headDim: number, context: number): Rope {
  const keys = file.metadata;
  const dims = keys.optionalCount(`${name}.rope.dimension_count`) ?? headDim;
  if (dims === 0 || dims > headDim || dims % 2 !== 0)
    throw malformed(file, `${name}.rope.dimension_count: got ${dims}, expected an even number up to ${headDim}`);
  const base = keys.optionalNumber(`${name}.rope.freq_base`) ?? 10_000;
  if (!(base > 0) || !Number.isFinite(base))
    throw malformed(file, `${name}.rope.freq_base: got ${base}, expected more than 0`);
  const factors = "rope_freqs.weight";
  const scaling = readScaling(file, name, context);
  const magnitude = scaling.kind === "yarn" && scaling.factor > 1 ? 1 + 0.1 * Math.log(scaling.factor) : 1;
  const attention = keys.optionalNumber(`${name}.rope.scaling.attn_factor`) ?? 1;
  if (!Number.isFinite(attention))
    throw malformed(file, `${name}.rope.scaling.attn_factor: got ${attention}, expected a number`);
  return {
    dims,
    base,
    pairing: family === "llama" ? "adjacent" : "halves",
    scaling,
    attentionFactor: magnitude * attention,
    factorsTensor: family === "llama" && file.tensor(factors) !== undefined ? factors : undefined,
  };
}

function readScaling(file: GgufFile, name: string, context: number): RopeScaling {
  const keys = file.metadata;
  const type = keys.optionalString(`${name}.rope.scaling.type`) ?? "linear";
  const given =
    keys.optionalNumber(`${name}.rope.scaling.factor`) ?? keys.optionalNumber(`${name}.rope.scale_linear`) ?? 0;
  const factor = given === 0 ? 1 : given;
  if (!(factor > 0) || !Number.isFinite(factor))
    throw malformed(file, `${name}.rope.scaling.factor: got ${factor}, expected more than 0`);
  switch (type) {
    case "none":
      return { kind: "none" };
    case "linear":
      return factor === 1 ? { kind: "none" } : { kind: "linear", factor };
    case "yarn": {
      const original = keys.optionalCount(`${name}.rope.scaling.original_context_length`) ?? 0;
      return {
        kind: "yarn",
        factor,
        originalContext: original === 0 ? context : original,
        betaFast: 32,
        betaSlow: 1,
      };
    }
    default:
      throw new WorkbenchError(
        "UNSUPPORTED_ARCHITECTURE",
        `[${file.name}] Its rope scaling ${quote(type)} is not supported (none, linear, llama3 factors and yarn are).`,
      );
  }
}

function positive(file: GgufFile, key: string): number {
  const value = file.metadata.count(key);
  if (value > 0) return value;
  throw malformed(file, `${key}: got ${value}, expected more than 0`);
}

function sameInEveryLayer(file: GgufFile, key: string, fallback: number | undefined): number {
  const value = file.metadata.countOrList(key) ?? fallback;
  if (value === undefined) return file.metadata.count(key);
  if (typeof value !== "number")
    throw new WorkbenchError(
      "UNSUPPORTED_ARCHITECTURE",
      `[${file.name}] Its layers differ in ${key}, which is not supported.`,
    );
  if (value > 0) return value;
  throw malformed(file, `${key}: got ${value}, expected more than 0`);
}

const malformed = (file: GgufFile, message: string): WorkbenchError =>
  new WorkbenchError("INPUT_MALFORMED", `[${file.name}] ${message}`, {
    hint: "The keys contradict each other; convert the model again.",
  });
