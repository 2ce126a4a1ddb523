// docs/kinds.md names operations that are there.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { repositoryRoot } from "../testing/oracleProcess.ts";
import { OPS } from "./index.ts";

it("the page about kinds names operations of the table", () => {
  const rows = readFileSync(join(repositoryRoot, "docs/kinds.md"), "utf8")
    .split("\n")
    .filter((line) => line.startsWith("| ") && !line.startsWith("| Kind"));
  expect(rows.length).toBeGreaterThan(30);
  const named = rows.flatMap((row) => [...row.matchAll(/`([a-z0-9_]+)`/gu)].map(([, name = ""]) => name));
  expect(named.filter((name) => !(name in OPS))).toEqual([]);
});
