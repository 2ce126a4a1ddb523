/** Types of forks and of early files: named, with whose they are, and told apart by their bytes. */
import { describe, expect, it } from "vitest";
import { foreignType, typeByRoom } from "./foreignTypes.ts";
import { ggmlTypeById } from "./types.ts";

describe("types that ggml does not know", () => {
  it.each([
    [4, "q4_2", "taken back"],
    [38, "iq4_nl_8_8", "taken back"],
    [139, "iq4_k", "ik_llama.cpp"],
    [212, "type 212", "ik_llama.cpp, with rows interleaved"],
    [99, "type 99", "not a type of ggml"],
  ])("%i is %s", (id, name, from) => {
    expect(ggmlTypeById(id)).toBeUndefined();
    const type = foreignType(id);
    expect([type.name, type.element, type.blockBytes]).toEqual([name, undefined, 0]);
    expect(type.from).toContain(from);
  });
});

describe("a number with two meanings, by the bytes up to the next tensor", () => {
  // 4096 values; the next tensor begins at a multiple of 32.
  const at = (id: number, room: number): string => typeByRoom(ggmlTypeById(id) ?? foreignType(id), 4096, room, 32).name;

  it.each([
    [4, 2176, "mxfp4 (as 4)"], // 128 blocks of 17 bytes
    [4, 2304, "q4_2"], // of 18
    [36, 1056, "i2_s"],
    [36, 2304, "iq4_nl_4_4"],
    [42, 1152, "q2_0"], // 64 blocks of 18 bytes
    [42, 1088, "q2_0 (128)"], // 32 blocks of 34
    [42, 1119, "q2_0 (128)"],
    [42, 1120, "q2_0"],
    [41, 576, "q1_0"],
    [12, 1088, "q4_k"],
  ])("%i with %i bytes is %s", (id, room, name) => {
    expect(at(id, room)).toBe(name);
  });

  it("a type of a fork has a reason and no values", () => {
    const type = typeByRoom(ggmlTypeById(42)!, 4096, 1088, 32);
    expect(type).toMatchObject({ element: undefined, blockBytes: 0 });
    expect(type.from).toContain("PrismML");
  });
});
