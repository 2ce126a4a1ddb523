/**
 * How byte-level BPE cuts text into words before it merges: per name in `tokenizer.ggml.pre` a list of patterns. The
 * first one cuts the text into what it matches and what lies between; each further one cuts those pieces again, seeing
 * nothing beyond their ends. The patterns are those of the models' own tokenizers; names and flags as llama.cpp has them.
 */
import { WorkbenchError } from "../diagnostics/errors.ts";
import { SIGN, unitsOf } from "./unicode.ts";

// Members of a character class in folded text: a class is its ASCII members and its sign.
const L = `A-Za-z${SIGN.letter}`;
const N = `0-9${SIGN.number}`;
/** ASCII members of Unicode's P: everything printable that is neither letter, digit nor a symbol ($+<=>^\`|~). */
const P = `!-#%-*,-/:;?@\\[-\\]_{}${SIGN.punctuation}`;

const folded = (source: string): Pattern => ({ regex: new RegExp(source, "g"), over: "folded" });
const plain = (source: string): Pattern => ({ regex: new RegExp(source, "g"), over: "plain" });

interface Pattern {
  readonly regex: RegExp;
  readonly over: "folded" | "plain";
}

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

/** Calls `word` with each word of the text, in order; together they are the whole text. */
export function splitWords(text: string, { patterns }: PreTokenizer, word: (word: string) => void): void {
  if (text === "") return;
  const units = unitsOf(text);
  let ends: number[] = [units.folded.length];
  for (const pattern of patterns) ends = cutPieces(units[pattern.over], ends, pattern.regex);
  const { positions } = units;
  let start = 0;
  for (const end of ends) {
    const stop = positions === undefined ? end : (positions[end] ?? 0);
    word(text.slice(start, stop));
    start = stop;
  }
}

/** Cuts every piece (given by where it ends) before and after each match inside it. */
function cutPieces(units: string, pieces: readonly number[], regex: RegExp): number[] {
  const ends: number[] = [];
  let start = 0;
  for (const end of pieces) {
    // A piece by itself, because a pattern may look ahead and must not see the next piece.
    const piece = pieces.length === 1 ? units : units.slice(start, end);
    let last = 0;
    regex.lastIndex = 0;
    for (let match = regex.exec(piece); match !== null; match = regex.exec(piece)) {
      if (match.index > last) ends.push(start + match.index);
      last = match.index + match[0].length;
      if (last === match.index) regex.lastIndex += 1;
      else ends.push(start + last);
    }
    if (start + last < end) ends.push(end);
    start = end;
  }
  return ends;
}
