import { describe, expect, it } from "vitest";
import { peakShareOf } from "../../../main/contract/views/run.ts";
import { partOf, tokenParts } from "./breakdown.ts";

/** A prompt of one step, then two tokens of 10 ms with 2 ms between them. */
const strings = ["", "rms_norm + qkv_linear", "rope_append + attention_cached", "iota"];
const steps = {
  start: new Float64Array([0, 0.1, 0.112]),
  seconds: new Float32Array([0.09, 0.01, 0.01]),
  tokens: new Uint32Array([64, 1, 1]),
  decode: new Uint8Array([0, 1, 1]),
};
const lanes = [{ title: "CPU", device: "cpu", truth: "measured" }] as const;
const slices = {
  start: new Float64Array([0, 0.1, 0.106, 0.108, 0.112, 0.118, 0.12]),
  seconds: new Float32Array([0.09, 0.006, 0.002, 0.001, 0.006, 0.002, 0.001]),
  lane: new Uint8Array(7),
  step: new Uint32Array([0, 1, 1, 1, 2, 2, 2]),
  op: new Uint32Array([1, 1, 2, 3, 1, 2, 3]),
  label: new Uint32Array(7),
  bytes: new Float64Array(7),
  nodeStart: new Uint32Array(8),
  nodes: new Uint32Array(0),
};

describe("where a token goes", () => {
  it("adds up to the token, with the time between tokens beside it", () => {
    const { tokens, parts } = tokenParts({ steps, slices, strings, lanes, truth: "measured" });
    expect(tokens).toBe(1);
    const of = Object.fromEntries(parts.map(({ part, seconds: each }) => [part, each]));
    expect(of["weights"]).toBeCloseTo(0.006, 6);
    expect(of["attention"]).toBeCloseTo(0.002, 6);
    expect(of["rest"]).toBeCloseTo(0.001, 6);
    expect(of["sampling"]).toBeCloseTo(0.001, 6);
    expect(of["between"]).toBeCloseTo(0.002, 6);
    expect(parts.reduce((sum, { seconds }) => sum + seconds, 0)).toBeCloseTo(0.012, 6);
    expect(parts.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1, 9);
  });

  it("is a typical token's: one that another program held up does not speak for all", () => {
    const held = slices.seconds.slice();
    held[6] = 5;
    const again = [0.124, 0.136];
    const of = tokenParts({
      steps: {
        start: Float64Array.of(...steps.start, ...again.map((start) => start + 5)),
        seconds: Float32Array.of(0.09, 0.01, 5.009, 0.01, 0.01),
        tokens: Uint32Array.of(64, 1, 1, 1, 1),
        decode: Uint8Array.of(0, 1, 1, 1, 1),
      },
      slices: {
        ...slices,
        start: Float64Array.of(...slices.start, ...again.flatMap((at) => [at + 5, at + 5.006, at + 5.008])),
        seconds: Float32Array.of(...held, ...again.flatMap(() => [0.006, 0.002, 0.001])),
        lane: new Uint8Array(13),
        step: Uint32Array.of(...slices.step, 3, 3, 3, 4, 4, 4),
        op: Uint32Array.of(...slices.op, 1, 2, 3, 1, 2, 3),
        label: new Uint32Array(13),
        bytes: new Float64Array(13),
      },
      ...{ strings, lanes, truth: "measured" },
    });
    expect(of.parts.find(({ part }) => part === "rest")?.seconds).toBeCloseTo(0.001, 6);
    expect(of.parts.find(({ part }) => part === "weights")?.seconds).toBeCloseTo(0.006, 6);
  });

  it("has nothing to say without a written token", () => {
    const prompt = { ...steps, decode: new Uint8Array(3) };
    expect(tokenParts({ steps: prompt, slices, strings, lanes, truth: "measured" }).parts).toEqual([]);
  });

  it("sorts fused instructions by what dominates them", () => {
    expect(["linear_add", "rms_norm + gated_linear", "gather"].map((op) => partOf(op))).toEqual([
      "weights",
      "weights",
      "weights",
    ]);
    expect(partOf("rope_append + attention_cached")).toBe("attention");
    expect(["add", "iota", "rope_table"].map((op) => partOf(op))).toEqual(["rest", "rest", "rest"]);
  });
});

describe("the share of peak bandwidth", () => {
  const row = { peakShare: 0.87, bytes: 8e6, count: 8 };
  it("is a share up to all of it, and the cache beyond", () => {
    expect(peakShareOf(row)).toEqual({ kind: "share", value: 0.87 });
    expect(peakShareOf({ ...row, peakShare: 2.4 })).toEqual({ kind: "cache", value: 2.4 });
  });
  it("says nothing of an instruction that reads next to nothing", () => {
    expect(peakShareOf({ peakShare: 0.001, bytes: 64, count: 16 })).toEqual({ kind: "none" });
    expect(peakShareOf({ ...row, peakShare: null })).toEqual({ kind: "none" });
  });
});
