import { describe, expect, it } from "vitest";
import { NameTable } from "./names.ts";

const claimed = (...wishes: readonly string[]): readonly string[] => {
  const names = new NameTable();
  return wishes.map((wish) => names.claim(wish));
};

describe("names of a program", () => {
  it("are the wishes where they can be", () => expect(claimed("a", "b_1", "_c")).toEqual(["a", "b_1", "_c"]));

  it("get a number when they are taken, also by a numbered name", () =>
    expect(claimed("mul", "mul", "mul_1", "mul", "mul_1")).toEqual(["mul", "mul_1", "mul_1_1", "mul_2", "mul_1_2"]));

  it("are made valid, and stay apart from names that were", () =>
    expect(claimed("blk.0.q", "blk_0_q", "blk-0-q", "1st", "main", "v_main", "")).toEqual([
      "blk_0_q",
      "blk_0_q_1",
      "blk_0_q_2",
      "v_1st",
      "v_main",
      "v_main_1",
      "v_",
    ]));

  it("are cut when they are long, and stay apart", () => {
    const long = "x".repeat(130);
    const [first = "", second = "", third = ""] = claimed(long, long, `${"x".repeat(120)}_1`);
    expect([first.length, second.length]).toEqual([120, 122]);
    expect(new Set([first, second, third]).size).toBe(3);
  });
});
