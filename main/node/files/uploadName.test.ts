import { expect, it } from "vitest";
import { createUploads, uploadName } from "./uploads.ts";

it.each([
  "",
  ".",
  "..",
  "a/..",
  "/",
  "a\0b",
  "\u001b[31mred.gguf",
  "a\u202egnp.gguf",
  `${"x".repeat(256)}`,
  "é".repeat(128),
])("%j is refused by code", async (name) => {
  const refused = expect.objectContaining({ code: "INPUT_ARGUMENT" }) as Error;
  expect(() => uploadName(name)).toThrow(refused);
  const uploads = createUploads();
  await expect(uploads.begin(name, 10)).rejects.toThrow(refused);
  await uploads.dispose();
});

it.each([
  ["a b.gguf", "a b.gguf"],
  ["C:\\models\\m.gguf", "m.gguf"],
  ["../../etc/passwd", "passwd"],
  ["…模型.gguf", "…模型.gguf"],
])("%j becomes %j", (given, name) => expect(uploadName(given)).toBe(name));
