/** Licence texts in the bundles: which package a module belongs to, and what is written of it. */
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "vite";
import { expect, it } from "vitest";
import {
  ALL_LICENSES_FILE,
  LICENSES_FILE,
  licensesPlugin,
  licensesText,
  packageFolder,
  writeAllLicenses,
} from "./licenses.mjs";

it.each([
  ["/a/node_modules/zod/v4/index.js", "/a/node_modules/zod"],
  ["/a/node_modules/@x/y/dist/i.js?worker", "/a/node_modules/@x/y"],
  ["\0/a/node_modules/x/node_modules/y/i.js", "/a/node_modules/x/node_modules/y"],
  ["/a/main/ir/graph.ts", undefined],
])("the package of %s", (id, folder) => expect(packageFolder(id)).toBe(folder));

function packageWith(files: Readonly<Record<string, string>>): string {
  const folder = join(mkdtempSync(join(tmpdir(), "licenses-")), "node_modules", "some");
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

it("a bundle names what it took in with its text, and nothing else", async () => {
  const folder = packageWith({
    "package.json": '{"name":"some","version":"1.2.3","license":"MIT","type":"module","main":"index.js"}',
    "index.js": "export const x = Math.random();",
    "LICENSE.md": "Permission is hereby granted",
    "README.md": "not this",
  });
  const entry = join(folder, "../../entry.js");
  writeFileSync(entry, 'import { x } from "./node_modules/some/index.js";\nconsole.log(x);');
  const made = await build({
    configFile: false,
    logLevel: "error",
    plugins: [licensesPlugin()],
    build: { ssr: entry, write: false },
    ssr: { noExternal: true },
  });
  const outputs = (Array.isArray(made) ? made : [made]).flatMap((part) => ("output" in part ? part.output : []));
  const text = outputs.find(({ fileName }) => fileName === LICENSES_FILE);
  expect(text?.type === "asset" ? String(text.source) : "").toMatch(
    /^-+\nsome 1\.2\.3 \(MIT\)\n-+\nPermission is hereby granted\n$/,
  );
});

it("the window gets our licence, the notice, and each package of every bundle once", () => {
  const root = mkdtempSync(join(tmpdir(), "licenses-"));
  const packages = ["b", "a"].map((name) =>
    packageWith({ "package.json": `{"name":"${name}","version":"1.0.0","license":"MIT"}`, LICENSE: `Text of ${name}` }),
  );
  for (const program of ["engine", "renderer", "empty"]) mkdirSync(join(root, "out", program), { recursive: true });
  writeFileSync(join(root, "LICENSE"), "Ours\n");
  writeFileSync(join(root, "NOTICE"), "Facts from others\n");
  writeFileSync(join(root, "out/engine", LICENSES_FILE), String(licensesText(packages)));
  writeFileSync(join(root, "out/renderer", LICENSES_FILE), String(licensesText(packages.slice(0, 1))));
  writeAllLicenses(root);
  const text = readFileSync(join(root, "out/renderer", ALL_LICENSES_FILE), "utf8");
  expect(text).toMatch(/^Ours\n\nFacts from others\n\n-+\na 1\.0\.0 \(MIT\)\n-+\nText of a\n\n-+\nb 1\.0\.0/);
  expect(text.match(/Text of b/g)).toHaveLength(1);
});

it("a package without a text is named with what it declares", () => {
  const folder = packageWith({ "package.json": '{"name":"bare","version":"1.0.0","license":"ISC"}' });
  expect(licensesText([folder])).toContain("Its package declares ISC and has no text.");
});
