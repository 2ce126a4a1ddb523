/** The workflows of the public repository: nothing in them can change without a commit here. */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const folder = join(import.meta.dirname, "../.github/workflows");

it.each(readdirSync(folder))("%s pins every action by its hash and may only read", (name) => {
  const text = readFileSync(join(folder, name), "utf8");
  const used = [...text.matchAll(/uses:\s*(\S+)/g)].map(([, action]) => action);
  expect(used.length).toBeGreaterThan(0);
  for (const action of used) expect(action).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/);
  expect(text).toMatch(/^permissions:\n {2}contents: read\n/m);
});
