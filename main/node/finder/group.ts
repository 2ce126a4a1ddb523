/** Which models the files of a folder are: parts of a split GGUF count as one, and what belongs to a model is none. */
import { Json } from "../../formats/json.ts";
import type { WalkedFile, WalkedFolder } from "./walk.ts";

export interface Candidate {
  /** What opens it. */
  readonly path: string;
  readonly name: string;
  /** Its folder, from the root. */
  readonly folder: string;
  readonly kind: "gguf" | "hugging-face";
  /** The first part first; of a Hugging Face model config.json first. */
  readonly files: readonly WalkedFile[];
  /** Parts that its name says there are. */
  readonly parts: number;
}

const PART = /^(.*)-(\d{5})-of-(\d{5})\.gguf$/iu;
const CONFIG = "config.json";

export const isWanted = (name: string): boolean => name === CONFIG || /\.(gguf|safetensors)$/iu.test(name);

/** The eyes and ears of a model, an importance matrix: files beside it that are no models. */
export const isBeside = (name: string): boolean => /(^|[-_.])(mmproj|imatrix)([-_.]|$)/iu.test(name);

export function candidatesOf({ path, absolute, files }: WalkedFolder): readonly Candidate[] {
  const ggufs = files.filter(({ name }) => /\.gguf$/iu.test(name) && !isBeside(name));
  const sets = new Map<string, WalkedFile[]>();
  for (const file of ggufs) {
    const [, stem, , count] = PART.exec(file.name) ?? [];
    const key = stem === undefined ? file.name : `${stem}/${count ?? ""}`;
    sets.set(key, [...(sets.get(key) ?? []), file]);
  }
  const found = [...sets.values()].flatMap((parts): readonly Candidate[] => {
    const sorted = parts.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    const [first] = sorted;
    if (first === undefined) return [];
    const [, stem, , count] = PART.exec(first.name) ?? [];
    return [
      {
        ...{ path: first.path, folder: path, kind: "gguf", files: sorted },
        name: stem ?? first.name.replace(/\.gguf$/iu, ""),
        parts: Number(count ?? 1),
      },
    ];
  });
  const weights = files.filter(({ name }) => /\.safetensors$/iu.test(name));
  const config = files.find(({ name }) => name === CONFIG);
  if (config === undefined || weights.length === 0) return found;
  const name = path.split("/").at(-1) ?? "";
  return [
    ...found,
    {
      ...{ path: absolute, name, folder: path, kind: "hugging-face", parts: weights.length },
      files: [config, ...weights],
    },
  ];
}

/** "org/name" of a folder of Hugging Face's cache: "models--org--name/snapshots/…". */
export function repositoryOf(folder: string): string | undefined {
  const [, owner, name] = /^models--(.+?)--([^/]+)/u.exec(folder) ?? [];
  if (owner !== undefined && name !== undefined) return `${owner}/${name}`;
  return /^models--([^/]+)/u.exec(folder)?.[1];
}

/** What config.json says of the type of the weights and of the family; it is anybody's JSON. */
export function configFacts(text: string): { readonly variant: string | null; readonly architecture: string | null } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { variant: null, architecture: null };
  }
  const config = new Json(value);
  const word = (said: string | undefined): string | null =>
    said !== undefined && /^[\w.-]{1,40}$/u.test(said) ? said : null;
  const names: Readonly<Record<string, string>> = { bfloat16: "BF16", float16: "F16", float32: "F32" };
  const type = word(config.text("dtype", "torch_dtype") ?? config.child("text_config").text("dtype", "torch_dtype"));
  const bits = config.child("quantization_config", "quantization").number("bits");
  return {
    variant:
      bits !== undefined && bits > 0 && bits <= 16 ? `${bits} bit` : type === null ? null : (names[type] ?? type),
    architecture: word(config.text("model_type")),
  };
}
