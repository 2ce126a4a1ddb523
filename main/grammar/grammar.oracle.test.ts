// Grammars beside llama.cpp's own sampler: for random grammars and random beginnings of their texts, the same tokens may come next.
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openGguf } from "../formats/gguf/open.ts";
import { finish } from "../ir/steps.ts";
import { openFileSource } from "../node/files/fileByteSource.ts";
import { llamaForget, llamaGrammarMasks, llamaMissing } from "../testing/llama.ts";
import { repositoryRoot } from "../testing/oracleProcess.ts";
import type { Random } from "../testing/random.ts";
import { seededRandom } from "../testing/random.ts";
import { sharedFile, sharedFileMissing } from "../testing/sharedData.ts";
import type { Tokenizer } from "../tokenizer/tokenizer.ts";
import { createTokenizer } from "../tokenizer/tokenizer.ts";
import { GrammarAutomaton } from "./automaton.ts";
import type { ConstraintSource } from "./constraint.ts";
import { ConstrainedTokens, TokenMasks } from "./constraint.ts";
import { parseGbnf } from "./gbnf.ts";
import { grammarBytes } from "./tokenBytes.ts";
import { vocabularyTrie } from "./vocabularyTrie.ts";

const missing = llamaMissing();

/** A grammar of up to six rules; each leads to the ones behind it, and some to themselves behind a character. */
function randomGrammar(random: Random): string {
  const count = 1 + random.integer(6);
  const names = Array.from({ length: count }, (_, i) => (i === 0 ? "root" : `r-${i}`));
  const character = (): string =>
    random.pick([
      "a",
      "b",
      "c",
      "e",
      "t",
      "0",
      "7",
      " ",
      "the",
      "in",
      "é",
      "日本",
      "🙂",
      "\\n",
      '\\"',
      "\\x41",
      "\\u00e9",
    ]);
  const atom = (rule: number, depth: number): string => {
    switch (random.integer(depth > 2 ? 4 : 6)) {
      case 0:
        return `"${character()}${character()}"`;
      case 1:
        return random.pick([
          "[a-z]",
          "[^a-m]",
          "[0-9]",
          "[ a-zA-Z]",
          '[^\\x00-\\x1f"]',
          "[à-ÿ]",
          "[一-龥]",
          "[^ ]",
          "[+\\]-]",
        ]);
      case 2:
        return rule + 1 < count ? (names[rule + 1 + random.integer(count - rule - 1)] ?? "root") : `"${character()}"`;
      case 3:
        return random.integer(3) === 0 ? "." : `"${character()}"`;
      case 4:
        return `(${alternatives(rule, depth + 1)})`;
      default:
        // To itself, behind a character.
        return `("${character()}" ${names[rule] ?? "root"})?`;
    }
  };
  // llama.cpp takes no repetition of what may be empty, so only characters are repeated.
  const item = (rule: number, depth: number): string => {
    const one = atom(rule, depth);
    return one + (/^["[.]/u.test(one) ? random.pick(["", "", "", "*", "+", "?", "{2}", "{1,3}", "{2,}"]) : "");
  };
  const sequence = (rule: number, depth: number): string =>
    Array.from({ length: 1 + random.integer(3) }, () => item(rule, depth)).join(" ");
  const alternatives = (rule: number, depth: number): string =>
    Array.from({ length: 1 + random.integer(3) }, () => sequence(rule, depth)).join(" | ");
  return names.map((name, rule) => `${name} ::= ${alternatives(rule, 0)} # rule ${rule}`).join("\n");
}

const JSON_GRAMMAR = String.raw`root ::= object
value ::= object | array | string | number | ("true" | "false" | "null") ws
object ::= "{" ws (string ":" ws value ("," ws string ":" ws value)*)? "}" ws
array ::= "[" ws (value ("," ws value)*)? "]" ws
string ::= "\"" ([^"\\\x7F\x00-\x1F] | "\\" (["\\bfnrt] | "u" [0-9a-fA-F]{4}))* "\"" ws
number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [0-9] [1-9]{0,15})? ws
ws ::= | " " | "\n" [ \t]{0,20}`;

const shared = (name: string): readonly [string, string, string | undefined] => [
  name,
  sharedFile(`vocab/${name}.gguf`),
  sharedFileMissing(`vocab/${name}.gguf`),
];
const VOCABULARIES = [
  ["sample", join(repositoryRoot, "assets/models/rlx-sample.gguf"), undefined] as const,
  shared("gpt-2"),
  shared("llama-spm"),
];
const GRAMMARS = 60;
const PREFIXES = 4;

/** Vocabularies that are not here are named in the title, with the reason. */
const absent = VOCABULARIES.flatMap(([name, , reason]) => (reason === undefined ? [] : [`${name}: ${reason}`])).join(
  "; ",
);

describe.skipIf(missing !== undefined)(`beside llama.cpp ${missing ?? ""} ${absent}`.trimEnd(), () => {
  describe.each(VOCABULARIES.filter(([, , absent]) => absent === undefined))("over the vocabulary %s", (_, path) => {
    let tokenizer: Tokenizer;
    let source: ConstraintSource;
    let comparable: Uint8Array;
    let whole: Uint8Array;
    beforeAll(async () => {
      const file = await openGguf(await openFileSource(path));
      tokenizer = createTokenizer(file);
      await file.close();
      const bytes = grammarBytes(tokenizer);
      source = { bytes, endings: tokenizer.endings, trie: finish(vocabularyTrie({ size: tokenizer.size, bytes })) };
      comparable = Uint8Array.from({ length: tokenizer.size }, (_each, id) =>
        tokenizer.endings.has(id) || (bytes(id).length > 0 && isPartOfUtf8(bytes(id))) ? 1 : 0,
      );
      whole = Uint8Array.from({ length: tokenizer.size }, (_each, id) => (isWholeUtf8([...bytes(id)]) ? 1 : 0));
    });

    /** Random texts of a grammar, token by token by our masks, up to some length. */
    function beginnings(masks: TokenMasks, random: Random, isChosen: (id: number) => boolean): number[][] {
      return Array.from({ length: PREFIXES }, (_each, i) => {
        const tokens: number[] = [];
        const text = new ConstrainedTokens(masks);
        const length = i * (1 + random.integer(4));
        while (tokens.length < length) {
          const choices = [...bits(text.allowed())].filter((id) => !tokenizer.endings.has(id) && isChosen(id));
          if (choices.length === 0) break;
          tokens.push(random.pick(choices));
          text.read(tokens);
        }
        return tokens;
      });
    }

    /** Tokens whose bytes are no part of UTF-8, and control tokens: llama.cpp lets some of them into a text, we let none. */
    const isComparable = (id: number): boolean => comparable[id] === 1;

    async function compare(
      grammar: string,
      random: Random,
      isText = (_id: number): boolean => true,
    ): Promise<"refused" | "too ambiguous" | number> {
      const masks = new TokenMasks(new GrammarAutomaton(parseGbnf(grammar, tokenizer)), source);
      let prefixes: number[][];
      try {
        prefixes = beginnings(masks, random, isText);
      } catch (error) {
        // llama.cpp would take for ever.
        expect(error).toMatchObject({ code: "INPUT_LIMIT" });
        return "too ambiguous";
      }
      const theirs = await llamaGrammarMasks(path, grammar, prefixes);
      // llama.cpp takes no repetition of what may be empty.
      if (theirs === null) return "refused";
      prefixes.forEach((prefix, i) => {
        const text = new ConstrainedTokens(masks);
        text.read(prefix);
        // Within a character we do not end a text; llama.cpp may.
        const isWithin = !isWholeUtf8(prefix.flatMap((id) => [...source.bytes(id)]));
        const mine = new Set(bits(text.allowed()));
        const wrong = Array.from(theirs[i]!.keys()).filter(
          (id) =>
            isComparable(id) &&
            isText(id) &&
            !(isWithin && tokenizer.endings.has(id)) &&
            mine.has(id) !== (theirs[i]![id] === 1),
        );
        const shown = wrong
          .slice(0, 5)
          .map((id) => `${id} ${JSON.stringify(tokenizer.piece(id, true))} ${mine.has(id)}`);
        expect(shown, `${grammar}\n behind ${JSON.stringify(tokenizer.decode(prefix))}`).toEqual([]);
      });
      return prefixes.length;
    }

    test("random grammars and beginnings", { timeout: 300_000 }, async () => {
      const random = seededRandom(31);
      let pairs = 0;
      for (let i = 0; i < GRAMMARS; i++) {
        const compared = await compare(randomGrammar(random), random);
        if (typeof compared === "number") pairs += compared;
      }
      expect(pairs).toBeGreaterThan(150);
    });

    /** Parts of characters by their names: llama.cpp reads them as text besides. */
    const isWholeText = (id: number): boolean => isComparable(id) && whole[id] === 1;

    test("tokens by their ids, and others than these", { timeout: 120_000 }, async () => {
      const random = seededRandom(5);
      for (let i = 0; i < 8; i++) {
        const draw = (): number => {
          for (;;) {
            const id = random.integer(tokenizer.size);
            if (isWholeText(id) && !tokenizer.endings.has(id)) return id;
          }
        };
        const [a, b, c] = [draw(), draw(), draw()];
        const grammar = random.pick([
          `root ::= <[${a}]> [a-z]+ <[${b}]>`,
          `root ::= (<[${a}]> | <[${b}]> | "x")+ "y"`,
          `root ::= [a-c]* !<[${a}]> (<[${b}]> <[${c}]>)* "z"`,
          `root ::= !<[${a}]>+ <[${a}]> "!"`,
          `root ::= ("a" | <[${a}]>)+ [^q]*`,
        ]);
        expect(typeof (await compare(grammar, random, isWholeText)), grammar).toBe("number");
      }
    });

    test("JSON", { timeout: 120_000 }, async () => {
      for (let seed = 0; seed < 5; seed++) expect(await compare(JSON_GRAMMAR, seededRandom(seed))).toBe(PREFIXES);
    });
  });

  afterAll(async () => {
    await llamaForget();
  });
});

function isWholeUtf8(bytes: readonly number[]): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.from(bytes));
    return true;
  } catch {
    return false;
  }
}

function* bits(mask: Uint32Array): Generator<number> {
  for (let id = 0; id < 32 * mask.length; id++) if ((mask[id >>> 5]! >>> (id & 31)) & 1) yield id;
}

/** Whether the bytes can stand within a text in UTF-8: checked by Node's decoder, behind and before every way to complete them. */
function isPartOfUtf8(bytes: Uint8Array): boolean {
  const starts = [[], [0xc3], [0xe4], [0xe4, 0xb8], [0xf0, 0x9f], [0xf0], [0xf0, 0x9f, 0x98]];
  const ends = [[], [0x80], [0x98, 0x80], [0xa0, 0x80], [0x98, 0x80, 0x80], [0x80, 0x80], [0x80, 0x80, 0x80]];
  return starts.some((start) => ends.some((end) => isWholeUtf8([...start, ...bytes, ...end])));
}
