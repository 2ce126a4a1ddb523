/** Tables that a benchmark writes into its page, between two marks; the words around them stay. */
import { readFileSync, writeFileSync } from "node:fs";

const BEGIN = "<!-- tables -->";
const END = "<!-- /tables -->";

/** Text as it is; rows of cells as a table, the first row its head. */
export type Part = string | readonly (readonly string[])[];

const rowOf = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;

function textOf(part: Part): string {
  if (typeof part === "string") return part;
  const [head = [], ...rows] = part;
  return [rowOf(head), `|${"---|".repeat(head.length)}`, ...rows.map(rowOf)].join("\n");
}

export function writeTables(page: string, parts: readonly Part[]): void {
  const text = readFileSync(page, "utf8");
  const [begin, end] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`${page}: expected ${BEGIN} and ${END}`);
  const front = text.slice(0, begin + BEGIN.length);
  writeFileSync(page, `${front}\n\n${parts.map(textOf).join("\n\n")}\n\n${text.slice(end)}`);
}
