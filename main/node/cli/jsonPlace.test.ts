/** Places of faults in a spec's text, and what its errors say. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { valuePlace } from "./jsonPlace.ts";
import { textReader } from "../../testing/textReader.ts";
import { specOf } from "./trainSpec.ts";

const TEXT = `{
  "recipe": "digits",
  "a": [1, {"b": "x,}]", "c": [true, null]}, -2.5e3],
  "fields": { "width": 9 }
}`;

it("finds every value by its keys, whatever stands in texts before it", () => {
  const places: readonly [path: (string | number)[], line: number, column: number][] = [
    [[], 1, 1],
    [["recipe"], 2, 13],
    [["a"], 3, 8],
    [["a", 1, "b"], 3, 18],
    [["a", 1, "c", 1], 3, 38],
    [["a", 2], 3, 46],
    [["fields", "width"], 4, 24],
    // What is missing stands where it should be.
    [["fields", "depth"], 4, 13],
    [["a", 7], 3, 8],
  ];
  for (const [path, line, column] of places) expect(valuePlace(TEXT, path), path.join(".")).toEqual({ line, column });
});

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "rlx-spec-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

it.each([
  ['{\n  "recipe": "digits",\n  "steps": 0\n}', ":3:12: steps: "],
  [
    '{"recipe": "digits",\n "optimizer": {"name": "adam", "beta": 1}}',
    ":2:40: optimizer.beta: no field of a spec has this name",
  ],
  ['{"recipe": "digits",\n}', ":2:1: got text that is no JSON"],
  ['{"recipe": "digits"', ":1:20: got text that is no JSON"],
  ["[]", ":1:1: spec: "],
])("names line and column of what is wrong in %j", async (text, says) => {
  const path = join(folder, "spec.json");
  await writeFile(path, text);
  const read = specOf(path, {}, textReader());
  await expect(read).rejects.toMatchObject({
    code: "INPUT_ARGUMENT",
    message: expect.stringContaining(`spec.json${says}`) as string,
  });
});

it("is a recipe's name with options on top, which take what the file says further", async () => {
  expect(await specOf("linear", { steps: "3", field: ["loss=mean", "x=2"] }, textReader())).toEqual({
    ...{ recipe: "linear", steps: 3 },
    fields: { loss: "mean", x: 2 },
  });
  const path = join(folder, "own.json");
  await writeFile(path, '{"recipe": "characters", "sample": {"every": 5, "prompt": "A"}, "fields": {"width": 32}}');
  expect(await specOf(path, { prompt: "B", field: ["layers=1"] }, textReader())).toEqual({
    recipe: "characters",
    sample: { every: 5, prompt: "B" },
    fields: { width: 32, layers: 1 },
  });
});
