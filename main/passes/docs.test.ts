import { readFileSync, readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { PASSES } from "./pipeline.ts";

const folder = new URL("../../docs/passes/", import.meta.url);
const pages = readdirSync(folder)
  .filter((name) => name !== "README.md")
  .sort();
const slug = (name: string): string => name.replaceAll(/[^a-z]+/g, "-");

describe("docs/passes", () => {
  it("has one page per pass, in the order of the pipeline", () => {
    expect(pages).toEqual(PASSES.map((pass, i) => `${String(i + 1).padStart(2, "0")}-${slug(pass.name)}.md`));
    const list = readFileSync(new URL("README.md", folder), "utf8");
    for (const page of pages) expect(list).toContain(`(${page})`);
  });

  it.each(PASSES.map((pass, i) => [pass.name, pass, pages[i] ?? ""] as const))(
    "%s: same headings, same reason",
    (_, pass, page) => {
      const text = readFileSync(new URL(page, folder), "utf8");
      expect(text.match(/^#+ .*$/gm)?.slice(1)).toEqual(["## Why", "## Given", "## Result", "## Limits", "## Example"]);
      expect(text).toContain(pass.reason);
    },
  );
});
