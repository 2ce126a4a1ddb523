/**
 * A model of Hugging Face, opened like a GGUF: config.json, tokenizer.json and safetensors files
 * become the source of the GGUF that `rlx convert` would write. Only headers and the small files
 * are read; tensors are read, and changed, when they are asked for. A model of no known family, one
 * that its family refuses, or safetensors without a config.json shows its tensors under their own
 * names.
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { ByteSource, SiblingOpener } from "../byteSource.ts";
import { stringEntry, numberEntry } from "../gguf/encode.ts";
import { quote } from "../gguf/header.ts";
import type { NamedTensor } from "../gguf/madeGguf.ts";
import { madeGguf } from "../gguf/madeGguf.ts";
import { fileTypeNumber } from "../gguf/types.ts";
import type { MetadataEntry } from "../gguf/values.ts";
import { isObject, Json, parseJson } from "../json.ts";
import type { SafetensorsFile } from "../safetensors/header.ts";
import { readSafetensors } from "../safetensors/header.ts";
import type { HfFamily } from "./parts.ts";
import { HF_FAMILIES } from "./families.ts";
import type { HfConfig } from "./keys.ts";
import { entriesOf } from "./keys.ts";
import type { DenseModule } from "./modules.ts";
import { POOLING_FILE, denseModules, projection } from "./modules.ts";
import { numberLists } from "./numbers.ts";
import { tokenizerEntries } from "./tokenizer.ts";
import { byName, familyTensors, shownBytes } from "./weights.ts";
import { rankPooling, yesOrNo } from "./yesOrNo.ts";

export interface HfOptions {
  readonly openSibling: SiblingOpener;
  readonly signal?: AbortSignal | undefined;
}

/** Of a JSON file. The tokenizers of the largest vocabularies take 35 MB. */
const MOST_JSON = 64 << 20;
const MOST_FILES = 1000;
const INDEX = "model.safetensors.index.json";

/** `given`: config.json or another JSON file of the folder, or a safetensors file. Closed on failure, with all that was opened. */
export async function huggingFaceSource(given: ByteSource, { openSibling, signal }: HfOptions): Promise<ByteSource> {
  const opened: ByteSource[] = [given];
  const sibling: SiblingOpener = async (name) => {
    const source = await openSibling(name);
    if (source !== undefined) opened.push(source);
    return source;
  };
  try {
    const json = async (name: string): Promise<Json> => new Json(await readJson(await sibling(name), isObject, signal));
    const list = async (name: string): Promise<readonly unknown[]> =>
      (await readJson(await sibling(name), isList, signal)) ?? [];
    const names = await weightNames(given, await json(INDEX), sibling);
    const files: SafetensorsFile[] = [];
    for (const name of names) {
      const source = name === given.name ? given : await sibling(name);
      if (source === undefined) throw missingFile(given.name, name, names);
      files.push(await readSafetensors(source, signal));
    }
    const model: Folder = {
      name: given.name,
      config: await json("config.json"),
      tokenizer: await json("tokenizer.json"),
      settings: await json("tokenizer_config.json"),
      generation: await json("generation_config.json"),
      pooling: await json(POOLING_FILE),
      dense: await denseModules(await list("modules.json"), { name: given.name, sibling, json, signal }),
      template: await readText(await sibling("chat_template.jinja"), signal),
      readme: await readText(await sibling("README.md"), signal),
      files,
    };
    const { unread, ...contents } = await contentsOf(model, signal);
    const from = files.length === 1 ? "safetensors" : `${files.length} safetensors files`;
    return madeGguf({
      ...{ name: given.name, ...contents },
      made: { from, ...(unread !== undefined && { unread }) },
      close: async () => void (await Promise.allSettled(opened.map((source) => source.close()))),
    });
  } catch (error) {
    await Promise.allSettled(opened.map((source) => source.close()));
    throw error;
  }
}

/** The files with the weights: those of the index, those of a name with a number, or the only one. */
async function weightNames(given: ByteSource, index: Json, sibling: SiblingOpener): Promise<readonly string[]> {
  const map = index.child("weight_map").value;
  const listed = [...new Set(Object.values(map))].filter((name) => typeof name === "string").toSorted();
  const isSafetensors = /\.safetensors$/iu.test(given.name);
  if (listed.length > MOST_FILES)
    throw new WorkbenchError(
      "INPUT_LIMIT",
      `[${given.name}] ${INDEX}: got ${listed.length} files, expected at most ${MOST_FILES}`,
      {
        hint: "No known model has this many; the file is probably damaged.",
      },
    );
  if (listed.length > 0 && (!isSafetensors || listed.includes(given.name))) return listed;
  if (!isSafetensors) {
    const whole = await sibling("model.safetensors");
    if (whole !== undefined) return ["model.safetensors"];
    throw new WorkbenchError(
      "INPUT_NOT_FOUND",
      `[${given.name}] no safetensors file: expected model.safetensors or ${INDEX}`,
      {
        hint: "Download the model's safetensors files; other forms (.bin, .pth, .msgpack) are not read.",
      },
    );
  }
  const part = /^(.*)-\d{5}-of-(\d{5})(\.safetensors)$/iu.exec(given.name);
  const count = Number(part?.[2] ?? 1);
  if (part === null || count > MOST_FILES) return [given.name];
  const of = part[2] ?? "";
  return Array.from(
    { length: count },
    (_, i) => `${part[1] ?? ""}-${String(i + 1).padStart(5, "0")}-of-${of}${part[3] ?? ""}`,
  );
}

function missingFile(given: string, name: string, names: readonly string[]): WorkbenchError {
  return new WorkbenchError(
    "INPUT_SPLIT",
    `[${given}] missing: ${quote(name)}, ${names.length === 1 ? "the file" : `one of ${names.length} files`} of the weights`,
    {
      hint: "Put all files of the model into one folder, with the names they were published under.",
      details: { missing: [name] },
    },
  );
}

async function readBytes(
  source: ByteSource | undefined,
  signal: AbortSignal | undefined,
): Promise<Uint8Array | undefined> {
  if (source === undefined) return undefined;
  if (source.byteLength > MOST_JSON)
    throw new WorkbenchError(
      "INPUT_LIMIT",
      `[${source.name}] got ${source.byteLength} bytes, expected at most ${MOST_JSON}`,
      {
        hint: "No known model has a file of this kind that long; it is probably damaged.",
      },
    );
  return source.read(0, source.byteLength, signal);
}

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);

async function readJson<T>(
  source: ByteSource | undefined,
  isOfKind: (value: unknown) => value is T,
  signal: AbortSignal | undefined,
): Promise<T | undefined> {
  const bytes = await readBytes(source, signal);
  if (source === undefined || bytes === undefined) return undefined;
  const value = parseJson(source.name, bytes, "its text");
  if (isOfKind(value)) return value;
  throw new WorkbenchError(
    "INPUT_MALFORMED",
    `[${source.name}] got JSON of another form than files of this name have`,
    {
      hint: "The file is damaged; download it again.",
    },
  );
}

async function readText(source: ByteSource | undefined, signal: AbortSignal | undefined): Promise<string | undefined> {
  const bytes = await readBytes(source, signal);
  return bytes === undefined ? undefined : new TextDecoder().decode(bytes);
}

// ------------------------------------------------------------------------------------- the contents

interface Folder {
  readonly name: string;
  readonly config: Json;
  readonly tokenizer: Json;
  readonly settings: Json;
  readonly generation: Json;
  /** Of sentence-transformers: how the vectors of the tokens become one. */
  readonly pooling: Json;
  /** The matrices behind it. */
  readonly dense: readonly DenseModule[];
  readonly template: string | undefined;
  readonly readme: string | undefined;
  readonly files: readonly SafetensorsFile[];
}

interface Contents {
  readonly entries: readonly MetadataEntry[];
  readonly tensors: readonly NamedTensor[];
  /** Why no family reads them. */
  readonly unread?: string;
}

/** config.json of a model with several parts has that of the text in a group of its own. */
function textConfig({ config, name }: Folder): HfConfig {
  const text = config.get("text_config");
  return { name, json: isObject(text) ? new Json({ ...config.value, ...text }) : config };
}

async function contentsOf(folder: Folder, signal: AbortSignal | undefined): Promise<Contents> {
  const named = folder.config.list("architectures").find((name) => typeof name === "string");
  if (named === undefined) return asTheyAre(folder, "unknown", "No config.json beside it names an architecture.");
  const config = textConfig(folder);
  const family = HF_FAMILIES.find(({ names, isOf }) => names.includes(named) && isOf?.(config) !== false);
  if (family === undefined) return asTheyAre(folder, named, `Folders of a ${quote(named)} are not read.`);
  try {
    return await ofFamily(folder, family, config, signal);
  } catch (error) {
    // What this program cannot read can be looked at; what is damaged is said.
    if (!(error instanceof WorkbenchError) || !error.code.startsWith("UNSUPPORTED_")) throw error;
    const what = error.message.replace(/^\[[^\]]*\] /u, "");
    return asTheyAre(folder, named, `This ${family.architecture} is not read: ${what}. ${error.hint ?? ""}`.trimEnd());
  }
}

/** Tensors under their own names. */
function asTheyAre(folder: Folder, named: string, unread: string): Contents {
  return {
    entries: general(folder, folder.config.text("model_type") ?? named),
    tensors: [...byName(folder.files)].flatMap(([name, stored]) => {
      const shown = shownBytes(stored);
      return shown === undefined ? [] : [[name, shown] as const];
    }),
    unread,
  };
}

async function ofFamily(
  folder: Folder,
  family: HfFamily,
  config: HfConfig,
  signal: AbortSignal | undefined,
): Promise<Contents> {
  const stored = byName(folder.files);
  const behind = projection(family, config.name, folder.dense);
  const own = familyTensors(family, config, stored);
  const head = yesOrNo(family, folder, own);
  const tensors = [...behind.tensors, ...own, ...head.tensors];
  const rows = tensors.find(([name]) => name === "token_embd.weight")?.[1].dims[1] ?? 0;
  const { architecture } = family;
  return {
    entries: [
      ...general(folder, architecture),
      ...fileType(tensors),
      ...entriesOf(config.name, architecture, {
        ...{
          pooling_type: poolingType(folder),
          ...family.keys(config),
          ...behind.keys,
          ...rankPooling(head),
          vocab_size: rows,
        },
      }),
      ...(family.lists?.(config) ?? []),
      ...head.entries,
      ...(await numberLists(family, config, stored, signal)),
      ...samplingEntries(folder.generation),
      ...(folder.tokenizer.get("model") === undefined
        ? []
        : tokenizerEntries({ ...folder, config: config.json, rows })),
    ],
    tensors,
  };
}

const general = ({ config, name }: Folder, architecture: string): readonly MetadataEntry[] => [
  stringEntry("general.architecture", architecture),
  stringEntry("general.type", "model"),
  stringEntry(
    "general.name",
    config.text("_name_or_path")?.split("/").at(-1) || name.replace(/\.(safetensors|json)$/iu, ""),
  ),
];

/** The type of most of its numbers. */
function fileType(tensors: readonly NamedTensor[]): readonly MetadataEntry[] {
  const bytes = new Map<string, number>();
  for (const [, { type, byteLength }] of tensors) bytes.set(type.name, (bytes.get(type.name) ?? 0) + byteLength);
  const [most] = [...bytes].toSorted((a, b) => b[1] - a[1]);
  const number = fileTypeNumber((most?.[0] ?? "").toUpperCase());
  return number === undefined ? [] : [numberEntry("general.file_type", "u32", number)];
}

function poolingType({ pooling }: Folder): number | undefined {
  if (pooling.flag("pooling_mode_mean_tokens") === true) return 1;
  if (pooling.flag("pooling_mode_cls_token") === true) return 2;
  return pooling.flag("pooling_mode_lasttoken") === true ? 3 : undefined;
}

/** How the model is drawn from, where its makers say so. */
function samplingEntries(generation: Json): readonly MetadataEntry[] {
  if (generation.flag("do_sample") !== true) return [];
  const kinds = {
    temperature: ["temp", "f32"],
    top_k: ["top_k", "i32"],
    top_p: ["top_p", "f32"],
    min_p: ["min_p", "f32"],
    repetition_penalty: ["penalty_repeat", "f32"],
  } as const;
  return Object.entries(kinds).flatMap(([from, [to, type]]) => {
    const value = generation.number(from);
    return value === undefined ? [] : [numberEntry(`general.sampling.${to}`, type, value)];
  });
}
