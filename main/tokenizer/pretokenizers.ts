/**
 * How byte-level BPE cuts text into words before it merges: per name in `tokenizer.ggml.pre` a list
 * of patterns (see cutting.ts) and what else the name implies. The patterns are those of the
 * models' own tokenizers; names and flags as llama.cpp has them.
 */
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { Pattern } from "./cutting.ts";
import { SIGN } from "./unicode.ts";

// Members of a character class in folded text: a class is its ASCII members and its sign.
const L = `A-Za-z${SIGN.letter}${SIGN.han}`;
const N = `0-9${SIGN.number}`;
/** ASCII members of Unicode's P: everything printable that is neither letter, digit nor a symbol ($+<=>^\`|~). */
const P = `!-#%-*,-/:;?@\\[-\\]_{}${SIGN.punctuation}`;
/** ASCII members of Unicode's S. */
const S = `$+<=>^\`|~${SIGN.symbol}`;
const M = SIGN.mark;
const folded = (source: string): Pattern => ({ regex: new RegExp(source, "g"), over: "folded" });
/** Over plain text white space is written out as [\t-\r ], because \s takes U+FEFF for some. */
const plain = (source: string): Pattern => ({ regex: new RegExp(source, "g"), over: "plain" });

/** Where a run of so many digits falls into groups of three, counted from its end. */
function* threes(length: number): Generator<number> {
  for (let at = length % 3; at <= length; at += 3) yield at;
}

/**
 * Before each group of three digits, counted from the end of a run. An expression that looks ahead for whole groups,
 * `(?=([0-9]{3})+(?![0-9]))`, would walk to the end of the run from each digit.
 */
const beforeThousands: Pattern = {
  ...plain("[0-9]+"),
  *cuts(length) {
    for (const at of threes(length)) if (at < length) yield at;
  },
};
/** Behind each such group of any numbers: what stands before a run stays with its first group. */
const behindThousands: Pattern = {
  ...folded(`[${N}]+`),
  *cuts(length) {
    for (const at of threes(length)) if (at > 0) yield at;
  },
};

const CONTRACTION = "'(?:[sS]|[tT]|[rR][eE]|[vV][eE]|[mM]|[lL][lL]|[dD])";
const TAIL = `\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`;
/**
 * White space in falling powers of two. Whether a line ends in a run is looked for where the run
 * begins, or behind a line's end: from each part of it the way to its end would be walked again.
 */
const HALVING_TAIL =
  "(?<![^\\S\\r\\n])\\s*[\\r\\n]+|" +
  [512, 256, 128, 64, 32, 16, 8, 4, "1,2"].map((count) => `\\s{${count}}(?!\\S)|`).join("") +
  "\\s";

/** English contractions in lower case only, words with their space, numbers of any length, the rest. */
const gpt2 = `'s|'t|'re|'ve|'m|'ll|'d| ?[${L}]+| ?[${N}]+| ?[^\\s${L}${N}]+|\\s+(?!\\S)`;
/** Any single sign before a word joins it; digits in groups of at most `digits`. */
const modern = (digits: string, tail = TAIL): string =>
  `${CONTRACTION}|[^\\r\\n${L}${N}]?[${L}]+|[${N}]${digits}| ?[^\\s${L}${N}]+[\\r\\n]*|${tail}`;
/** The same; marks belong to the words. */
const marked = `${CONTRACTION}|[^\\r\\n${L}${N}]?[${L}${M}]+|[${N}]| ?[^\\s${L}${M}${N}]+[\\r\\n]*|${TAIL}`;
/** Words end where upper case begins (only ASCII has case here; other letters count as both). */
const cased = (digits: string, contraction: string, others = `${SIGN.letter}${SIGN.han}`): string => {
  const [upper, lower] = [`[A-Z${others}]`, `[a-z${others}]`];
  return `[^\\r\\n${L}${N}]?${upper}*${lower}+${contraction}|[^\\r\\n${L}${N}]?${upper}+${lower}*${contraction}|[${N}]${digits}| ?[^\\s${L}${N}]+[\\r\\n/]*|${TAIL}`;
};
/** Words of letters and marks with their contraction. */
const contracted = (digits: string): string =>
  `[^\\r\\n${L}${N}]?[${L}${M}]+(?:${CONTRACTION})?|[${N}]${digits}| ?[^\\s${L}${N}]+[\\r\\n/]*|${TAIL}`;
/** Chinese characters by themselves, other words with their contraction. */
const hanApart = `[${SIGN.han}${SIGN.hanOther}]+|[^\\r\\n${L}${N}]?[A-Za-z${SIGN.letter}]+(?:${CONTRACTION})?|[${N}]{1,3}| ?[^\\s${L}${N}]+[\\r\\n]*|${TAIL}`;
/** Several words may follow each other with single spaces between. */
const phrases = `${CONTRACTION}|[^\\r\\n${L}${N}]?[${L}](?:[${L}${M}]| [${L}])*|[${N}]| ?[^\\s${L}${N}]+[\\r\\n/]?|${TAIL}`;

/**
 * Letters with case as DeepSeek LLM lists them: not all that Unicode has (no small Armenian or
 * Georgian ones, for instance).
 */
const CASED =
  "A-Za-z\\u00b5\\u00c0-\\u00d6\\u00d8-\\u00f6\\u00f8-\\u01ba\\u01bc-\\u01bf\\u01c4-\\u0293\\u0295-\\u02af" +
  "\\u0370-\\u0373\\u0376\\u0377\\u037b-\\u037d\\u037f\\u0386\\u0388-\\u038a\\u038c\\u038e-\\u03a1" +
  "\\u03a3-\\u03f5\\u03f7-\\u0481\\u048a-\\u052f\\u0531-\\u0556\\u10a0-\\u10c5\\u13a0-\\u13f5" +
  "\\u13f8-\\u13fd\\u1c90-\\u1cba\\u1cbd-\\u1cbf\\u1d00-\\u1d2b\\u1d6b-\\u1d77\\u1d79-\\u1d9a" +
  "\\u1e00-\\u1f15\\u1f18-\\u1f1d\\u1f20-\\u1f45\\u1f48-\\u1f4d\\u1f50-\\u1f57\\u1f59\\u1f5b\\u1f5d" +
  "\\u1f5f-\\u1f7d\\u1f80-\\u1fb4\\u1fb6-\\u1fbc\\u1fbe\\u1fc2-\\u1fc4\\u1fc6-\\u1fcc\\u1fd0-\\u1fd3" +
  "\\u1fd6-\\u1fdb\\u1fe0-\\u1fec\\u1ff2-\\u1ff4\\u1ff6-\\u1ffc\\u2102\\u2107\\u210a-\\u2113\\u2115" +
  "\\u2119-\\u211d\\u2124\\u2126\\u2128\\u212a-\\u212d\\u212f-\\u2134\\u2139\\u213c-\\u213f\\u2145-\\u2149" +
  "\\u214e\\u2183\\u2184\\u2c00-\\u2c7b\\u2c7e-\\u2ce4\\u2ceb-\\u2cee\\u2cf2\\u2cf3\\ua640-\\ua66d" +
  "\\ua680-\\ua69b\\ua722-\\ua76f\\ua771-\\ua787\\ua78b-\\ua78e\\uab70-\\uabbf\\ufb00-\\ufb06" +
  "\\ufb13-\\ufb17\\uff21-\\uff3a\\uff41-\\uff5a";

/** Words with their space; what ends a word or a sentence in several scripts stands apart, and so do round brackets. */
const BLOOM = " ?[^(\\t-\\r |.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c)]+";

const lines = plain("[^\\n]+|\\n+");
/** Where one sign of punctuation before a word joins it, and marks belong to words. */
const words3 = folded(`[!-/:-@\\[-\`{-~][A-Za-z]+|[^\\r\\n${L}${P}${S}]?[${L}${M}]+| ?[${P}${S}]+[\\r\\n]*|${TAIL}`);
/**
 * Scripts without spaces: Chinese, kana, Thai, Lao, Khmer, Burmese, and from U+8C48 all to U+FAFF
 * (llama.cpp's range).
 */
const UNSPACED =
  "\\u4e00-\\ufaff\\u3400-\\u4dbf\\u3040-\\u30ff\\uff65-\\uff9f\\u2f00-\\u2fdf" +
  "\\u0e40-\\u0e7f\\u0e80-\\u0eff\\u1780-\\u17ff\\u1000-\\u109f\\u1100-\\u11ff";
/** Korean, signs of Chinese writing, bopomofo, Chinese and kana, each by itself. */
const EAST_ASIAN =
  "[\\uac00-\\ud7a3\\u3131-\\u318e]+|[\\uff01\\u2026\\u201c\\u201d\\u2018\\u2019\\u2014\\uff1a\\uff1b\\uff0c" +
  "\\u3001-\\u303f\\ufe30-\\ufe4f]+|[\\u3105-\\u312f]+|[\\u4e00-\\u9fa5\\u3040-\\u30ff]+";

const PATTERNS = {
  default: [folded(`[${P}$+<=>^~|]+`), folded(gpt2), folded(`[${N}]+`), folded("[0-9][0-9][0-9]")],
  gpt2: [folded(gpt2)],
  llama3: [folded(modern("{1,3}"))],
  jais2: [folded(modern("{1,3}", HALVING_TAIL))],
  minicpm5: [folded(`[${N}]{1,3}`), folded(modern("+"))],
  qwen2: [folded(modern(""))],
  qwen35: [folded(marked)],
  laguna: [lines, folded(modern(""))],
  exaoneMoe: [folded(phrases)],
  digits: [folded(`[${N}]`), folded(gpt2)],
  chameleon: [
    plain("<sentinel:[0-9]+>"),
    plain("IMGIMG[A-I]{1,4}Z"),
    plain("[\\t\\n]|    |  "),
    folded(`[${N}]`),
    folded(`[!-/:-@\\[-\`{-~${SIGN.punctuation}]`),
    folded(gpt2),
  ],
  deepseekCoder: [
    folded("[\\r\\n]"),
    folded(`\\s?[${L}]+`),
    folded(`\\s?[${P}]+`),
    plain("[\\u4e00-\\u9fa5\\u0800-\\u4e00\\uac00-\\ud7ff]+"),
    folded(`[${N}]`),
  ],
  deepseekLlm: [
    folded("[\\r\\n]"),
    plain(`[\\t-\\r ]?[${CASED}]+`),
    plain("[\\t-\\r ]?[!-/:-~\\uff01-\\uff0f\\uff1a-\\uff5e\\u2018-\\u201f\\u3000-\\u3002]+"),
    // Looked for where a run begins only: from each of its blanks the way to its end would be walked again.
    plain("(?<![\\t-\\r ])[\\t-\\r ]+$"),
    plain("[\\u4e00-\\u9fa5\\u0800-\\u4e00\\uac00-\\ud7ff]+"),
    folded(`[${N}]+`),
  ],
  deepseek3: [folded(`[${N}]{1,3}`), plain("[\\u4e00-\\u9fa5\\u3040-\\u30ff]+"), words3],
  afmoe: [behindThousands, plain(`[${UNSPACED}]+`), words3],
  youtu: [plain(EAST_ASIAN), folded(contracted(""))],
  tinyAya: [behindThousands, folded(contracted("{1,3}"))],
  kimi: [folded(hanApart)],
  bloom: [plain(BLOOM)],
  viking: [plain(BLOOM), folded(`[${N}]`)],
  superbpe: [folded(`[${N}]+`), beforeThousands],
  falcon: [folded(`[${P}$+<=>^~|\`]+`), folded(gpt2), folded("[0-9][0-9][0-9]")],
  tekken: [folded(cased("", ""))],
  gpt4o: [folded(cased("{1,3}", `(?:${CONTRACTION})?`))],
  granite: [folded(cased("{1,3}", `(?:${CONTRACTION})?`, `${SIGN.letter}${SIGN.han}${M}`))],
  seedCoder: [folded(`${CONTRACTION}|[^\\r\\n${L}${N}]?[${L}]+|[${N}]| ?[^\\s${L}${N}\\r\\n]+|${TAIL}`)],
  lines: [lines],
  whitespace: [plain("[^\\t-\\r ]+")],
} as const satisfies Record<string, readonly Pattern[]>;

/**
 * How the vocabulary spells a text: by GPT-2's printable bytes, or in UTF-8 as it is, then perhaps
 * with ▁ for spaces.
 */
export type Spelling = "bytes" | "utf8" | "utf8 with ▁";

interface Implied {
  /** A whole word that is a token is taken as it is, without merging. */
  readonly ignoreMerges: boolean;
  /** A row of line ends that is a token is, too. */
  readonly wholeLineEnds: boolean;
  /** Added when the file does not say it; "always" whatever it says. */
  readonly addBos: boolean | "always";
  /** A file that does not name a BOS token has none. */
  readonly noBos: boolean;
  /** A separator stands between the two texts of a pair. */
  readonly addSep: boolean;
  /** llama.cpp drops spaces before punctuation and contractions when it puts a text together. */
  readonly cleanSpaces: boolean;
  readonly spelling: Spelling;
}

export interface PreTokenizer extends Implied {
  readonly name: string;
  readonly patterns: readonly Pattern[];
}

export interface PreTokenizerKind extends Partial<Implied> {
  readonly patterns: readonly Pattern[];
  readonly names: string;
}

/** The names, separated by spaces. */
const KINDS: readonly PreTokenizerKind[] = [
  { patterns: PATTERNS.default, names: "default", cleanSpaces: true },
  {
    patterns: PATTERNS.llama3,
    names: "llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano",
    ignoreMerges: true,
    addBos: true,
    cleanSpaces: true,
  },
  { patterns: PATTERNS.llama3, names: "smaug-bpe dbrx", cleanSpaces: true },
  { patterns: PATTERNS.llama3, names: "glm4 chatglm-bpe", noBos: true, cleanSpaces: true },
  { patterns: PATTERNS.jais2, names: "jais-2", cleanSpaces: true },
  { patterns: PATTERNS.minicpm5, names: "minicpm5", ignoreMerges: true, cleanSpaces: true },
  { patterns: PATTERNS.qwen2, names: "qwen2 deepseek-r1-qwen kormo f2llmv2 hunyuan grok-2 solar-open" },
  { patterns: PATTERNS.qwen2, names: "bailingmoe bailingmoe2 llada-moe" },
  { patterns: PATTERNS.qwen2, names: "megrez stablelm2", cleanSpaces: true },
  { patterns: PATTERNS.qwen35, names: "qwen35" },
  { patterns: PATTERNS.laguna, names: "laguna" },
  { patterns: PATTERNS.exaoneMoe, names: "exaone-moe", cleanSpaces: true },
  {
    patterns: PATTERNS.gpt2,
    names:
      "gpt-2 phi-2 gigachat a.x-4.0 mellum exaone4 mpt olmo jais modern-bert " +
      "jina-es jina-de jina-v2-es jina-v2-de",
    cleanSpaces: true,
  },
  { patterns: PATTERNS.gpt2, names: "jina-v1-en jina-v2-code roberta-bpe", addSep: true, cleanSpaces: true },
  { patterns: PATTERNS.gpt2, names: "trillion granite-docling" },
  {
    patterns: PATTERNS.digits,
    names: "starcoder refact codeshell exaone minerva-7b mellum2",
    cleanSpaces: true,
  },
  { patterns: PATTERNS.digits, names: "smollm command-r" },
  { patterns: PATTERNS.chameleon, names: "chameleon", addBos: true },
  { patterns: PATTERNS.deepseekCoder, names: "deepseek-coder" },
  { patterns: PATTERNS.deepseekLlm, names: "deepseek-llm" },
  { patterns: PATTERNS.deepseek3, names: "deepseek-v3 hunyuan-dense joyai-llm" },
  { patterns: PATTERNS.afmoe, names: "afmoe" },
  { patterns: PATTERNS.youtu, names: "youtu", ignoreMerges: true },
  { patterns: PATTERNS.tinyAya, names: "tiny_aya cohere2moe" },
  { patterns: PATTERNS.kimi, names: "kimi-k2" },
  { patterns: PATTERNS.bloom, names: "poro-chat" },
  { patterns: PATTERNS.bloom, names: "bloom gpt3-finnish", cleanSpaces: true },
  { patterns: PATTERNS.viking, names: "viking" },
  { patterns: PATTERNS.superbpe, names: "superbpe" },
  { patterns: PATTERNS.falcon, names: "falcon", cleanSpaces: true },
  { patterns: PATTERNS.tekken, names: "tekken", ignoreMerges: true, addBos: true },
  { patterns: PATTERNS.gpt4o, names: "gpt-4o llama4 kanana2 talkie minimax-m2" },
  { patterns: PATTERNS.granite, names: "granite-embed-multi-97m", ignoreMerges: true },
  { patterns: PATTERNS.seedCoder, names: "seed-coder" },
  {
    patterns: PATTERNS.lines,
    names: "gemma4 granite-embed-multi-311m",
    spelling: "utf8 with ▁",
    wholeLineEnds: true,
    addBos: "always",
    cleanSpaces: true,
  },
  { patterns: PATTERNS.lines, names: "sarvam-moe", spelling: "utf8 with ▁" },
  { patterns: PATTERNS.whitespace, names: "whitespace", spelling: "utf8", cleanSpaces: true },
];

const NOTHING_IMPLIED: Implied = {
  ignoreMerges: false,
  wholeLineEnds: false,
  addBos: false,
  noBos: false,
  addSep: false,
  cleanSpaces: false,
  spelling: "bytes",
};

export const preTokenizersOf = (kinds: readonly PreTokenizerKind[]): ReadonlyMap<string, PreTokenizer> =>
  new Map(
    kinds.flatMap(({ names, ...kind }) =>
      names.split(" ").map((name) => [name, { ...NOTHING_IMPLIED, ...kind, name }] as const),
    ),
  );

const PRE_TOKENIZERS = preTokenizersOf(KINDS);

export const PRE_TOKENIZER_NAMES: readonly string[] = [...PRE_TOKENIZERS.keys()];

export function preTokenizer(name: string): PreTokenizer {
  const found = PRE_TOKENIZERS.get(name);
  if (found === undefined) throw unknownPreTokenizer(name);
  return found;
}

export const unknownPreTokenizer = (name: string): WorkbenchError =>
  new WorkbenchError(
    "UNSUPPORTED_TOKENIZER",
    `[tokenizer] the pre-tokenizer ${JSON.stringify(name.slice(0, 80))} is not known`,
    {
      hint: "Text would be split wrongly without it. The model can be inspected, measured, exported, and scored by token ids (`rlx score FILE --ids`).",
      details: { pre: name.slice(0, 80) },
    },
  );
