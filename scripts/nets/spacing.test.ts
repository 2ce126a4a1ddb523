/** Space in the window comes from the scale in renderer/tokens.css. A size of one thing is not space and is listed here. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { root } from "./net.ts";

const SPACE = /^\s*(?:padding|margin|gap|row-gap|column-gap)[a-z-]*:([^;]*);/gmu;
/** Hairlines may be 1px. */
const RAW = /(?<![\d.])(?!1px)\d*\.?\d+(?:px|r?em)\b/u;
/** The room of the Mac's window buttons, and of the count of hits in a search field. */
const SIZES = new Set(["84px", "74px"]);

const renderer = join(root, "renderer");
const rawSpaces = (css: string): readonly string[] =>
  [...css.matchAll(SPACE)].flatMap(([, value = ""]) =>
    RAW.test(value) && !SIZES.has(value.trim()) ? [value.trim()] : [],
  );

it("finds a raw size, and leaves the scale, hairlines and listed sizes alone", () => {
  expect(rawSpaces(".a {\n  padding: 5px var(--s2);\n  gap: 0 1px;\n  margin: calc(-1 * var(--s1));\n}")).toEqual([
    "5px var(--s2)",
  ]);
  expect(rawSpaces(".a {\n  padding-left: 84px;\n  margin: 0.5em 0;\n}")).toEqual(["0.5em 0"]);
});

it("the window's styles use the scale", () => {
  const files = readdirSync(renderer, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".css"));
  const raw = files.flatMap((file) =>
    rawSpaces(readFileSync(join(renderer, file), "utf8")).map((value) => `${file}: ${value}`),
  );
  expect(files.length).toBeGreaterThan(20);
  expect(raw).toEqual([]);
});
