/** Long runs through the engine: the sample model's own recipe from random weights, and ten thousand steps that leave nothing behind. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { StreamItemOf } from "../../contract/contract.ts";
import type { TrainSpecInput } from "../../contract/views/train.ts";
import { findMlxEngine } from "../../node/native/mlxAddon.ts";
import { reasonNotFound } from "../../testing/skipping.ts";
import type { Harness } from "../../testing/engineHarness.ts";
import { engineHarness } from "../../testing/engineHarness.ts";
import type { Look } from "../../testing/growth.ts";
import { growth, lookAtMemory } from "../../testing/growth.ts";

const SAMPLE = fileURLToPath(new URL("../../../assets/models/rlx-sample.gguf", import.meta.url));
const RECIPE = new URL("../../../python/sample/recipe.json", import.meta.url);
const STEPS = 10_000;
const LOOKS = 10;
/** Bytes of a step: a result that stayed would be more, and a batch of 8 points has 128. */
const MOST_HELD = 64;
/** Pages of the process come and go; what the engine kept of each step would be more. */
const MOST_PAGES = 512;

type Item = StreamItemOf<"train.start">;
const ofKind = <K extends Item["kind"]>(items: readonly Item[], kind: K): Extract<Item, { readonly kind: K }>[] =>
  items.filter((item): item is Extract<Item, { readonly kind: K }> => item.kind === kind);

let harness: Harness;
beforeAll(async () => {
  harness = await engineHarness();
});
afterAll(() => harness.done());

it("runs the sample model's own recipe, shortened: from chance, and each step lowers the loss", async () => {
  const spec = JSON.parse(await readFile(RECIPE, "utf8")) as TrainSpecInput;
  const chat = join(harness.folder, "one.jsonl");
  const says = (role: string, content: string): object => ({ role, content });
  await writeFile(chat, JSON.stringify({ messages: [says("user", "Hello"), says("assistant", "Hello, Ann.")] }));
  const items = await harness.all("train.start", {
    ...{ ...spec, steps: 2, batch: 1, validation: { every: 0 }, sample: { every: 0 } },
    ...{ model: { kind: "path", path: SAMPLE }, data: { kind: "path", path: chat } },
    // One layer of random weights and its embedding: the others are those of the file.
    fields: { ...spec.fields, context: 16, tensors: "blk.0., token_embd" },
  });
  expect(ofKind(items, "done")[0]).toMatchObject({ state: "done", steps: 2 });
  const losses = ofKind(items, "steps").flatMap(({ loss }) => [...loss]);
  expect(losses[0]).toBeGreaterThan(5);
  expect(losses[1]).toBeLessThan(losses[0]!);
});

/** Where the update runs, and on what. */
const PATHS: readonly (readonly [title: string, spec: Pick<TrainSpecInput, "device" | "fused">])[] = [
  ["fused on the cpu", {}],
  ["beside the cpu", { fused: false }],
  ["on mlx", { device: "mlx" }],
];

const noMlx = reasonNotFound(findMlxEngine());

describe("ten thousand steps leave no growth of memory", () => {
  it.each(PATHS.filter(([, { device }]) => device !== "mlx"))("%s", (_, spec) => takesSteps(spec));
  it.skipIf(noMlx !== undefined).each(PATHS.filter(([, { device }]) => device === "mlx"))(
    `%s ${noMlx ?? ""}`,
    (_, spec) => takesSteps(spec),
  );
});

async function takesSteps(spec: Pick<TrainSpecInput, "device" | "fused">): Promise<void> {
  const looks: Look[] = [];
  let next = STEPS / LOOKS;
  let last = 0;
  for await (const item of harness.client.stream("train.start", {
    ...{ recipe: "linear", steps: STEPS, lr: 0.001, ...spec },
    optimizer: { name: "adamw", options: {} },
  })) {
    if (item.kind === "done") last = item.steps;
    if (item.kind !== "steps" || (item.step.at(-1) ?? 0) < next) continue;
    looks.push(lookAtMemory());
    next += STEPS / LOOKS;
  }
  expect(last).toBe(STEPS);
  expect(looks.length).toBeGreaterThan(LOOKS / 2);
  // A run keeps at most 2000 points of its curve: the first looks are before that.
  const grown = growth(looks.slice(3));
  const perStep = (bytes: number): number => bytes / (STEPS / LOOKS);
  expect(perStep(grown.heap), JSON.stringify(grown)).toBeLessThan(MOST_HELD);
  expect(perStep(grown.external), JSON.stringify(grown)).toBeLessThan(MOST_HELD);
  expect(perStep(grown.resident), JSON.stringify(grown)).toBeLessThan(MOST_PAGES);
}
