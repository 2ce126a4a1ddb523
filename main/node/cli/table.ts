/**
 * Tables for people. On a terminal the least important column is cut or wrapped until the table
 * fits, and a mark says so. A pipe or a file gets the whole text, for filters and searches.
 */

export interface TableStyle {
  /** Columns of numbers, which are aligned to the right. */
  readonly right?: readonly number[];
  /** The column that is narrowed. */
  readonly yields?: number;
  /** Cut with "…" (a row stays one line), or wrapped at words (nothing is lost). */
  readonly by?: "cut" | "wrap";
}

export interface Table {
  readonly text: string;
  /** True if a cell was cut. */
  readonly isCut: boolean;
}

const GAP = "  ";
const INDENT = "      ";
/** Least width of a cut column. Below it, the terminal wraps instead. */
const NARROWEST = 12;
/** Least width of wrapped sentences. */
const READABLE = 30;

/**
 * Text is aligned left, numbers right. Without a `width`, columns take what they need. Empty columns
 * are left out.
 */
export function formatTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  style: TableStyle = {},
  width = Infinity,
): Table {
  const shown = header.map((_, i) => i).filter((i) => rows.length === 0 || rows.some((row) => (row[i] ?? "") !== ""));
  const pick = (row: readonly string[]): readonly string[] => shown.map((i) => row[i] ?? "");
  const placeOf = (i: number): number => shown.indexOf(i);
  const { right = [], yields, by = "cut" } = style;
  return layOut(
    pick(header),
    rows.map(pick),
    {
      right: right.map(placeOf),
      ...(yields === undefined || placeOf(yields) < 0 ? {} : { yields: placeOf(yields) }),
      by,
    },
    width,
  );
}

function layOut(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  style: TableStyle,
  width: number,
): Table {
  const { right = [], yields, by = "cut" } = style;
  // Not Math.max(...rows): a call takes fewer arguments than a table has rows.
  const natural = header.map((title, i) =>
    rows.reduce((widest, row) => Math.max(widest, row[i]?.length ?? 0), title.length),
  );
  const widths = yields === undefined ? natural : narrowed(natural, yields, header[yields]?.length ?? 0, width);
  if (by === "wrap" && yields === header.length - 1 && isTower(natural, widths, yields))
    return { text: withNotesBelow(header, rows, style, width), isCut: false };
  const linesOf = (cell: string, i: number): readonly string[] => {
    const room = widths[i] ?? 0;
    if (cell.length <= room) return [cell];
    return by === "wrap" ? wrapped(cell, room) : [`${cell.slice(0, room - 1)}…`];
  };
  const render = (row: readonly string[]): string => {
    const cells = widths.map((_, i) => linesOf(row[i] ?? "", i));
    const line = (n: number): string =>
      widths
        .map((own, i) => (right.includes(i) ? (cells[i]?.[n] ?? "").padStart(own) : (cells[i]?.[n] ?? "").padEnd(own)))
        .join(GAP)
        .trimEnd();
    return Array.from({ length: Math.max(...cells.map((lines) => lines.length)) }, (_, n) => line(n)).join("\n");
  };
  const rule = widths.map((own) => "─".repeat(own)).join(GAP);
  return {
    text: [render(header), rule.trimEnd(), ...rows.map(render)].join("\n"),
    isCut: by === "cut" && widths.some((own, i) => own < (natural[i] ?? 0)),
  };
}

/** Column widths with one column narrowed until all fit, or its least width is reached. */
function narrowed(natural: readonly number[], yields: number, title: number, width: number): readonly number[] {
  const excess = natural.reduce((sum, own) => sum + own, (natural.length - 1) * GAP.length) - width;
  return natural.map((own, i) =>
    i === yields && excess > 0 ? Math.min(own, Math.max(NARROWEST, title, own - excess)) : own,
  );
}

const isTower = (natural: readonly number[], widths: readonly number[], column: number): boolean =>
  (widths[column] ?? 0) < Math.min(READABLE, natural[column] ?? 0);

/** The table without its last column, which follows each row on lines of its own. */
function withNotesBelow(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  style: TableStyle,
  width: number,
): string {
  const notes = [header, ...rows].map((row) => row.at(-1) ?? "");
  const table = formatTable(
    header.slice(0, -1),
    rows.map((row) => row.slice(0, -1)),
    { right: style.right ?? [] },
    width,
  );
  const [titles = "", rule = "", ...lines] = table.text.split("\n");
  const below = (note: string | undefined): readonly string[] =>
    note === undefined || note === ""
      ? []
      : wrapped(note, Math.max(READABLE, width) - INDENT.length).map((line) => INDENT + line);
  return [titles, rule, ...lines.flatMap((line, i) => [line, ...below(notes[i + 1])])].join("\n");
}

/** Breaks at spaces. Breaks a word only if it is longer than a line. */
function wrapped(text: string, room: number): string[] {
  const lines: string[] = [];
  let rest = text;
  while (rest.length > room) {
    const space = rest.lastIndexOf(" ", room);
    const end = space > 0 ? space : room;
    lines.push(rest.slice(0, end));
    rest = rest.slice(end).trimStart();
  }
  return [...lines, rest];
}
