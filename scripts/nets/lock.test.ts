/** The lock files: a missing platform, a missing hash and a host that leaked in, in each of them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { lockProblems, perPlatform } from "../lockCheck.mjs";
import { lockFiles, root } from "./net.ts";

interface Entry {
  readonly [key: string]: unknown;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}
type Packages = Readonly<Record<string, Entry>>;

const locks = new Map(
  lockFiles.map((file) => [
    file,
    (JSON.parse(readFileSync(join(root, file), "utf8")) as { packages: Packages }).packages,
  ]),
);
const problems = (packages: Packages): string[] => lockProblems(JSON.stringify({ packages }));
const nameOf = (path: string): string => path.split("node_modules/").at(-1)!;

/** As if the registry had never heard of the packages `gone`: nothing names them as optional any more. */
function without(packages: Packages, gone: (name: string) => boolean): Packages {
  const kept = <T>(entries: Readonly<Record<string, T>>): Record<string, T> =>
    Object.fromEntries(Object.entries(entries).filter(([path]) => !gone(nameOf(path))));
  return Object.fromEntries(
    Object.entries(kept(packages)).map(([path, entry]) => [
      path,
      { ...entry, optionalDependencies: kept(entry.optionalDependencies ?? {}) },
    ]),
  );
}

const families = perPlatform.map(({ tool, binaries }) => {
  const lock = [...locks].find(([, packages]) => packages[`node_modules/${tool}`]);
  return { tool, binaries, file: lock?.[0], packages: lock?.[1] ?? {} };
});
const platforms = [
  { system: "Macs", here: /(darwin|mac)-arm64/, says: "(darwin|mac)-arm64" },
  { system: "Linux", here: /linux-x64/, says: "linux-x64" },
];

describe.each([...locks])("%s", (_, packages) => {
  it("passes as it is", () => expect(problems(packages)).toEqual([]));

  const [path, entry] = Object.entries(packages).find(([name]) => name.startsWith("node_modules/"))!;
  it("has a hash for every package", () => {
    const { integrity: _hash, ...unsure } = entry;
    expect(problems({ ...packages, [path]: unsure })).toEqual([`${path} has no integrity hash`]);
  });
  it("names no host", () => {
    const leaked = { ...entry, resolved: "https://example.org/x" };
    expect(problems({ ...packages, [path]: leaked })).toEqual([
      `${path} names the host it came from (https://example.org/x)`,
    ]);
  });

  const optional = Object.keys(packages).find((name) => /(darwin|mac)-arm64/.test(name))!;
  it("has every optional package that another names", () => {
    const { [optional]: _mac, ...others } = packages;
    expect(problems(others)).toContainEqual(expect.stringMatching(`lacks its optional package ${nameOf(optional)}$`));
  });
});

describe("binaries per platform", () => {
  it.each(families)("$tool is still locked", ({ file }) => expect(file).toBeDefined());

  describe.each(platforms)("for $system", ({ here, says }) => {
    it.each(families)("of $tool", ({ tool, binaries, packages }) => {
      const found = problems(without(packages, (name) => binaries.test(name) && here.test(name)));
      expect(found).toEqual([`${tool} has no binary for ${says}`]);
    });
  });

  it.each(families)("of $tool at all", ({ tool, binaries, packages }) => {
    const found = problems(without(packages, (name) => binaries.test(name)));
    expect(found).toEqual(platforms.map(({ says }) => `${tool} has no binary for ${says}`));
  });
});
