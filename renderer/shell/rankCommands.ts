/** Finding a command by a few letters: words that begin with them first, then letters in order. */
import { COMMANDS } from "../../main/contract/commands.ts";

type Command = (typeof COMMANDS)[number];

export function rankCommands(query: string): readonly Command[] {
  const words = query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  return COMMANDS.map((command, order) => ({
    command,
    order,
    score: scoreOf(`${command.title} ${command.menu ?? ""}`.toLowerCase(), words),
  }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || a.order - b.order)
    .map(({ command }) => command);
}

function scoreOf(text: string, words: readonly string[]): number {
  let total = 1;
  for (const word of words) {
    const score = wordScore(text, word);
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
