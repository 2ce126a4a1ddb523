/**
 * The overview of a file in numbers: its name, its parameters by type, its tokenizer.
 * Made from the header alone.
 */
import type { GgufFile, GgufTensor } from "./file.ts";
import { fileTypeName } from "./types.ts";
import type { GgmlType } from "./types.ts";

export interface TypeShare {
  readonly type: string;
  readonly tensors: number;
  readonly parameters: number;
  readonly bytes: number;
  readonly bitsPerWeight: number;
  /** Part of all tensor bytes, 0 to 1. */
  readonly share: number;
  /** Whether the graph can use it. */
  readonly runs: boolean;
  /** Whose type it is, where it is none of ggml's. */
  readonly from: string | undefined;
}

export interface TokenizerSummary {
  /** tokenizer.ggml.model: "llama" (SentencePiece), "gpt2" (byte-level BPE), … */
  readonly model: string;
  readonly pre: string | undefined;
  readonly tokens: number;
  readonly merges: number;
  readonly hasChatTemplate: boolean;
}

export interface FileDescription {
  readonly title: string;
  /** "Q4_K_M" as the file names itself, or the type with most bytes, or what the mix is. */
  readonly variant: string;
  readonly parameters: number;
  readonly tensorBytes: number;
  readonly bitsPerWeight: number | undefined;
  /** Most bytes first. */
  readonly mix: readonly TypeShare[];
  readonly tokenizer: TokenizerSummary | undefined;
  /** Warnings for the overview. */
  readonly warnings: readonly string[];
}

export function describeFile(file: GgufFile): FileDescription {
  const mix = typeShares(file.tensors);
  const parameters = file.tensors.reduce((sum, tensor) => sum + tensor.elements, 0);
  const tensorBytes = file.tensors.reduce((sum, tensor) => sum + tensor.byteLength, 0);
  return {
    title:
      line(text(file, "general.name")) ?? line(text(file, "general.basename")) ?? file.name.replace(/\.gguf$/u, ""),
    variant: variantOf(file, mix),
    parameters,
    tensorBytes,
    bitsPerWeight: parameters === 0 ? undefined : (tensorBytes * 8) / parameters,
    mix,
    tokenizer: tokenizerSummary(file),
    warnings: warningsOf(file, mix),
  };
}

export function typeShares(tensors: readonly GgufTensor[]): TypeShare[] {
  const byType = new Map<string, { readonly type: GgmlType; readonly members: GgufTensor[] }>();
  for (const tensor of tensors) {
    const known = byType.get(tensor.type.name);
    if (known === undefined) byType.set(tensor.type.name, { type: tensor.type, members: [tensor] });
    else known.members.push(tensor);
  }
  const total = tensors.reduce((sum, tensor) => sum + tensor.byteLength, 0);
  return [...byType.values()]
    .map(({ type, members }) => {
      const bytes = members.reduce((sum, tensor) => sum + tensor.byteLength, 0);
      const parameters = members.reduce((sum, tensor) => sum + tensor.elements, 0);
      return {
        type: type.name,
        tensors: members.length,
        parameters,
        bytes,
        bitsPerWeight: (bytes * 8) / parameters,
        share: total === 0 ? 0 : bytes / total,
        runs: type.element !== undefined,
        from: type.from,
      };
    })
    .toSorted((a, b) => b.bytes - a.bytes);
}

/** The file's tensor types that no engine takes, by their display names. */
export const otherTypes = (mix: readonly TypeShare[], taken: readonly string[]): readonly string[] =>
  mix.filter(({ type }) => !taken.includes(type)).map(({ type }) => type.toUpperCase());

/** The layer a tensor belongs to; undefined for embeddings, final norm and output. */
export function layerOf(tensorName: string): number | undefined {
  const match = /^blk\.(\d{1,6})\./u.exec(tensorName);
  return match?.[1] === undefined ? undefined : Number(match[1]);
}

/** "attn_q.weight" of "blk.3.attn_q.weight". */
export const roleOf = (tensorName: string): string => tensorName.replace(/^blk\.\d{1,6}\./u, "");

function variantOf(file: GgufFile, mix: readonly TypeShare[]): string {
  const ftype = file.metadata.get("general.file_type");
  const named = ftype?.kind === "number" ? fileTypeName(ftype.value) : undefined;
  return named ?? mix[0]?.type.toUpperCase() ?? "no tensors";
}

function tokenizerSummary(file: GgufFile): TokenizerSummary | undefined {
  const model = text(file, "tokenizer.ggml.model");
  if (model === undefined) return undefined;
  const length = (key: string): number => {
    const value = file.metadata.get(key);
    return value?.kind === "strings" ? value.strings.length : 0;
  };
  return {
    model,
    pre: text(file, "tokenizer.ggml.pre"),
    tokens: length("tokenizer.ggml.tokens"),
    merges: length("tokenizer.ggml.merges"),
    hasChatTemplate: text(file, "tokenizer.chat_template") !== undefined,
  };
}

function warningsOf(file: GgufFile, mix: readonly TypeShare[]): string[] {
  const warnings: string[] = [];
  const named = ({ type, from }: TypeShare): string => type.toUpperCase() + (from === undefined ? "" : ` (${from})`);
  const notRunning = mix.filter((share) => !share.runs).map(named);
  if (notRunning.length > 0) warnings.push(`Tensors of type ${notRunning.join(", ")} can be inspected but not run.`);
  const model = text(file, "tokenizer.ggml.model");
  if (model === "gpt2" && !file.metadata.has("tokenizer.ggml.pre"))
    warnings.push(
      "The file does not name its pre-tokenizer; text is split by the default rules, which may be the wrong ones.",
    );
  return warnings;
}

/** A title stands in one line. */
function line(value: string | undefined): string | undefined {
  const joined = value?.replace(/\s+/gu, " ").trim();
  return joined === "" ? undefined : joined;
}

/** A text key; a key of another type counts as absent here, for an overview must not fail on it. */
function text(file: GgufFile, key: string): string | undefined {
  return file.metadata.get(key)?.kind === "string" ? file.metadata.optionalString(key) : undefined;
}
