// The command line of a training says the same as its spec: by options, or by the spec itself.
import { expect, it } from "vitest";
import { trainText } from "./trainCommand.ts";

it("is the recipe with options where these say all of it", () => {
  expect(trainText({ recipe: "linear" })).toBe("rlx train linear");
  expect(
    trainText({
      ...{ recipe: "linear", data: { kind: "path", path: "/my data/x.npz" }, steps: 200, batch: 4, lr: 0.05, seed: 0 },
      ...{ optimizer: { name: "adamw", options: {} }, precision: "f16", device: "mlx", fused: false },
      ...{ validation: { every: 5, share: 0.1 }, fields: { loss: "mean" }, resume: "/a.safetensors" },
      ...{ output: { path: "/b.safetensors", overwrite: true }, checkpoint: { path: "/c.safetensors", every: 10 } },
      sample: { every: 50, prompt: "It's", tokens: 100, temperature: 0.8 },
      ...{ accumulate: 2, average: 0.99 },
    }),
  ).toBe(
    "rlx train linear --data '/my data/x.npz' --steps 200 --batch 4 --accumulate 2 --average 0.99 " +
      "--optimizer adamw --lr 0.05 --precision f16 --device mlx --on-host --seed 0 --validate-every 5 --sample-every 50 --prompt 'It'\\''s' " +
      "--checkpoint /c.safetensors --checkpoint-every 10 --resume /a.safetensors --out /b.safetensors --overwrite " +
      "--field loss=mean",
  );
});

it("is the spec itself where no option says it", () => {
  const spec = { recipe: "linear", schedule: { kind: "cosine", warmUp: 5, to: 0 } } as const;
  expect(trainText(spec)).toBe(`echo '${JSON.stringify(spec)}' | rlx train -`);
  for (const more of [
    { title: "A line" },
    { clip: { norm: 1 } },
    { norms: { every: 1 } },
    { optimizer: { name: "sgd", options: { momentum: 0.9 } } },
    { validation: { every: 5, share: 0.2 } },
    { fused: true },
    { groups: [{ rank: 2, lr: 0.1 }] },
  ])
    expect(trainText({ recipe: "linear", ...more })).toMatch(/^echo .* \| rlx train -$/u);
});

it("is none where the model is in this window only", () => {
  expect(trainText({ recipe: "lora", model: { kind: "open", model: "m1" } })).toBeNull();
});
