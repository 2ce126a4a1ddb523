// Rows of a grouped list, and the way back from a tensor to its row.
import { describe, expect, it } from "vitest";
import { listLayout } from "./listLayout.ts";

const GROUPS = [
  { key: "a", tensors: 2 },
  { key: "b", tensors: 3 },
  { key: "c", tensors: 1 },
];

describe("the rows of a list", () => {
  it("are the tensors where there are no groups", () => {
    const { rows, at, rowOf } = listLayout([], new Set(), 7);
    expect([rows, at(3), rowOf(6)]).toEqual([7, { kind: "tensor", index: 3 }, 6]);
  });

  it("have a head before each group, whose tensors may be folded away", () => {
    const shown = ({ rows, at }: ReturnType<typeof listLayout>): string =>
      Array.from({ length: rows }, (_, row) => {
        const each = at(row);
        return each.kind === "head" ? GROUPS[each.group]!.key : each.index;
      }).join(" ");
    expect(shown(listLayout(GROUPS, new Set(), 6))).toBe("a 0 1 b 2 3 4 c 5");
    expect(shown(listLayout(GROUPS, new Set(["b"]), 6))).toBe("a 0 1 b c 5");
    expect(shown(listLayout(GROUPS, new Set(["a", "b", "c"]), 6))).toBe("a b c");
  });

  it("find a tensor again", () => {
    const { at, rowOf } = listLayout(GROUPS, new Set(["b"]), 6);
    for (const index of [0, 1, 5]) expect(at(rowOf(index)!)).toEqual({ kind: "tensor", index });
    expect([2, 3, 4].map(rowOf)).toEqual([null, null, null]);
  });
});
