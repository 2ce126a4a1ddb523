import { describe, expect, it } from "vitest";
import { OPS } from "../../main/ops/index.ts";
import { KNOWN_OPS, kindCounts, kindLook, kindOfName, kindOfOp, OP_KINDS } from "./opKinds.ts";

describe("kinds of ops", () => {
  it("are known for every op that there is, and for no other", () => {
    expect(Object.keys(OPS).filter((op) => kindOfOp(op) === "other")).toEqual([]);
    expect(KNOWN_OPS.filter((op) => !(op in OPS) && !["state", "input", "param", "constant"].includes(op))).toEqual([]);
    expect(kindOfOp("linear")).toBe("matmul");
    expect(kindOfOp("mystery")).toBe("other");
  });

  it("of a fused op is that of its first part, of a name that of its last word", () => {
    expect(kindOfOp("linear_add")).toBe("matmul");
    expect(kindOfName("q_rope")).toBe("rope");
    expect(kindOfName("attn_norm")).toBe("norm");
    expect(kindOfName("x")).toBeNull();
  });

  it("are counted without what is not drawn, and each has a sign of its own", () => {
    const [matmul, input] = [OP_KINDS.indexOf("matmul"), OP_KINDS.indexOf("input")];
    expect(kindCounts(Uint8Array.of(0, 1, 0), Uint8Array.of(matmul, input, matmul))).toEqual([
      { kind: "matmul", ops: 2 },
    ]);
    expect(new Set(OP_KINDS.map((kind) => kindLook(kind).glyph)).size).toBe(OP_KINDS.length);
  });
});
