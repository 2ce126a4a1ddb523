// Names of files: with the folder only where a name alone would not do.
import { expect, it } from "vitest";
import { fileTitles } from "./fileTitles.ts";

it("names the folder of files whose names are the same, and of no other", () => {
  const titles = fileTitles(["/a/q4.gguf", "/b/q4.gguf", "/b/other.gguf", "/b/other.gguf", "/q4.gguf"]);
  expect([...titles.values()]).toEqual(["q4.gguf in /a", "q4.gguf in /b", "other.gguf", "q4.gguf in /"]);
});
