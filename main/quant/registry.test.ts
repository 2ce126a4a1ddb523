/**
 * The list of packed types against the native one: same names, same order. Sizes and bits are
 * compared by unpacking.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { PACKED, PACKED_TYPES, bitsPerWeight } from "./registry.ts";

const native = join(import.meta.dirname, "../../native/src/core/formats");

it("has the native list's types in its order", () => {
  const list = readFileSync(join(native, "all.h"), "utf8");
  expect([...list.matchAll(/\bX\((\w+)\)/g)].map(([, name]) => name)).toEqual(PACKED_TYPES);
});

it.each(PACKED_TYPES)("%s: the native header has the same number of elements", (type) => {
  const header = readFileSync(join(native, `${type}.h`), "utf8");
  expect(/kElements = (\d+);/.exec(header)?.[1]).toBe(String(PACKED[type].elements));
});

it.each(PACKED_TYPES)("%s: rows of 256 are whole blocks, and factors lie inside a block", (type) => {
  const { elements, bytes, factors } = PACKED[type];
  expect(256 % elements).toBe(0);
  expect(factors.every((at) => at + 2 <= bytes)).toBe(true);
});

it("counts the scales in the bits of a weight", () => {
  expect(bitsPerWeight("q4_0")).toBe(4.5);
  expect(bitsPerWeight("q6_k")).toBe(6.5625);
});
