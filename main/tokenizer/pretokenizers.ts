/**
 * How byte-level BPE cuts text into words before it merges: per name in `tokenizer.ggml.pre` a list
 * of patterns. The first one cuts the text into what it matches and what lies between; each further
 * one cuts those pieces again, seeing nothing beyond their ends. The patterns are those of the
 * models' own tokenizers; names and flags as llama.cpp has them.
 */
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { Steps } from "../ir/steps.ts";
import { SIGN, unitsOf } from "./unicode.ts";

// Members of a character class in folded text: a class is its ASCII members and its sign.
const L = `A-Za-z${SIGN.letter}`;
const N = `0-9${SIGN.number}`;
/** ASCII members of Unicode's P: everything printable that is neither letter, digit nor a symbol ($+<=>^\`|~). */
const P = `!-#%-*,-/:;?@\\[-\\]_{}${SIGN.punctuation}`;
/** ASCII members of Unicode's S. */
const S = `$+<=>^\`|~${SIGN.symbol}`;
const M = SIGN.mark;
const folded = (source: string): Pattern => ({ regex: new RegExp(source, "g"), over: "folded" });
/** Over plain text white space is written out as [\t-\r ], because \s takes U+FEFF for some. */
const plain = (source: string): Pattern => ({ regex: new RegExp(source, "g"), over: "plain" });

export interface Pattern {
  readonly regex: RegExp;
  readonly over: "folded" | "plain";
  /** Where a match is cut inside, from its beginning on; without it, a match is cut out whole. */
  readonly cuts?: (length: number) => Iterable<number>;
}

/**
 * Before each group of three digits, counted from the end of a run. An expression that looks ahead for whole groups,
 * `(?=([0-9]{3})+(?![0-9]))`, would walk to the end of the run from each digit.
 */
const thousands: Pattern = {
  ...plain("[0-9]+"),
  *cuts(length) {
    for (let left = length - (length % 3); left > 0; left -= 3) yield length - left;
  },
};

const CONTRACTION = "'(?:[sS]|[tT]|[rR][eE]|[vV][eE]|[mM]|[lL][lL]|[dD])";
const TAIL = `\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`;

/** English contractions in lower case only, words with their space, numbers of any length, the rest. */
const gpt2 = `'s|'t|'re|'ve|'m|'ll|'d| ?[${L}]+| ?[${N}]+| ?[^\\s${L}${N}]+|\\s+(?!\\S)`;
/** Any single sign before a word joins it; digits in groups of at most `digits`. */
const modern = (digits: string): string =>
  `${CONTRACTION}|[^\\r\\n${L}${N}]?[${L}]+|[${N}]${digits}| ?[^\\s${L}${N}]+[\\r\\n]*|${TAIL}`;
/** Words end where upper case begins (only ASCII has case here; other letters count as both). */
const upper = `[A-Z${SIGN.letter}]`;
const lower = `[a-z${SIGN.letter}]`;
const cased = (digits: string, contraction: string): string =>
  `[^\\r\\n${L}${N}]?${upper}*${lower}+${contraction}|[^\\r\\n${L}${N}]?${upper}+${lower}*${contraction}|[${N}]${digits}| ?[^\\s${L}${N}]+[\\r\\n/]*|${TAIL}`;

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

const PATTERNS = {
  default: [folded(`[${P}$+<=>^~|]+`), folded(gpt2), folded(`[${N}]+`), folded("[0-9][0-9][0-9]")],
  gpt2: [folded(gpt2)],
  llama3: [folded(modern("{1,3}"))],
  qwen2: [folded(modern(""))],
  digits: [folded(`[${N}]`), folded(gpt2)],
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
  deepseek3: [
    folded(`[${N}]{1,3}`),
    plain("[\\u4e00-\\u9fa5\\u3040-\\u30ff]+"),
    folded(`[!-/:-@\\[-\`{-~][A-Za-z]+|[^\\r\\n${L}${P}${S}]?[${L}${M}]+| ?[${P}${S}]+[\\r\\n]*|${TAIL}`),
  ],
  bloom: [plain(BLOOM)],
  viking: [plain(BLOOM), folded(`[${N}]`)],
  superbpe: [folded(`[${N}]+`), thousands],
  falcon: [folded(`[${P}$+<=>^~|\`]+`), folded(gpt2), folded("[0-9][0-9][0-9]")],
  tekken: [folded(cased("", ""))],
  gpt4o: [folded(cased("{1,3}", `(?:${CONTRACTION})?`))],
  seedCoder: [folded(`${CONTRACTION}|[^\\r\\n${L}${N}]?[${L}]+|[${N}]| ?[^\\s${L}${N}\\r\\n]+|${TAIL}`)],
} as const satisfies Record<string, readonly Pattern[]>;

export interface PreTokenizer {
  readonly name: string;
  readonly patterns: readonly Pattern[];
  /** A whole word that is a token is taken as it is, without merging. */
  readonly ignoreMerges: boolean;
  /** What the name implies when the file does not say it. */
  readonly addBos: boolean;
}

interface Kind {
  readonly patterns: readonly Pattern[];
  readonly names: readonly string[];
  readonly ignoreMerges?: boolean;
  readonly addBos?: boolean;
}

const KINDS: readonly Kind[] = [
  { patterns: PATTERNS.default, names: ["default"] },
  {
    patterns: PATTERNS.llama3,
    names: ["llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2"],
    ignoreMerges: true,
    addBos: true,
  },
  { patterns: PATTERNS.llama3, names: ["smaug-bpe", "dbrx"] },
  { patterns: PATTERNS.qwen2, names: ["qwen2", "deepseek-r1-qwen", "kormo", "megrez", "stablelm2", "hunyuan"] },
  {
    patterns: PATTERNS.gpt2,
    names: [
      "gpt-2",
      "phi-2",
      "gigachat",
      "a.x-4.0",
      "mellum",
      "exaone4",
      "mpt",
      "olmo",
      "jais",
      "trillion",
      "granite-docling",
    ],
  },
  {
    patterns: PATTERNS.digits,
    names: ["smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"],
  },
  { patterns: PATTERNS.deepseekCoder, names: ["deepseek-coder"] },
  { patterns: PATTERNS.deepseekLlm, names: ["deepseek-llm"] },
  { patterns: PATTERNS.deepseek3, names: ["deepseek-v3", "hunyuan-dense"] },
  { patterns: PATTERNS.bloom, names: ["poro-chat", "bloom", "gpt3-finnish"] },
  { patterns: PATTERNS.viking, names: ["viking"] },
  { patterns: PATTERNS.superbpe, names: ["superbpe"] },
  { patterns: PATTERNS.falcon, names: ["falcon"] },
  { patterns: PATTERNS.tekken, names: ["tekken"], ignoreMerges: true, addBos: true },
  { patterns: PATTERNS.gpt4o, names: ["gpt-4o", "llama4"] },
  { patterns: PATTERNS.seedCoder, names: ["seed-coder"] },
];

export const PRE_TOKENIZER_NAMES: readonly string[] = KINDS.flatMap((kind) => kind.names);

export function preTokenizer(name: string): PreTokenizer {
  const kind = KINDS.find((candidate) => candidate.names.includes(name));
  if (kind === undefined) throw unknownPreTokenizer(name);
  return { name, patterns: kind.patterns, ignoreMerges: kind.ignoreMerges ?? false, addBos: kind.addBos ?? false };
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

/** Matches between two pauses. */
const PAUSE_EVERY = 1 << 12;

/** Where each word of the text ends, in order; the last one ends with it. */
export function* wordEnds(text: string, { patterns }: Pick<PreTokenizer, "patterns">): Steps<readonly number[]> {
  if (text === "") return [];
  const units = unitsOf(text);
  let ends: number[] = [units.folded.length];
  for (const pattern of patterns) ends = yield* cutPieces(units[pattern.over], ends, pattern);
  const { positions } = units;
  return positions === undefined ? ends : ends.map((end) => positions[end] ?? 0);
}

/** Cuts every piece (given by where it ends) before and after each match inside it. */
function* cutPieces(units: string, pieces: readonly number[], pattern: Pattern): Steps<number[]> {
  const ends: number[] = [];
  let start = 0;
  let count = 0;
  for (const end of pieces) {
    if (++count % PAUSE_EVERY === 0) yield;
    // A piece by itself, because a pattern may look ahead and must not see the next piece.
    const piece = pieces.length === 1 ? units : units.slice(start, end);
    const place = { at: 0, last: 0 };
    while (!cutSome(piece, start, pattern, place, ends)) yield;
    if (start + place.last < end) ends.push(end);
    start = end;
  }
  return ends;
}

/** Goes on with a piece for some matches; true at its end. */
function cutSome(
  piece: string,
  start: number,
  { regex, cuts }: Pattern,
  place: { at: number; last: number },
  ends: number[],
): boolean {
  for (let i = 0; i < PAUSE_EVERY; i++) {
    regex.lastIndex = place.at;
    const match = regex.exec(piece);
    if (match === null) return true;
    const { index } = match;
    const { length } = match[0];
    place.at = index + Math.max(1, length);
    if (cuts === undefined) {
      if (index > place.last) ends.push(start + index);
      place.last = index + length;
      if (length > 0) ends.push(start + place.last);
    } else
      for (const cut of cuts(length)) {
        if (index + cut > place.last) ends.push(start + index + cut);
        place.last = index + cut;
      }
  }
  return false;
}
