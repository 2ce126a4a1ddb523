// A tab is one file in renderer/tabs and one line in the list of main/contract/commands.ts: nothing else names them all.
import { expect, it } from "vitest";
import { COMMANDS, TABS } from "../../main/contract/commands.ts";
import { tabOf } from "./tabs.ts";

const sources = import.meta.glob<string>(["../**/*.ts", "../**/*.tsx", "!../tabs/*", "!../**/*.test.*"], {
  query: "?raw",
  import: "default",
  eager: true,
});
const files = Object.keys(import.meta.glob("../tabs/*")).map((path) => /(\w+)\.tsx$/.exec(path)?.[1]);

it("has a file for each line of the list, and a line for each file", () => {
  expect(new Set(files)).toEqual(new Set(TABS.map(({ id }) => id)));
  for (const { id } of TABS) expect(tabOf(id).View, id).toBeTypeOf("function");
});

it("has a command for each, in order, with a number key for the first nine", () => {
  TABS.forEach(({ id, title }, i) => {
    expect(COMMANDS.find((command) => command.id === `view.${id}`)).toMatchObject({
      title: `Show ${title}`,
      keys: i < 9 ? [`Mod+${i + 1}`, `Alt+${i + 1}`] : [],
    });
  });
});

it("touches no other file: none outside renderer/tabs names a tab that has nothing to do with it", () => {
  // Links lead to tabs, so some files name a few; a file that had to know every tab would name these two as well.
  const names = (text: string, id: string): boolean => text.includes(`"${id}"`) || text.includes(`${id}:`);
  const knows = Object.entries(sources).filter(([, text]) =>
    ["overview", "tensors", "bench", "export"].every((id) => names(text, id)),
  );
  expect(Object.keys(sources).length).toBeGreaterThan(100);
  expect(knows.map(([path]) => path)).toEqual([]);
});
