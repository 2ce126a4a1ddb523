/** The documentation names files and folders that exist, and links to pages that exist. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { repositoryRoot } from "./oracleProcess.ts";

const pagesBelow = (folder: string): string[] =>
  readdirSync(join(repositoryRoot, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => join(folder, name));
const PAGES = ["README.md", "CHANGELOG.md", "python/sample/README.md", ...pagesBelow("docs")];
const TOP = readdirSync(repositoryRoot).filter((name) => !name.startsWith("."));
/** Made by builds and test runs: not in a fresh clone. */
const MADE = /^(out|release|native\/build|bench\/peers\/node_modules|e2e\/screenshots)/;

/** `main/ir/graph.ts`, not `main/ops/<op>.ts`, `main/*` or `name.test.ts`. */
function pathsIn(page: string): string[] {
  const text = readFileSync(join(repositoryRoot, page), "utf8");
  const named = [...text.matchAll(/`([\w@.-]+(?:\/[\w@.-]+)+)\/?`/g)].map((match) => match[1] ?? "");
  return named.filter((path) => TOP.includes(path.split("/")[0] ?? "") && !MADE.test(path));
}

function linksIn(page: string): string[] {
  const text = readFileSync(join(repositoryRoot, page), "utf8");
  const links = [...text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)|(?:src|srcset)="([^"]+)"/g)];
  return links.map((match) => match[1] ?? match[2] ?? "").filter((link) => !/^[a-z]+:/.test(link));
}

const exists = (path: string): boolean => existsSync(join(repositoryRoot, path));

describe("documentation", () => {
  it("finds paths and links at all", () => {
    expect(pathsIn("README.md")).toContain("main/formats");
    expect(linksIn("README.md")).toContain("docs/architecture.md");
    expect(PAGES.flatMap(pathsIn).length).toBeGreaterThan(50);
  });

  it("keeps the README to what a first visit needs: 150 lines", () => {
    const lines = readFileSync(join(repositoryRoot, "README.md"), "utf8").trimEnd().split("\n");
    expect(lines.length).toBeLessThanOrEqual(150);
  });

  it.each(PAGES)("%s names what exists", (page) => {
    expect(pathsIn(page).filter((path) => !exists(path))).toEqual([]);
    expect(linksIn(page).filter((link) => !exists(join(dirname(page), link)))).toEqual([]);
  });
});
