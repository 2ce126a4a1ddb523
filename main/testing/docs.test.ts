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
const PROSE = [...PAGES, "CONTRIBUTING.md", "SECURITY.md", ...pagesBelow(".github")];
/** `document.ts` writes it, each summary on a line. */
const GENERATED = join("docs", "ops.md");
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

/** Lines over 100 characters outside code and tables, without addresses of links and HTML tags. */
function wideLines(text: string): string[] {
  const prose = text.replace(/^ *```[^]*?^ *```$/gm, "").replace(/\]\([^)]*\)|<(?!!--)[^>]*>/g, "");
  return prose.split("\n").filter((line) => [...line].length > 100 && !/^(?:\s*\|| {4})/.test(line));
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

  it("sees a line that is too wide, but not a table, code or a link", () => {
    const wide = "word ".repeat(21);
    expect(wideLines(`${wide}\n| ${wide} |\n\n\`\`\`sh\n${wide}\n\`\`\`\n[page](${"a".repeat(100)})`)).toEqual([wide]);
  });

  it.each(PROSE.filter((page) => page !== GENERATED))("%s wraps at 100 characters", (page) => {
    expect(wideLines(readFileSync(join(repositoryRoot, page), "utf8"))).toEqual([]);
  });

  it.each(PAGES)("%s names what exists", (page) => {
    expect(pathsIn(page).filter((path) => !exists(path))).toEqual([]);
    expect(linksIn(page).filter((link) => !exists(join(dirname(page), link)))).toEqual([]);
  });
});
