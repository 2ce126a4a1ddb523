/** The parts of a page about two sides: words first, then ribbons, numbers, and what differs in routing, graph, tensors and keys. */
import type { Comparison, ComparedSide, OpDifference, Side } from "../../contract/views/compare.ts";
import { secondsText } from "../measure/advice.ts";
import { bytesFigure, grouped } from "../measure/forecast.ts";
import type { Html } from "./html.ts";
import { html, paragraph, section, table } from "./html.ts";
import { ribbonKey, ribbonSvg } from "./ribbonSvg.ts";
import { deltaText, DEVICE_TITLES, figureText } from "./text.ts";

const MOST_ROWS = 100;

const sideName = ({ title, variant, subjectTitle }: ComparedSide): string =>
  [title, variant].filter((part) => part !== "").join(" ") + `, ${subjectTitle}`;

export const wordsList = ({ sentences }: Comparison): Html =>
  html`<ol class="words">
    ${sentences.map((sentence) => html`<li>${sentence}</li> `)}
  </ol> `;

export function sidesSection(comparison: Comparison): Html {
  const row = (name: string, { file, machine, ...side }: ComparedSide): readonly string[] => [
    ...[name, sideName({ file, machine, ...side }), machine],
    ...(file === null ? ["–", "–", "–"] : [file.name, bytesFigure(file.bytes), file.headerHash]),
  ];
  const { a, b } = comparison;
  return section("Sides", [
    table(
      "What is compared",
      ["", "model and target", "machine", "file", "size", "header hash"],
      [row("A", a), row("B", b)],
      [4],
    ),
  ]);
}

/** Where ops are, and in which blocks. */
export const opPlace = ({
  path,
  name,
  count,
  blocks,
}: Pick<OpDifference, "path" | "name" | "count" | "blocks">): string =>
  [path, name].filter((part) => part !== "").join(" · ") +
  (count === 1 ? "" : ` ×${count}${blocks === "" ? "" : `, blocks ${blocks}`}`);

const more = (rows: number, beyond: number): Html => {
  const rest = Math.max(0, rows - MOST_ROWS) + beyond;
  return rest === 0 ? html`` : paragraph(`And ${grouped(rest)} more.`);
};

export function diffSections(comparison: Comparison): readonly Html[] {
  return [
    sidesSection(comparison),
    numbersSection(comparison),
    routingSection(comparison),
    speedSection(comparison),
    wordsSection(comparison),
    graphSection(comparison),
    tensorsSection(comparison),
    keysSection(comparison),
  ].filter((part) => part !== null);
}

const better = (row: { readonly better: Side | null }, side: Side): string => (row.better === side ? " ◂" : "");

const numbersSection = ({ numbers }: Comparison): Html =>
  section("Numbers", [
    table(
      "Predicted, and counted; ◂ marks the better side",
      ["", "A", "B"],
      numbers.map((row) => [row.label, figureText(row.a) + better(row, "a"), figureText(row.b) + better(row, "b")]),
      [1, 2],
    ),
  ]);

function routingSection({ routing, costs }: Comparison): Html | null {
  if (routing === null) return null;
  const { a, b, rows } = routing;
  const longest = Math.max(a.step, b.step);
  const share = (step: number): number => (longest > 0 ? step / longest : 1);
  return section("What runs where", [
    ribbonSvg(a, "a", "A", share(a.step)),
    ribbonSvg(b, "b", "B", share(b.step)),
    ribbonKey(),
    rows.length === 0
      ? paragraph("Every op that both have runs on the same device.")
      : table(
          "Ops that run elsewhere",
          ["op", "where in the model", "A", "B", "time of A", "time of B", "why in B"],
          rows
            .slice(0, MOST_ROWS)
            .map((row) => [
              ...[row.op, opPlace(row), DEVICE_TITLES[row.from], DEVICE_TITLES[row.to]],
              ...[secondsText(row.secondsA), secondsText(row.secondsB), row.reasonB],
            ]),
          [4, 5],
        ),
    more(rows.length, routing.more),
    costs.length === 0
      ? html``
      : table(
          "Ops by how much their predicted times differ",
          ["op", "where in the model", "A", "B", "difference"],
          costs.map((row) => [
            ...[row.op, opPlace(row)],
            row.secondsA === null ? "–" : `${DEVICE_TITLES[row.deviceA]}, ${secondsText(row.secondsA)}`,
            row.secondsB === null ? "–" : `${DEVICE_TITLES[row.deviceB]}, ${secondsText(row.secondsB)}`,
            deltaText(row.secondsA, row.secondsB),
          ]),
          [2, 3, 4],
        ),
  ]);
}

function speedSection({ speed }: Comparison): Html | null {
  if (speed === null) return null;
  const { names, rows, differences } = speed;
  return section("Measured speed", [
    table(
      `A: ${names.a}; B: ${names.b}`,
      ["test", "A", "B", "verdict"],
      rows.map(({ test, a, b, sentence }) => [test, figureText(a), figureText(b), sentence]),
      [1, 2],
    ),
    differences.length === 0 ? html`` : paragraph(`What else differs: ${differences.join(", ")}.`),
  ]);
}

const wordsSection = ({ words }: Comparison): Html | null =>
  words === null ? null : section("Answers", [paragraph(`${words.names.a} and ${words.names.b}: ${words.sentence}`)]);

const SIGNS = { added: "+", removed: "−", changed: "~" } as const;

const sign = (kind: keyof typeof SIGNS): Html => html`<strong class="${kind}" title="${kind}">${SIGNS[kind]}</strong>`;

function graphSection({ graph }: Comparison): Html | null {
  if (graph === null) return null;
  const { same, added, removed, changed, rows } = graph;
  const head = `${grouped(same)} ops are the same, ${added} added, ${removed} removed, ${changed} changed.`;
  return section("Graph", [
    paragraph(head),
    rows.length === 0
      ? html``
      : table(
          "Ops that differ",
          ["", "op", "where in the model", "what"],
          rows.slice(0, MOST_ROWS).map((row) => [sign(row.kind), row.op, opPlace(row), row.what]),
        ),
    more(rows.length, graph.more),
  ]);
}

const formText = (
  form: { readonly type: string; readonly shape: readonly number[]; readonly bytes: number } | null,
): string => (form === null ? "–" : `${form.type} ${form.shape.join("×")}, ${bytesFigure(form.bytes)}`);

function tensorsSection({ tensors }: Comparison): Html | null {
  const { same, differing, rows } = tensors;
  if (same + differing === 0) return null;
  return section("Tensors", [
    paragraph(`${grouped(same)} are the same, ${grouped(differing)} differ.`),
    rows.length === 0
      ? html``
      : table(
          "Tensors that differ",
          ["", "tensor", "A", "B"],
          rows
            .slice(0, MOST_ROWS)
            .map(({ name, a, b, numbers }) => [
              sign(a === null ? "added" : b === null ? "removed" : "changed"),
              name,
              formText(a),
              numbers === "other" ? "the same form, other numbers" : formText(b),
            ]),
        ),
    more(rows.length, tensors.more),
  ]);
}

function keysSection({ keys, facts }: Comparison): Html | null {
  const rows = [...facts.map(({ label, a, b }) => ({ key: label, a, b })), ...keys.rows];
  if (rows.length === 0) return null;
  return section("Keys", [
    table(
      `${grouped(keys.same)} keys are the same`,
      ["key", "A", "B"],
      rows.slice(0, MOST_ROWS).map(({ key, a, b }) => [key, a ?? "–", b ?? "–"]),
    ),
    more(rows.length, keys.more),
  ]);
}
