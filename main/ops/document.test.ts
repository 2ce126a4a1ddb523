import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { opsDocument } from "./document.ts";
import { OPS } from "./index.ts";

describe("docs/ops.md", () => {
  it("is what `npm run ops:docs` writes: a change of support shows up as a difference", () => {
    expect(readFileSync(new URL("../../docs/ops.md", import.meta.url), "utf8")).toBe(opsDocument());
  });
  it("has a section for every op", () => {
    for (const name of Object.keys(OPS)) expect(opsDocument()).toContain(`\n### ${name}\n`);
  });
});
