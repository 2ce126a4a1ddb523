// The types of the library: declarations of its two doors and of what they name, in out/library/types.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { npmProgram, root, runCaptured } from "./lib/process.mjs";

const doors = ["library/index.d.ts", "node/library/index.d.ts"];
const all = join(root, ".cache/libraryTypes");
const target = join(root, "out/library/types");

/** In declarations every import stands behind `from` or in `import(…)`. */
const imported = /(\bfrom |\bimport\()"(\.[^"]*)\.[tj]s"/g;

/** Gives what went wrong, or nothing. */
export async function writeLibraryTypes() {
  rmSync(all, { recursive: true, force: true });
  const options = ["--noEmit", "false", "--declaration", "--emitDeclarationOnly"];
  const places = ["--rootDir", "main", "--outDir", all];
  const { code, output } = await runCaptured(npmProgram("tsc"), [
    "-p",
    "main/tsconfig.library.json",
    ...options,
    ...places,
  ]);
  if (code !== 0) return output.trim();
  rmSync(target, { recursive: true, force: true });
  const files = new Set(doors);
  for (const file of files) {
    const path = join(all, file);
    if (!existsSync(path)) return `${file} is named by the library's types and has none`;
    const text = readFileSync(path, "utf8").replace(imported, (_, before, specifier) => {
      files.add(relative(all, resolve(dirname(path), `${specifier}.d.ts`)).replaceAll("\\", "/"));
      return `${before}"${specifier}.js"`;
    });
    mkdirSync(dirname(join(target, file)), { recursive: true });
    writeFileSync(join(target, file), text);
  }
  return undefined;
}
