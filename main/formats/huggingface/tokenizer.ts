/**
 * The tokenizer's keys of a GGUF from tokenizer.json and tokenizer_config.json: BPE over bytes
 * (`gpt2`), BPE with ▁ and byte tokens (`llama`), Unigram (`t5`) and WordPiece (`bert`).
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { boolEntry, numberEntry, numbersEntry, stringEntry, stringsEntry } from "../gguf/encode.ts";
import type { MetadataEntry } from "../gguf/values.ts";
import { isObject, Json } from "../json.ts";
import { UNLISTED, isByteLevel, preTokenizerName, stepsOf } from "./preTokenizer.ts";

export interface TokenizerParts {
  /** For messages. */
  readonly name: string;
  readonly tokenizer: Json;
  /** tokenizer_config.json */
  readonly settings: Json;
  /** config.json */
  readonly config: Json;
  readonly generation: Json;
  /** chat_template.jinja */
  readonly template: string | undefined;
  /** Rows of the embedding. */
  readonly rows: number;
}

/** `tokenizer.ggml.token_type` */
const KIND = { normal: 1, unknown: 2, control: 3, user: 4, unused: 5, byte: 6 } as const;

/** More than any known vocabulary. */
const MOST_TOKENS = 4_000_000;

interface Vocabulary {
  readonly tokens: string[];
  readonly kinds: Int32Array;
  /** Ids of the first token with this text. */
  readonly ids: ReadonlyMap<string, number>;
}

export function tokenizerEntries(parts: TokenizerParts): readonly MetadataEntry[] {
  const model = parts.tokenizer.child("model");
  const kind = model.text("type") ?? (model.get("merges") === undefined ? "" : "BPE");
  return [...modelEntries(parts, model, kind), ...specialEntries(parts), ...templateEntries(parts)];
}

function modelEntries(parts: TokenizerParts, model: Json, kind: string): readonly MetadataEntry[] {
  switch (kind) {
    case "BPE":
      return isByteLevel(parts.tokenizer.child("pre_tokenizer")) ? byteBpe(parts, model) : spacedBpe(parts, model);
    case "Unigram":
      return unigram(parts, model);
    case "WordPiece":
      return wordPiece(parts, model);
    default:
      // The tokenizer refuses it by this name; the model is run by token ids.
      return [stringEntry("tokenizer.ggml.model", kind || UNLISTED)];
  }
}

function byteBpe(parts: TokenizerParts, model: Json): readonly MetadataEntry[] {
  const vocabulary = vocabularyOf(parts, tokenIds(model.child("vocab")));
  return [
    stringEntry("tokenizer.ggml.model", "gpt2"),
    stringEntry(
      "tokenizer.ggml.pre",
      preTokenizerName(parts.tokenizer.child("pre_tokenizer"), model.flag("ignore_merges") === true),
    ),
    ...tokensEntries(vocabulary),
    stringsEntry(
      "tokenizer.ggml.merges",
      mergesOf(parts, model).map(([a, b]) => `${a} ${b}`),
    ),
  ];
}

const BYTE = /^<0x[0-9A-F]{2}>$/u;

/**
 * SentencePiece's BPE joins the two tokens whose union has the highest score. Its vocabularies are
 * numbered in that order, and tokenizer.json keeps the order in its merges.
 */
function spacedBpe(parts: TokenizerParts, model: Json): readonly MetadataEntry[] {
  const vocabulary = vocabularyOf(parts, tokenIds(model.child("vocab")));
  const { tokens, kinds, ids } = vocabulary;
  const scores = new Float32Array(tokens.length).fill(-1e9);
  let rank = 0;
  for (const [a, b] of mergesOf(parts, model)) {
    const id = ids.get(a + b);
    if (id !== undefined && scores[id] === -1e9) scores[id] = -rank;
    rank++;
  }
  for (const [id, text] of tokens.entries())
    if (kinds[id] === KIND.normal) {
      if (BYTE.test(text)) kinds[id] = KIND.byte;
    } else if (kinds[id] !== KIND.unused) scores[id] = 0;
  markUnknown(vocabulary, model.text("unk_token"));
  return [
    stringEntry("tokenizer.ggml.model", "llama"),
    stringEntry("tokenizer.ggml.pre", "default"),
    ...tokensEntries(vocabulary),
    numbersEntry("tokenizer.ggml.scores", "f32", scores),
    boolEntry("tokenizer.ggml.add_space_prefix", putsSpace(parts.tokenizer)),
  ];
}

function unigram(parts: TokenizerParts, model: Json): readonly MetadataEntry[] {
  const list = model.list("vocab").map((item, id): readonly [string, number] => {
    const [text, score] = Array.isArray(item) ? (item as readonly unknown[]) : [];
    if (typeof text === "string" && typeof score === "number") return [text, score];
    throw damaged(parts, `token ${id}: expected a text and a score`);
  });
  const vocabulary = vocabularyOf(parts, new Map(list.map(([text], id) => [text, id] as const)));
  const scores = new Float32Array(vocabulary.tokens.length);
  for (const [id, [, score]] of list.entries()) if (id < scores.length) scores[id] = score;
  const unknown = model.number("unk_id");
  if (unknown !== undefined && unknown < vocabulary.kinds.length) vocabulary.kinds[unknown] = KIND.unknown;
  for (const [id, text] of vocabulary.tokens.entries())
    if (vocabulary.kinds[id] === KIND.normal && BYTE.test(text)) vocabulary.kinds[id] = KIND.byte;
  const steps = normalizers(parts.tokenizer.child("normalizer"));
  const charsmap = steps.map((step) => step.text("precompiled_charsmap")).find((text) => text !== undefined);
  const mergesSpaces =
    preTokenizers(parts.tokenizer.child("pre_tokenizer")).some((step) => step.text("type") === "WhitespaceSplit") ||
    steps.some((step) => step.text("type") === "Replace" && /\{2,\}/u.test(step.child("pattern").text("Regex") ?? ""));
  return [
    stringEntry("tokenizer.ggml.model", "t5"),
    stringEntry("tokenizer.ggml.pre", "default"),
    ...tokensEntries(vocabulary),
    numbersEntry("tokenizer.ggml.scores", "f32", scores),
    boolEntry("tokenizer.ggml.add_space_prefix", putsSpace(parts.tokenizer)),
    boolEntry("tokenizer.ggml.remove_extra_whitespaces", mergesSpaces),
    ...(charsmap === undefined
      ? []
      : [numbersEntry("tokenizer.ggml.precompiled_charsmap", "u8", bytesOfBase64(parts, charsmap))]),
  ];
}

/** Words begin with ▁ in a GGUF, and what goes on has no mark; tokenizer.json marks what goes on with ##. */
function wordPiece(parts: TokenizerParts, model: Json): readonly MetadataEntry[] {
  const vocabulary = vocabularyOf(parts, tokenIds(model.child("vocab")));
  const { tokens, kinds } = vocabulary;
  const mark = model.text("continuing_subword_prefix") ?? "##";
  for (const [id, text] of tokens.entries())
    if (kinds[id] === KIND.normal && !/^\[.*\]$/u.test(text))
      tokens[id] = text.startsWith(mark) ? text.slice(mark.length) : `▁${text}`;
  markUnknown(vocabulary, model.text("unk_token"));
  const normalizer = normalizers(parts.tokenizer.child("normalizer")).find(
    (step) => step.text("type") === "BertNormalizer",
  );
  const lowers = normalizer?.flag("lowercase") ?? true;
  return [
    stringEntry("tokenizer.ggml.model", "bert"),
    stringEntry("tokenizer.ggml.pre", "default"),
    ...tokensEntries(vocabulary),
    boolEntry("tokenizer.ggml.normalizer.lowercase", lowers),
    boolEntry("tokenizer.ggml.normalizer.strip_accents", normalizer?.flag("strip_accents") ?? lowers),
  ];
}

function markUnknown({ ids, kinds }: Vocabulary, text: string | undefined): void {
  const id = text === undefined ? undefined : ids.get(text);
  if (id !== undefined) kinds[id] = KIND.unknown;
}

const tokensEntries = ({ tokens, kinds }: Vocabulary): readonly MetadataEntry[] => [
  stringsEntry("tokenizer.ggml.tokens", tokens),
  numbersEntry("tokenizer.ggml.token_type", "i32", kinds),
];

function tokenIds(vocab: Json): ReadonlyMap<string, number> {
  return new Map(
    Object.entries(vocab.value).flatMap(([text, id]) => (typeof id === "number" ? [[text, id] as const] : [])),
  );
}

/** Tokens of the model and added ones; rows of the embedding that have none get a name of their own. */
function vocabularyOf({ name, tokenizer, rows }: TokenizerParts, model: ReadonlyMap<string, number>): Vocabulary {
  if (rows > MOST_TOKENS)
    throw new WorkbenchError(
      "INPUT_LIMIT",
      `[${name}] vocabulary: got ${rows} tokens, expected at most ${MOST_TOKENS}`,
      {
        hint: "No known model comes near this; the file is probably damaged.",
      },
    );
  const tokens = new Array<string | undefined>(rows);
  const kinds = new Int32Array(rows).fill(KIND.unused);
  const ids = new Map<string, number>();
  const add = (text: string, id: number, kind: number): void => {
    // Ids behind the embedding's rows are of another part of the model, as an image's token.
    if (!Number.isSafeInteger(id) || id < 0 || id >= rows) return;
    tokens[id] = text;
    kinds[id] = kind;
    if (!ids.has(text)) ids.set(text, id);
  };
  for (const [text, id] of model) add(text, id, KIND.normal);
  for (const item of tokenizer.list("added_tokens")) {
    const token = new Json(item);
    const [id, text] = [token.number("id"), token.text("content")];
    if (id !== undefined && text !== undefined)
      add(text, id, token.flag("special") === true ? KIND.control : KIND.user);
  }
  return { tokens: Array.from(tokens, (text, id) => text ?? `[PAD${id}]`), kinds, ids };
}

const damaged = ({ name }: TokenizerParts, what: string): WorkbenchError =>
  new WorkbenchError("INPUT_TOKENIZER", `[${name}] tokenizer.json ${what}`, {
    hint: "The file is damaged; download it again.",
  });

function mergesOf(parts: TokenizerParts, model: Json): readonly (readonly [string, string])[] {
  return model.list("merges").map((merge, i) => {
    const [first, second, ...rest] =
      typeof merge === "string" ? merge.split(" ") : Array.isArray(merge) ? (merge as unknown[]) : [];
    if (typeof first === "string" && typeof second === "string" && rest.length === 0) return [first, second] as const;
    throw damaged(parts, `merge ${i}: expected two tokens`);
  });
}

const normalizers = (json: Json): readonly Json[] => stepsOf(json, "normalizers");
const preTokenizers = (json: Json): readonly Json[] => stepsOf(json, "pretokenizers");

/** A text begins with a space that the rules put there. */
function putsSpace(tokenizer: Json): boolean {
  if (normalizers(tokenizer.child("normalizer")).some((step) => step.text("type") === "Prepend")) return true;
  return preTokenizers(tokenizer.child("pre_tokenizer")).some(
    (step) =>
      step.text("type") === "Metaspace" &&
      (step.text("prepend_scheme") ?? (step.flag("add_prefix_space") === false ? "never" : "always")) !== "never",
  );
}

const BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

function bytesOfBase64(parts: TokenizerParts, text: string): Uint8Array {
  const digits = Array.from(text.replace(/=*\s*$/u, ""), (char) => BASE64.indexOf(char));
  if (digits.includes(-1)) throw damaged(parts, "precompiled_charsmap: expected base64");
  const out = new Uint8Array(Math.floor((digits.length * 3) / 4));
  for (let i = 0; i < out.length; i++) {
    const at = Math.floor((i * 4) / 3);
    // Of the two digits that a byte lies in: 6 + 2, 4 + 4 or 2 + 6 bits.
    const shift = 4 - 2 * (i % 3);
    out[i] = (((digits[at] ?? 0) << 6) | (digits[at + 1] ?? 0)) >> shift;
  }
  return out;
}

// --------------------------------------------------------------------------------- special tokens

const ROLES = {
  bos: "bos_token",
  eos: "eos_token",
  unknown: "unk_token",
  padding: "pad_token",
  seperator: "sep_token",
  cls: "cls_token",
  mask: "mask_token",
} as const;

function specialEntries(parts: TokenizerParts): readonly MetadataEntry[] {
  const { settings, config, generation } = parts;
  const ids = allIds(parts);
  const entries: MetadataEntry[] = [];
  const put = (role: string, id: number | undefined): void => {
    if (id !== undefined && id < parts.rows && !entries.some(({ key }) => key === keyOf(role)))
      entries.push(numberEntry(keyOf(role), "u32", id));
  };
  const model = parts.tokenizer.child("model");
  put("unknown", model.number("unk_id"));
  for (const [role, key] of Object.entries(ROLES)) {
    const text = settings.text(key) ?? settings.child(key).text("content");
    put(role, text === undefined ? undefined : ids.get(text));
  }
  put("bos", firstId(config, "bos_token_id"));
  const ends = [...idsOf(config, "eos_token_id"), ...idsOf(generation, "eos_token_id")];
  put("eos", ends[0]);
  const eos = entries.find(({ key }) => key === keyOf("eos"))?.value;
  // A second ending ends a turn.
  put(
    "eot",
    ends.find((id) => eos?.kind !== "number" || id !== eos.value),
  );
  const before = { ...defaultFrame(model), ...frame(parts.tokenizer.child("post_processor")) };
  const bos = settings.flag("add_bos_token") ?? before.bos;
  const eosAdded = settings.flag("add_eos_token") ?? before.eos;
  return [
    ...entries,
    ...(bos === undefined ? [] : [boolEntry("tokenizer.ggml.add_bos_token", bos)]),
    ...(eosAdded === undefined ? [] : [boolEntry("tokenizer.ggml.add_eos_token", eosAdded)]),
  ];
}

const keyOf = (role: string): string => `tokenizer.ggml.${role}_token_id`;

const idsOf = (json: Json, key: string): readonly number[] => {
  const value = json.get(key);
  return (Array.isArray(value) ? (value as readonly unknown[]) : [value]).filter(
    (id): id is number => Number.isSafeInteger(id) && Number(id) >= 0,
  );
};
const firstId = (json: Json, key: string): number | undefined => idsOf(json, key)[0];

function allIds({ tokenizer }: TokenizerParts): ReadonlyMap<string, number> {
  const ids = new Map(tokenIds(tokenizer.child("model").child("vocab")));
  for (const [id, item] of tokenizer.child("model").list("vocab").entries())
    if (Array.isArray(item) && typeof item[0] === "string") ids.set(item[0], id);
  for (const item of tokenizer.list("added_tokens")) {
    const token = new Json(item);
    const [id, text] = [token.number("id"), token.text("content")];
    if (id !== undefined && text !== undefined) ids.set(text, id);
  }
  return ids;
}

/** A GGUF that says nothing has an end behind the texts of a Unigram vocabulary; tokenizer.json has none. */
const defaultFrame = (model: Json): ReturnType<typeof frame> =>
  model.text("type") === "Unigram" ? { bos: false, eos: false } : {};

/** What the post-processor puts before and behind a text; undefined where it says nothing. */
function frame(json: Json): { readonly bos?: boolean; readonly eos?: boolean } {
  return stepsOf(json, "processors").reduce((all, step) => ({ ...all, ...frameOf(step) }), {});
}

function frameOf(json: Json): ReturnType<typeof frame> {
  switch (json.text("type")) {
    case "TemplateProcessing": {
      const items = json.list("single").map((item) => (isObject(item) ? Object.keys(item)[0] : undefined));
      return { bos: items[0] === "SpecialToken", eos: items.length > 1 && items.at(-1) === "SpecialToken" };
    }
    case "BertProcessing":
    case "RobertaProcessing":
      return { bos: true, eos: true };
    default:
      return {};
  }
}

// ------------------------------------------------------------------------------------ chat template

function templateEntries({ settings, template }: TokenizerParts): readonly MetadataEntry[] {
  const KEY = "tokenizer.chat_template";
  if (template !== undefined) return [stringEntry(KEY, template)];
  const single = settings.text("chat_template");
  if (single !== undefined) return [stringEntry(KEY, single)];
  const named = settings.list("chat_template").flatMap((item) => {
    const one = new Json(item);
    const [name, text] = [one.text("name"), one.text("template")];
    return name === undefined || text === undefined ? [] : [[name, text] as const];
  });
  const others = named.filter(([name]) => name !== "default");
  return [
    ...named.map(([name, text]) => stringEntry(name === "default" ? KEY : `${KEY}.${name}`, text)),
    ...(others.length === 0
      ? []
      : [
          stringsEntry(
            "tokenizer.chat_templates",
            others.map(([name]) => name),
          ),
        ]),
  ];
}
