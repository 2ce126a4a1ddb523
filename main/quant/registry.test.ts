/**
 * The list of packed types against the native one: same names, same order. Sizes and bits are
 * compared by unpacking.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { PACKED, PACKED_TYPES, bitsPerWeight } from "./registry.ts";

const path = join(import.meta.dirname, "../../native/src/core/formats/layouts.h");
const layouts = readFileSync(path, "utf8");

it("has the native list's types in its order", () => {
  const [all, coded] = layouts.split(/#define RLX_(?:CODED|WHOLE)_TYPES/u);
  const names = (text = ""): unknown[] => [...text.matchAll(/\bX\((\w+)\)/g)].map(([, name]) => name);
  expect(names(all)).toEqual(PACKED_TYPES);
  expect(names(coded)).toEqual(PACKED_TYPES.filter((type) => PACKED[type].coded !== undefined));
});

it.each(PACKED_TYPES)("%s: the native layout has the same number of elements, and of values in a group", (type) => {
  const [, behind = ""] = layouts.split(`namespace rlx::formats::${type} {`);
  const [own = ""] = behind.split("}  // namespace");
  const { elements, coded } = PACKED[type];
  expect(/kElements = (\d+);/.exec(own)?.[1]).toBe(String(elements));
  expect(/kGroup = (\d+);/.exec(own)?.[1]).toBe(coded && String(coded.group));
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
