/** The difference of two answers, word by word: longest common subsequence between the parts that are equal at both ends. */
export interface DiffPart {
  readonly kind: "same" | "left" | "right";
  readonly text: string;
}

/**
 * Above this many cells the middle counts as one difference: the table must not block the window.
 */
const MAX_CELLS = 4_000_000;

const words = (text: string): readonly string[] => text.match(/\s+|[^\s\p{P}]+|\p{P}/gu) ?? [];

export function diffWords(left: string, right: string): readonly DiffPart[] {
  const [a, b] = [words(left), words(right)];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const parts: DiffPart[] = [];
  const push = (kind: DiffPart["kind"], text: string): void => {
    if (text === "") return;
    const last = parts.at(-1);
    if (last?.kind === kind) parts[parts.length - 1] = { kind, text: last.text + text };
    else parts.push({ kind, text });
  };
  push("same", a.slice(0, start).join(""));
  for (const part of middle(a.slice(start, a.length - end), b.slice(start, b.length - end))) push(part.kind, part.text);
  push("same", a.slice(a.length - end).join(""));
  return joinGaps(parts);
}

/** A space between two words that both differ belongs to the difference: one mark for a phrase, not one for each word. */
function joinGaps(parts: readonly DiffPart[]): readonly DiffPart[] {
  const joined: DiffPart[] = [];
  let [left, right] = ["", ""];
  const flush = (): void => {
    if (left !== "") joined.push({ kind: "left", text: left });
    if (right !== "") joined.push({ kind: "right", text: right });
    [left, right] = ["", ""];
  };
  parts.forEach((part, i) => {
    if (part.kind === "left") left += part.text;
    else if (part.kind === "right") right += part.text;
    else if (i > 0 && i < parts.length - 1 && part.text.trim() === "") {
      left += part.text;
      right += part.text;
    } else {
      flush();
      joined.push(part);
    }
  });
  flush();
  return joined;
}

function middle(a: readonly string[], b: readonly string[]): readonly DiffPart[] {
  const width = b.length + 1;
  if ((a.length + 1) * width > MAX_CELLS)
    return [
      { kind: "left", text: a.join("") },
      { kind: "right", text: b.join("") },
    ];
  // lengths[i, j]: longest common subsequence of a[i…] and b[j…].
  const lengths = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number): number => lengths[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      lengths[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const parts: DiffPart[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    const [left, right] = [a[i], b[j]];
    if (left !== undefined && left === right) {
      parts.push({ kind: "same", text: left });
      i++;
      j++;
    } else if (left !== undefined && (right === undefined || at(i + 1, j) >= at(i, j + 1))) {
      parts.push({ kind: "left", text: left });
      i++;
    } else if (right !== undefined) {
      parts.push({ kind: "right", text: right });
      j++;
    }
  }
  return parts;
}
