/** Finding a command by a few letters: words that begin with them first, then letters in order, then other words for it. */
import type { CommandId } from "../../main/contract/commands.ts";
import { COMMANDS, TABS } from "../../main/contract/commands.ts";

type Command = (typeof COMMANDS)[number];

/** Synonyms for the command. */
const OTHER_WORDS: Partial<Readonly<Record<CommandId, string>>> = {
  "view.overview": "target fit memory metadata information",
  "view.tensors": "weights values",
  "view.embed": "vectors similarity rerank documents",
  "view.pipeline": "passes compile mil",
  "view.run": "chat ask settings temperature context seed",
  "view.bench": "speed settings measure",
  "view.profile": "time slow",
  "view.export": "target coreml mlpackage package",
  "view.theme": "settings appearance",
  "file.quantize": "quantise quantize types recipe",
  "file.convert": "safetensors split merge f16 types",
  "model.check": "broken health nan compare tensors weights",
  "model.phase": "prefill decode target",
  "help.operations": "ops kernels support gradient",
  "help.doctor": "settings machine devices calibrate",
};

/** What a second name of a command is worth less: work of that name comes before the view where it is done. */
const ASIDE = 0.5;
const VIEWS: ReadonlyMap<string, string> = new Map(TABS.map(({ id, title }) => [`view.${id}`, title]));

/** A view is also known by its bare name. */
function namesOf({ id, title, menu }: Command): readonly string[] {
  const bare = VIEWS.get(id);
  return [title, ...(bare === undefined ? [] : [bare])].map((name) => `${name} ${menu ?? ""}`);
}

export function rankCommands(query: string): readonly Command[] {
  const words = wordsOf(query);
  return COMMANDS.map((command, order) => ({
    command,
    order,
    score: Math.max(...namesOf(command).map((name, i) => scoreOf(name, words, OTHER_WORDS[command.id]) - i * ASIDE)),
  }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || a.order - b.order)
    .map(({ command }) => command);
}

export const wordsOf = (query: string): readonly string[] =>
  query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");

/** 0 unless every word is found. */
export function scoreOf(text: string, words: readonly string[], otherWords = ""): number {
  let total = 1;
  for (const word of words) {
    // Another word for it says more than letters that only happen to come in order.
    const other = otherWords.split(" ").some((each) => each.startsWith(word)) ? 1.5 : 0;
    const score = Math.max(wordScore(text.toLowerCase(), word), other);
    if (score === 0) return 0;
    total += score;
  }
  return total;
}

function wordScore(text: string, word: string): number {
  if (text.startsWith(word)) return 4;
  if (text.includes(` ${word}`)) return 3;
  if (text.includes(word)) return 2;
  let at = 0;
  for (const letter of text) if (letter === word[at]) at += 1;
  return at === word.length ? 1 : 0;
}
