// What a server is started with: a key that will not do is named as its field is.
import { expect, it } from "vitest";
import { serverInput } from "./server.ts";

const read = (given: string) => serverInput.safeParse({ models: ["model.gguf"], key: { given } });

it.each(["short", "with a blank", "x".repeat(201), ""])("the key %j is refused by its name", (given) => {
  const issues = read(given).error?.issues ?? [];
  expect(issues.map(({ path, message }) => `${path.join(".")}: ${message}`)).toEqual([
    "key: expected 8 to 200 letters, digits or signs, no blanks",
  ]);
});

it("a key of eight letters will do", () => {
  expect(read("eightlet").data?.key).toEqual({ given: "eightlet" });
});
