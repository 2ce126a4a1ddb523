import { describe, expect, it } from "vitest";
import { WINDOW_FLAGS } from "../../main/testing/windowFlags.ts";
import type { SamplingNumber } from "../../main/contract/views/run.ts";
import { SAMPLING_DEFAULTS, SAMPLING_NUMBERS, SAMPLING_RANGES } from "../../main/contract/views/run.ts";
import type { CommandLine } from "./command.ts";
import { commandText } from "./command.ts";
import { quote } from "./quote.ts";

const target = { chip: "m4", os: "macos26", units: "cpu-ane", profile: "auto", context: 2048 } as const;

const asked = {
  temperature: 0.7,
  seed: 5,
  maxTokens: 64,
  device: "mlx",
  topK: 40,
  topP: 0.95,
  minP: 0.05,
  repeatPenalty: 1.1,
  context: 1024,
  precision: "mixed" as const,
  cacheType: "f16" as const,
  stop: "END\n\nTHE END",
};
const unusual = (name: SamplingNumber): number => 0.4 * SAMPLING_RANGES[name][0] + 0.6 * SAMPLING_RANGES[name][1];
/** With every number unlike its default. */
const everything = {
  ...Object.fromEntries(SAMPLING_NUMBERS.map((name) => [name, unusual(name)])),
  ...asked,
  logitBias: "15=-2\nhello=ban",
  grammar: 'root ::= "yes"',
};
/** Each kind, with everything that it can say. */
const FULL: readonly CommandLine[] = [
  { kind: "inspect" },
  { kind: "check", against: "f16 of it.gguf" },
  { kind: "graph", backend: "cpu", stage: "fuse norm", phase: "decode", target },
  { kind: "graph", backend: "coreml", stage: "mil", phase: "decode", target },
  { kind: "graph", backend: "mlx", stage: "plan", phase: "decode", target },
  { kind: "route", backend: "coreml", phase: "decode", target },
  { kind: "route", backend: "mlx", phase: "prefill", target },
  { kind: "passes", backend: "mlx", phase: "decode", target },
  {
    kind: "chat",
    message: "Hello",
    system: "Be brief",
    tools: "[]",
    toolChoice: "required",
    variables: "thinking=true",
    ...everything,
  },
  { kind: "chat", message: "Hello", jsonSchema: "true", ...asked },
  { kind: "run", prompt: "Once", ...everything },
  { kind: "run", prompt: "Once", jsonSchema: "true", ...asked },
  { kind: "hybrid", device: "coreml", target },
  {
    ...{ kind: "bench", device: "mlx", otherDevices: ["cpu"], otherModels: ["b.gguf"], promptTokens: "8, 16" },
    ...{
      generateTokens: "4",
      depth: "0, 64",
      threads: "1-4",
      precision: "f16",
      cacheType: "q8_0",
      repeats: 2,
      warmup: 3,
      seconds: 0,
    },
  },
  {
    ...{ kind: "bench", device: "mlx", otherDevices: [], otherModels: [], promptTokens: "8", generateTokens: "4" },
    ...{ depth: "0", threads: "", repeats: 2, warmup: 3, seconds: 30 },
  },
  { kind: "profile", device: "mlx", promptTokens: 8, generateTokens: 4 },
  { kind: "export", target, path: "m.mlpackage" },
  {
    kind: "train",
    spec: {
      ...{ recipe: "linear", data: { kind: "path", path: "x.npz" }, steps: 2, batch: 4, lr: 0.05, seed: 0 },
      ...{ optimizer: { name: "adamw", options: {} }, precision: "f16", device: "mlx", fused: false },
      ...{
        validation: { every: 5, share: 0.1 },
        fields: { loss: "mean" },
        resume: "a",
        checkpoint: { path: "c", every: 1 },
      },
      ...{ output: { path: "b", overwrite: true }, sample: { every: 5, prompt: "Hi", tokens: 100, temperature: 0.8 } },
    },
  },
  { kind: "doctor" },
];

describe("the command of an action", () => {
  it("names the model and the target", () => {
    expect(commandText({ kind: "route", backend: "coreml", phase: "decode", target }, "~/Models/q.gguf")).toBe(
      "rlx route ~/Models/q.gguf --phase decode --chip m4 --os macos26 --units cpu-ane --profile auto --context 2048",
    );
    expect(commandText({ kind: "export", target, path: "/tmp/My model.mlpackage" }, "m.gguf")).toContain(
      "--output '/tmp/My model.mlpackage'",
    );
  });

  it("has the flags that the command line takes, and no other", () => {
    const written: Record<string, Set<string>> = {};
    for (const command of FULL) {
      const [, name = "", ...words] = (commandText(command, "m.gguf") ?? "").split(" ");
      const flags = (written[name] ??= new Set());
      for (const word of words) if (word.startsWith("-")) flags.add(word);
    }
    const known = Object.entries(WINDOW_FLAGS).map(([name, flags]) => [name, new Set(flags)]);
    expect(written).toEqual(Object.fromEntries(known));
  });

  it("leaves out what the command line takes by itself, but not what the file would change", () => {
    const usual = { ...SAMPLING_DEFAULTS, seed: 1, mirostatTau: 3 };
    expect(commandText({ kind: "run", prompt: "Once", ...usual, hinted: ["mirostat"] }, "m.gguf")).toBe(
      "rlx run m.gguf --prompt Once --temperature 0.7 --top-k 40 --top-p 0.95 --min-p 0 --repeat-penalty 1 " +
        "--mirostat 0 --mirostat-tau 3 --seed 1",
    );
  });

  it("repeats what was said and how it was asked", () => {
    expect(commandText({ kind: "chat", message: "it's me", system: "Be brief", ...asked }, "m.gguf")).toBe(
      `rlx chat m.gguf --message 'it'\\''s me' --system 'Be brief' --device mlx --temperature 0.7 --top-k 40 --top-p 0.95 ` +
        "--min-p 0.05 --repeat-penalty 1.1 --seed 5 --stop END --stop 'THE END' --max-tokens 64 --context 1024 --precision mixed --cache-type f16",
    );
    const brief = { kind: "chat", message: "Hi", system: " ", temperature: 0, seed: null } as const;
    expect(commandText(brief, "m.gguf")).toBe("rlx chat m.gguf --message Hi --temperature 0");
    expect(commandText({ ...brief, tools: " ", toolChoice: "required" }, "m.gguf")).not.toContain("--tool");
    expect(commandText({ ...brief, tools: "[]", toolChoice: "auto" }, "m.gguf")).not.toContain("--tool-choice");
  });

  it("shows a graph at its stage, or its MIL, and runs the demo graph on its target", () => {
    const graph = { kind: "graph", backend: "cpu", phase: "prefill", target } as const;
    const rest = "--phase prefill --chip m4 --os macos26 --units cpu-ane --profile auto --context 2048";
    for (const stage of ["built", "legal", "fuse norm"]) {
      const text = stage.includes(" ") ? `'${stage}'` : stage;
      expect(commandText({ ...graph, stage }, "m.gguf")).toBe(`rlx graph m.gguf --backend cpu --stage ${text} ${rest}`);
    }
    expect(commandText({ ...graph, stage: "mil" }, "m.gguf")).toBe(`rlx graph m.gguf --mil ${rest}`);
    expect(commandText({ kind: "hybrid", device: "coreml-sim", target }, "--demo")).toBe(
      "rlx run --demo --device coreml-sim --chip m4 --os macos26 --units cpu-ane --profile auto",
    );
  });

  it("repeats a benchmark with its runs before those that count", () => {
    const bench = {
      kind: "bench",
      ...{ device: "cpu", otherDevices: [], otherModels: [], promptTokens: "512", generateTokens: "128" },
      ...{ depth: "0", threads: "", repeats: 6, seconds: 0 },
    } as const;
    expect(commandText({ ...bench, warmup: 0 }, "m.gguf")).toBe(
      "rlx bench m.gguf --device cpu --pp 512 --tg 128 --repeats 6 --warmup 0",
    );
    const matrix = {
      ...bench,
      otherDevices: ["mlx"],
      otherModels: ["b.gguf"],
      promptTokens: "128, 512",
      threads: "1-4",
    };
    expect(commandText({ ...matrix, depth: "0, 64", seconds: 30, warmup: 1 }, "m.gguf")).toBe(
      "rlx bench m.gguf --device cpu,mlx --pp 128,512 --tg 128 --depth 0,64 --threads 1-4 --seconds 30 --warmup 1 --also b.gguf",
    );
  });

  it("repeats what was written in other types, with its choices", () => {
    const quantize = { kind: "quantize", recipe: "q4_k_m", importance: "", overrides: "", pure: false } as const;
    expect(commandText({ ...quantize, path: "q.gguf" }, "m.gguf")).toBe(
      "rlx quantize m.gguf --to q4_k_m --output q.gguf",
    );
    expect(
      commandText({ ...quantize, importance: "i.gguf", overrides: "*down*=q6_k\n", pure: true, path: null }, "m.gguf"),
    ).toBe("rlx quantize m.gguf --to q4_k_m --tensor-type '*down*=q6_k' --pure --imatrix i.gguf --dry-run");
    const convert = { kind: "convert", type: "", split: "none", megabytes: 500, tensors: 9, path: "c.gguf" } as const;
    expect(commandText(convert, "m")).toBe("rlx convert m --output c.gguf");
    expect(commandText({ ...convert, type: "f16", split: "megabytes" }, "m")).toBe(
      "rlx convert m --type f16 --split-max-size 500M --output c.gguf",
    );
    expect(commandText({ ...convert, split: "tensors" }, "m")).toBe(
      "rlx convert m --split-max-tensors 9 --output c.gguf",
    );
  });

  it("does not pretend for a model that only the window has", () => {
    expect(commandText({ kind: "inspect" }, null)).toBeNull();
    expect(commandText({ kind: "doctor" }, null)).toBe("rlx doctor");
  });

  it("quotes what a shell would read", () => {
    expect(quote("plain-1.gguf")).toBe("plain-1.gguf");
    expect(quote("it's $HOME")).toBe(`'it'\\''s $HOME'`);
    expect(quote("")).toBe("''");
  });
});
