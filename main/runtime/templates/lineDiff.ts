/** Two texts line by line: what only one of them has. */

export interface DiffLine {
  readonly kind: "same" | "removed" | "added";
  readonly text: string;
}

/** Of a table of lines against lines. Beyond that the middle is shown as replaced. */
const MOST_CELLS = 1 << 20;

export function lineDiff(before: string, after: string): readonly DiffLine[] {
  const [a, b] = [before.split("\n"), after.split("\n")];
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < Math.min(a.length, b.length) - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
  const lines = (of: readonly string[], kind: DiffLine["kind"]): readonly DiffLine[] =>
    of.map((text) => ({ kind, text }));
  return [
    ...lines(a.slice(0, head), "same"),
    ...middle(a.slice(head, a.length - tail), b.slice(head, b.length - tail)),
    ...lines(a.slice(a.length - tail), "same"),
  ];
}

/** By the longest list of lines that both have in order. */
function middle(a: readonly string[], b: readonly string[]): readonly DiffLine[] {
  const removed = (text: string): DiffLine => ({ kind: "removed", text });
  const added = (text: string): DiffLine => ({ kind: "added", text });
  const columns = b.length + 1;
  if ((a.length + 1) * columns > MOST_CELLS) return [...a.map(removed), ...b.map(added)];
  const longest = new Uint32Array((a.length + 1) * columns);
  const at = (i: number, j: number): number => longest[i * columns + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      longest[i * columns + j] = a[i] === b[j] ? 1 + at(i + 1, j + 1) : Math.max(at(i + 1, j), at(i, j + 1));
  const out: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    const [left, right] = [a[i], b[j]];
    if (left !== undefined && left === right) {
      out.push({ kind: "same", text: left });
      i += 1;
      j += 1;
    } else if (left !== undefined && (right === undefined || at(i + 1, j) >= at(i, j + 1))) {
      out.push(removed(left));
      i += 1;
    } else if (right !== undefined) {
      out.push(added(right));
      j += 1;
    }
  }
  return out;
}
