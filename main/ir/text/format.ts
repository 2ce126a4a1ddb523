/**
 * A text in its one layout: names, comments and groups of lines stay, spaces do not. It works on the statements, so it also
 * formats a text that no graph can be built from, as long as it can be read.
 */
import { LEAF_OPS } from "../graph.ts";
import type { Diagnostic } from "./diagnostics.ts";
import { addRounded, Faults } from "./diagnostics.ts";
import { readText } from "./reader.ts";
import { attributesText, numberText, numbersText, provenanceText } from "./spelling.ts";
import type { Block, Data, Definition, Saying, Statement, Word } from "./syntax.ts";

const LEAVES: ReadonlySet<string> = new Set(LEAF_OPS);

/** The text, or what keeps it from being read. */
export function formatText(text: string): { readonly text: string } | { readonly diagnostics: readonly Diagnostic[] } {
  const lines: string[] = [];
  let isFirst = true;
  const faults = new Faults(text);
  readText(text, faults, {
    begin: (name, above) => lines.push(...above, headOf(name)),
    statement: (statement) => {
      noteRounded(faults, statement);
      pushStatement(lines, statement, INDENT, isFirst);
      isFirst = false;
    },
    end: (below, after) => lines.push(...below.map((comment) => INDENT + comment), "}", ...after),
  });
  return faults.list.length > 0 ? { diagnostics: faults.sorted() } : { text: `${lines.join("\n")}\n` };
}

/** A number that would be written as another one. */
function noteRounded(faults: Faults, { says }: Statement): void {
  if (says.kind !== "definition") return;
  const { data, types, regions } = says;
  const dtype = /^\w+/u.exec(types[0]?.text ?? "")?.[0] ?? "";
  if (data !== undefined && data.kind !== "hash") addRounded(faults, dtype, data.rounded);
  for (const { statements } of regions) for (const statement of statements) noteRounded(faults, statement);
}

const INDENT = "  ";
const headOf = ({ text }: Word): string => `graph ${JSON.stringify(text)} {`;

function pushBlock(lines: string[], { name, statements, below }: Block, indent: string): void {
  const inner = indent + INDENT;
  lines.push(indent + headOf(name));
  for (const [i, statement] of statements.entries()) pushStatement(lines, statement, inner, i === 0);
  for (const comment of below) lines.push(inner + comment);
  lines.push(`${indent}}`);
}

function pushStatement(
  lines: string[],
  { says, above, behind, isApart }: Statement,
  indent: string,
  isFirst: boolean,
): void {
  if (isApart && !isFirst) lines.push("");
  for (const comment of above) lines.push(indent + comment);
  lines.push(indent + lineOf(says));
  if (says.kind === "definition") for (const region of says.regions) pushBlock(lines, region, indent + INDENT);
  // The comment of a node with sub-graphs stands behind its last brace, where it was read.
  if (behind !== undefined) lines.push(`${lines.pop() ?? ""}  ${behind}`);
}

function lineOf(says: Saying): string {
  switch (says.kind) {
    case "definition":
      return definitionText(says);
    case "lost":
      // A text with a fault is not formatted.
      return "";
    case "limit":
      return `limit ${says.symbol.text} = ${numberText(says.size)}`;
    case "inputs":
      return `inputs ${says.values.map(({ text }) => text).join(", ")}`;
    default:
      return `${says.kind} ${JSON.stringify(says.name.text)} = ${says.value.text}`;
  }
}

function definitionText(definition: Definition): string {
  const { value, op, leafName, data, operands, attributes, types, provenance } = definition;
  return [
    `${value.text} = ${op.text}`,
    ...(leafName === undefined ? [] : [` ${JSON.stringify(leafName.text)}`]),
    ...(data === undefined ? [] : [` ${dataText(data)}`]),
    ...(LEAVES.has(op.text) ? [] : [`(${operands.map(({ text }) => text).join(", ")})`]),
    attributesText(attributes.map(({ key, value: given }) => [key.text, given])),
    ...(types.length === 0 ? [] : [` : ${types.map(({ text }) => text.replaceAll(/\s+/g, "")).join(", ")}`]),
    ...(provenance === undefined ? [] : [provenanceText(provenance.origins, provenance.passes)]),
  ].join("");
}

function dataText(data: Data): string {
  switch (data.kind) {
    case "hash":
      return `#${data.hash}`;
    case "all":
      return `all ${numberText(data.number)}`;
    default:
      return numbersText(data.numbers, data.shape);
  }
}
