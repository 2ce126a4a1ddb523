/**
 * The tables of the IQ types against published hashes of ggml's, and the native ones against these.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { GridName } from "./grid.ts";
import { eightSigns, grid } from "./grid.ts";
import { GRIDS } from "./grids.ts";

const hash = (bytes: Uint8Array | Int8Array): string => createHash("sha256").update(bytes).digest("hex").slice(0, 16);

describe("ggml's tables", () => {
  it.each<[GridName, string]>([
    ["iq1_s", "07540ffc1aeaf6ad"],
    ["iq2_xxs", "05826b5d3e472a3a"],
    ["iq2_xs", "06e47aaca60b4dc1"],
    ["iq2_s", "e1aa1473412b0552"],
    ["iq3_xxs", "46e35f5a997efdee"],
    ["iq3_s", "bd1af4945a1717c6"],
  ])("%s", (name, expected) => {
    expect(hash(grid(name))).toBe(expected);
  });

  it("eight signs from seven bits", () => {
    expect(hash(Uint8Array.from({ length: 128 }, (_, seven) => eightSigns(seven)))).toBe("a76742a603f8beca");
  });

  it("the native tables have the same entries and values", () => {
    const header = readFileSync(join(import.meta.dirname, "../../native/src/core/formats/grids.h"), "utf8");
    const lists = [...header.matchAll(/ (k\w+)\[\d*\] = \{([^}]*)\}/g)].map(
      ([, name, list]) => [name, (list ?? "").split(",").map(Number)] as const,
    );
    const native = Object.fromEntries(lists);
    for (const [name, { entries, values }] of Object.entries(GRIDS)) {
      const spelled = `k${name.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())}`;
      expect(native[spelled], spelled).toEqual(entries.match(/.{4}/g)?.map((word) => Number.parseInt(word, 16)));
      expect(native[`${spelled}Values`], spelled).toEqual(values);
    }
  });
});
