/** Overviews of a made-up Qwen3, of the same without data, and of the hybrid demo. */
import type { TargetSpec } from "../../../main/contract/views/common.ts";
import type { ModelSource, Overview } from "../../../main/contract/views/model.ts";
import { figure } from "./route.ts";

export const M4: TargetSpec = { chip: "m4", os: "macos26", units: "cpu-ane", profile: "auto", context: 2048 };
const exact = (value: number, basis: string) => figure(value, "bytes", "exact", { basis });

const qwen: Overview = {
  model: "m1",
  kind: "model",
  title: "Qwen3-0.6B",
  variant: "Q4_K_M",
  sentence: "A dense decoder of 28 layers. 596 M parameters at 5.3 bits each, 395 MB on disk.",
  architecture: "qwen3",
  file: {
    name: "Qwen3-0.6B-Q4_K_M.gguf",
    path: "~/Models/Qwen3-0.6B-Q4_K_M.gguf",
    bytes: 395e6,
    parts: 1,
    format: "GGUF 3",
    headerHash: "9f2c41d07be35a61",
    tensorCount: 310,
    metadataCount: 28,
    openedIn: figure(0.041, "seconds", "measured"),
  },
  parameters: 596e6,
  bitsPerWeight: 5.3,
  mix: [
    { type: "Q4_K", tensors: 168, parameters: 440e6, bytes: 247e6, share: 0.61 },
    { type: "Q6_K", tensors: 29, parameters: 155e6, bytes: 146e6, share: 0.38 },
    { type: "F32", tensors: 113, parameters: 65_536, bytes: 0.26e6, share: 0.001 },
  ],
  mixSentence: "On the device: 4.6 bits blockwise for Q4_K, an 8-bit table for Q6_K. The package is 1.19 × this file.",
  facts: [
    ["architecture", "qwen3"],
    ["layers × width", "28 × 1024"],
    ["feed-forward", "3072"],
    ["heads, kv heads", "16, 8"],
    ["head size", "128"],
    ["rope base", "1 000 000"],
    ["context", "40 960"],
    ["vocabulary", "151 936 BPE qwen2"],
    ["chat template", "yes, with tools"],
  ].map(([label = "", value = ""]) => ({ label, value })),
  context: { trained: 40_960, chosen: 2048 },
  hasChatTemplate: true,
  fit: {
    machine: "Apple M4, 24 GB, 16.1 GB free",
    context: 2048,
    rows: [
      { label: "Weights, packed", arithmetic: null, value: exact(395e6, "read from the file") },
      { label: "KV cache", arithmetic: "2 048 tokens × 28 layers × 2 × 8 × 128 × 2 B", value: exact(235e6, "counted") },
      { label: "Activations and engine", arithmetic: null, value: figure(90e6, "bytes") },
    ],
    total: figure(720e6, "bytes"),
    available: figure(16.1e9, "bytes", "measured"),
    verdict: "fits",
    sentence: "Yes, with 15 GB to spare. Context could grow to 32 768 tokens (4.4 GB).",
  },
  speed: {
    machine: "Apple M4, CPU",
    generate: figure(125, "tokens/s", "predicted", { low: 110, high: 140 }),
    prompt: figure(0.5, "seconds", "predicted", { low: 0.41, high: 0.6 }),
    promptTokens: 1000,
    rows: [
      { label: "Read per token", arithmetic: "weights + cache", value: figure(0.4e9, "bytes") },
      { label: "Bandwidth", arithmetic: null, value: figure(60e9, "bytes/s") },
    ],
    sentence: "Writing is bound by memory: 0.40 GB per token against 60 GB/s that this chip reaches.",
  },
  profiles: [
    {
      profile: "gpu",
      title: "gpu",
      bytes: figure(470e6, "bytes"),
      ratioToFile: 1.19,
      error: figure(0.002, "ratio"),
      sentence: "Weights stay packed in blocks; for the GPU.",
      chosenFor: "CPU + GPU, all",
    },
    {
      profile: "ane",
      title: "ane",
      bytes: figure(1.19e9, "bytes"),
      ratioToFile: 3.02,
      error: figure(0.0003, "ratio"),
      sentence: "f16 weights; the Neural Engine reads them.",
      chosenFor: "CPU + ANE",
    },
  ],
  canGraph: { ok: true },
  canRun: { ok: true },
  canMeasure: { ok: true },
  reference: null,
  canExport: { ok: true },
  warnings: [],
  target: M4,
  argument: "~/Models/Qwen3-0.6B-Q4_K_M.gguf",
};

export function fakeOverview(source: ModelSource): Overview {
  if (source.kind === "offer" && source.id === "hybrid")
    return {
      ...qwen,
      model: "m3",
      kind: "demo-graph",
      title: "Hybrid demo",
      variant: "graph",
      sentence: "A small graph of thirteen ops; fft, lstm and a custom op run as host code.",
      file: null,
      parameters: 120_000,
      bitsPerWeight: 16,
      mix: [],
      mixSentence: null,
      facts: [{ label: "ops", value: "13" }],
      fit: null,
      speed: null,
      profiles: [],
      hasChatTemplate: false,
      argument: "--demo hybrid",
      context: { trained: null, chosen: 1 },
    };
  const noData = {
    ok: false,
    code: "INPUT_NO_DATA",
    sentence: "This file has names and shapes, but no weights.",
    hint: "Everything but running and exporting works.",
    offer: "none",
  } as const;
  if (source.kind === "offer" && source.id === "one-b")
    return {
      ...qwen,
      model: "m2",
      kind: "header-only",
      title: "A 1B model",
      variant: "header only",
      canRun: noData,
      canMeasure: noData,
      canExport: noData,
    };
  if (source.kind === "header") {
    const offer = {
      ok: false,
      code: "INPUT_NO_DATA",
      sentence: "Only the header of this file is here. To run it, the engine needs the file itself.",
      hint: null,
      offer: "locate-or-upload",
    } as const;
    return { ...qwen, canRun: offer, canMeasure: offer, canExport: offer, argument: null };
  }
  if (source.kind === "path" && source.path.includes("moe")) {
    const no = {
      ok: false,
      code: "UNSUPPORTED_ARCHITECTURE",
      sentence: "qwen3moe is a mixture of 128 experts; this version builds graphs of dense models only.",
      hint: "The overview, the tensors and the metadata are complete.",
      offer: "none",
    } as const;
    return {
      ...qwen,
      title: "Qwen3-30B-A3B",
      canGraph: no,
      canRun: no,
      canMeasure: no,
      canExport: no,
      fit: null,
      speed: null,
      profiles: [],
    };
  }
  return qwen;
}
