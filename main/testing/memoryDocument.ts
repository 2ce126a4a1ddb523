/** Documents and entries of tests: `at` tells them apart, and their texts are long enough to be cut in the middle. */
import type { HistoryEntry, SessionDocument } from "../contract/views/session.ts";
import { hostTensor } from "../ir/hostTensor.ts";
import type { Snapshot } from "../training/session.ts";

const text = (at: number, letters: number): string => `${at} `.repeat(letters).slice(0, letters);

export const memoryDocument = (at: number): SessionDocument => ({
  format: "rlx-session",
  version: 1,
  writtenBy: "a test",
  savedAt: at,
  parts: { notes: { text: text(at, 200_000) }, server: { paths: "/models/secret", port: 0 } },
  models: [
    {
      identity: "0123-4567",
      title: `Model ${at}`,
      variant: "Q4_K_M",
      source: { kind: "path", path: "/models/secret/m.gguf" },
      headerHash: "0123",
      bytes: 4567,
      usedAt: at,
      parts: { talk: { turns: [text(at, 1000)] }, adapters: { paths: [{ path: "/models/secret/a.gguf", scale: 1 }] } },
    },
  ],
  open: "0123-4567",
});

export const memoryEntry = (at: number): HistoryEntry => ({
  at,
  model: { title: "Model", identity: "0123-4567", path: null },
  value: { rate: at, text: text(at, 100_000) },
});

export const memorySnapshot = (at: number): Snapshot => ({
  steps: at,
  tensors: { w: hostTensor("f64", [64, 512], new Float64Array(64 * 512).fill(at)) },
});
