// The list of models that were dropped or lie in a folder: of two that the engine can read, it offers to measure both.
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { createStore } from "zustand/vanilla";
import { StoreProvider } from "../../session/context.tsx";
import { ChoiceList } from "./ChoiceList.tsx";
import type { Choice } from "./slice.ts";

type Option = Choice["options"][number];

const at = (name: string, problem: string | null = null): Option => ({
  ...{ name, detail: "/m", bytes: 5, problem },
  source: { kind: "path", path: `/m/${name}` },
});
/** Of a page, which has no path. */
const inPage = (name: string): Option => ({
  ...at(name),
  source: { kind: "file", dropped: { file: new File(["x"], name), folder: null, beside: new Map() } },
});

const textOf = (options: readonly Option[]): string =>
  renderToStaticMarkup(
    <StoreProvider store={createStore(() => ({ choose: () => undefined }) as never)}>
      <ChoiceList choice={{ title: "Models", note: null, options }} onMeasure={() => undefined} />
    </StoreProvider>,
  );

it.each([
  ["two files", [at("a.gguf"), at("b.gguf")], true],
  ["two that can be read and one that cannot", [at("a.gguf"), at("b.gguf"), at("c.gguf", "damaged")], true],
  ["one that can be read", [at("a.gguf"), at("b.gguf", "damaged")], false],
  ["three files", [at("a.gguf"), at("b.gguf"), at("c.gguf")], false],
  ["files of a page", [inPage("a.gguf"), inPage("b.gguf")], false],
])("of %s", (_of, options, offers) => {
  const text = textOf(options);
  expect(text.includes("Which of the two is faster here?")).toBe(offers);
  for (const { name } of options) expect(text).toContain(name);
});
