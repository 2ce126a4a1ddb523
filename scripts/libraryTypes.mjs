// The types of the library: declarations of its two doors and of what they name, in out/library/types.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { npmProgram, root, runCaptured } from "./lib/process.mjs";

const doors = ["library/index", "node/library/index"];
/** The drawing of graphs stands beside main, and is declared beside it. */
const all = join(root, ".cache/libraryTypes");
const declared = join(all, "main");
const target = join(root, "out/library/types");

/** In declarations every import stands behind `from` or in `import(…)`. */
const imported = /(\bfrom |\bimport\()"(\.[^"]*)\.[tj]s"/g;

/** Gives what went wrong, or nothing. */
export async function writeLibraryTypes() {
  rmSync(all, { recursive: true, force: true });
  mkdirSync(all, { recursive: true });
  const config = join(all, "tsconfig.json");
  const options = {
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    outDir: all,
    rootDir: root,
  };
  const files = doors.map((door) => join(root, "main", `${door}.ts`));
  const settings = { extends: join(root, "main/tsconfig.json"), compilerOptions: options, include: [], files };
  writeFileSync(config, JSON.stringify(settings));
  const { code, output } = await runCaptured(npmProgram("tsc"), ["-p", config]);
  if (code !== 0) return output.trim();
  rmSync(target, { recursive: true, force: true });
  const named = new Set(doors.map((door) => `${door}.d.ts`));
  for (const file of named) {
    const path = join(declared, file);
    if (!existsSync(path)) return `${file} is named by the library's types and has none`;
    const text = readFileSync(path, "utf8").replace(imported, (_, before, specifier) => {
      named.add(relative(declared, resolve(dirname(path), `${specifier}.d.ts`)).replaceAll("\\", "/"));
      return `${before}"${specifier}.js"`;
    });
    mkdirSync(dirname(join(target, file)), { recursive: true });
    writeFileSync(join(target, file), text);
  }
  return undefined;
}
