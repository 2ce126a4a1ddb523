/** Electron allows no native memory behind an ArrayBuffer: with this definition Node's headers do not offer the calls that make one. */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const native = join(import.meta.dirname, "../../../native");
const folders = ["", ...readdirSync(join(native, "src")).map((name) => join("src", name))];

/** What CMake calls with, by command: comments dropped, one string of words for each call. */
function calls(text: string, command: string): string[] {
  const lines = text.replaceAll(/#.*$/gmu, "");
  return [...lines.matchAll(new RegExp(`\\b${command}\\s*\\(([^)]*)\\)`, "gu"))].map(([, words = ""]) =>
    words.trim().replaceAll(/\s+/gu, " "),
  );
}

test("every addon is compiled without external ArrayBuffers", () => {
  const addons: string[] = [];
  for (const file of folders
    .map((folder) => join(native, folder, "CMakeLists.txt"))
    .filter((path) => existsSync(path))) {
    const text = readFileSync(file, "utf8");
    const definitions = calls(text, "target_compile_definitions").map((call) => call.split(" "));
    for (const [name, kind] of calls(text, "add_library").map((call) => call.split(" "))) {
      if (name === undefined || kind !== "MODULE") continue;
      addons.push(name);
      const words = definitions.filter(([target]) => target === name).flat();
      expect(words, file).toContain("NODE_API_NO_EXTERNAL_BUFFERS_ALLOWED");
    }
  }
  expect(addons.sort()).toEqual(["rlx", "rlx_coreml", "rlx_mlx"]);
});
