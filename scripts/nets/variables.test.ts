/** Every variable that the window's styles and drawings name is set somewhere: one that is not gives black text and no focus ring. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { root } from "./net.ts";

const USED = /var\(\s*(--[a-z][a-z0-9-]*)/gu;
/** "--ink: #fff", and in scripts a property or a name that is handed on: { "--digits": 5 }, "--ink-3". */
const SET_IN_CSS = /(--[a-z][a-z0-9-]*)\s*:/gu;
const SET_IN_SCRIPT = /["'`](--[a-z][a-z0-9-]*)["'`]/gu;

const namesIn = (text: string, form: RegExp): readonly string[] =>
  [...text.matchAll(form)].map(([, name = ""]) => name);

function unset(files: readonly { readonly name: string; readonly text: string }[]): readonly string[] {
  const set = new Set(
    files.flatMap(({ name, text }) => namesIn(text, name.endsWith(".css") ? SET_IN_CSS : SET_IN_SCRIPT)),
  );
  return files.flatMap(({ name, text }) =>
    [...new Set(namesIn(text, USED))].filter((used) => !set.has(used)).map((used) => `${name}: ${used}`),
  );
}

it("finds a variable that nothing sets", () => {
  const css = {
    name: "a.css",
    text: ":root { --ink: #000; }\n.a { color: var(--ink); width: calc(var(--digits) * 1ch); }",
  };
  const drawing = { name: "a.tsx", text: '<i style={{ "--digits": 5 }} /><text fill="var(--ink-quiet)" />' };
  expect(unset([css, drawing])).toEqual(["a.tsx: --ink-quiet"]);
});

it("the window's variables are all set", () => {
  const renderer = join(root, "renderer");
  const files = readdirSync(renderer, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.(?:css|tsx?)$/u.test(name))
    .map((name) => ({ name, text: readFileSync(join(renderer, name), "utf8") }));
  expect(files.length).toBeGreaterThan(200);
  expect(unset(files)).toEqual([]);
});
