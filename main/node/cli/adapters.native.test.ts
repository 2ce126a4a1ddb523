// LoRA adapters on the command line: several with scales, what they change, and what is refused.
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { commandFolder } from "../../testing/commandFolder.ts";
import { writeSampleAdapter } from "../../testing/sampleAdapter.ts";

const { folder, command } = commandFolder();

beforeAll(async () => {
  await writeSampleAdapter(join(folder, "keys.gguf"));
  await writeSampleAdapter(join(folder, "other.gguf"), "llama");
});

describe("--lora", () => {
  const scored = async (more: string): Promise<unknown> => {
    const { code, out, err } = await command(`score FILE --ids 390,389,263,290 --json ${more}`);
    expect([code, err], more).toEqual([0, ""]);
    return (JSON.parse(out) as { logprobs: unknown }).logprobs;
  };

  it("changes the answer by its scale; two halves are a whole", async () => {
    const plain = await scored("");
    const whole = await scored("--lora DIR/keys.gguf");
    expect(whole).not.toEqual(plain);
    expect(await scored("--lora DIR/keys.gguf:0")).toEqual(plain);
    const halves = (await scored("--lora DIR/keys.gguf:0.5 --lora DIR/keys.gguf:.5")) as number[];
    halves.slice(1).forEach((x, i) => expect(x).toBeCloseTo((whole as number[])[i + 1]!, 3));
  });

  it("is taken by run and chat", async () => {
    const line = "--lora DIR/keys.gguf:-2 -n 3 --seed 1 --json";
    for (const asked of [`run FILE -p "Once upon" ${line}`, `chat FILE -m "Hello" ${line}`])
      expect((await command(asked)).code, asked).toBe(0);
  });

  it("is taken by graph, route and bench, which show and measure what it adds", async () => {
    const products = async (more: string): Promise<number> => {
      const { code, out } = await command(`graph FILE --backend cpu --stage built ${more}`);
      expect(code, more).toBe(0);
      return out.split("= linear(").length;
    };
    expect(await products("--lora DIR/keys.gguf")).toBe((await products("")) + 2);
    for (const asked of ["route FILE --json", "bench FILE --pp 4 --tg 0 -r 1 --warmup 0 --json"])
      expect((await command(`${asked} --lora DIR/keys.gguf`)).code, asked).toBe(0);
  });

  it("is in the package that compile writes", async () => {
    const sizes: number[] = [];
    for (const [name, more] of [
      ["plain", ""],
      ["adapted", "--lora DIR/keys.gguf"],
    ] as const) {
      const line = `compile FILE -o DIR/${name}.mlpackage --context 64 --json ${more}`;
      expect((await command(line)).code, line).toBe(0);
      const weights = join(folder, `${name}.mlpackage`, "Data/com.apple.CoreML/weights/weight.bin");
      sizes.push((await stat(weights)).size);
    }
    // A and B as halves at the least.
    expect((sizes[1] ?? 0) - (sizes[0] ?? 0)).toBeGreaterThan(2 * 4 * (256 + 128));
  });

  it.each([
    ["DIR/other.gguf", 2, /does not fit the model: general\.architecture: got "llama", expected "qwen3"/u],
    ["DIR/nowhere.gguf", 1, /nowhere\.gguf/u],
    ["FILE", 2, /no LoRA adapter: general\.type/u],
    [":2", 2, /--lora: got :2, expected a file/u],
  ])("refuses %s", async (adapter, exit, says) => {
    const { code, err } = await command(`score FILE --ids 1,2 --lora ${adapter}`);
    expect(code).toBe(exit);
    expect(err).toMatch(says);
  });
});
