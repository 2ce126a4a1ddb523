/** The rows of a grouped list: heads of groups, and tensors as the engine counts them, which has a group's one after the other. */
export type ListRow =
  | { readonly kind: "head"; readonly group: number }
  /** `index` is the tensor's place in the engine's list. */
  | { readonly kind: "tensor"; readonly index: number };

export interface ListLayout {
  readonly rows: number;
  readonly at: (row: number) => ListRow;
  /** Where a tensor's row is; null in a folded group. */
  readonly rowOf: (index: number) => number | null;
}

export function listLayout(
  groups: readonly { readonly key: string; readonly tensors: number }[],
  folded: ReadonlySet<string>,
  tensors: number,
): ListLayout {
  if (groups.length === 0)
    return { rows: tensors, at: (row) => ({ kind: "tensor", index: row }), rowOf: (index) => index };
  /** Of each group its head's row, and its first tensor. */
  const heads: number[] = [];
  const firsts: number[] = [];
  let [rows, index] = [0, 0];
  for (const { key, tensors: own } of groups) {
    heads.push(rows);
    firsts.push(index);
    rows += 1 + (folded.has(key) ? 0 : own);
    index += own;
  }
  return {
    rows,
    at: (row) => {
      const group = lastUpTo(heads, row);
      const within = row - (heads[group] ?? 0);
      return within === 0 ? { kind: "head", group } : { kind: "tensor", index: (firsts[group] ?? 0) + within - 1 };
    },
    rowOf: (asked) => {
      const group = lastUpTo(firsts, asked);
      if (folded.has(groups[group]?.key ?? "")) return null;
      return (heads[group] ?? 0) + 1 + asked - (firsts[group] ?? 0);
    },
  };
}

/** The last place whose number is not larger. */
function lastUpTo(numbers: readonly number[], value: number): number {
  let [low, high] = [0, numbers.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((numbers[middle] ?? 0) <= value) low = middle;
    else high = middle - 1;
  }
  return low;
}
