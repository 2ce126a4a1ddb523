// What crosses the borders of segments, counted from shapes and element types, and why each segment begins.
import { describe, expect, it } from "vitest";
import { demoGraph, STEPS, WIDTH } from "../../../models/demo.ts";
import { opOf } from "../../../ops/index.ts";
import { routeFor } from "../../../testing/routes.ts";
import { WIDE, wideDecoder } from "../../../testing/wideDecoder.ts";
import type { Route } from "./route.ts";

const {
  layers: LAYERS,
  kvHeads: KV_HEADS,
  headDim: HEAD_DIM,
  context: CONTEXT,
  vocabulary: WORDS,
  width: MODEL,
} = WIDE;

/** Bytes of the caches of all layers for some positions: keys and values, at a number of bytes an element. */
const caches = (positions: number, bytes: number): number => LAYERS * 2 * KV_HEADS * positions * HEAD_DIM * bytes;
/** Tokens, past and the row of logits, four bytes each; logits as the graph has them, in f32. */
const [GIVEN, LOGIT_ROW, LOGITS] = [3 * 4, 4, WORDS * 4];

type Borders = readonly (readonly [device: string, bytesIn: number, bytesOut: number])[];
const borders = (route: Route): Borders => route.segments.map((s) => [s.device, s.bytesIn, s.bytesOut]);
const hops = (route: Route) => route.hops.map(({ from, to, values, bytes }) => [from, to, values, bytes]);

describe("segments of the demo graph", () => {
  const route = routeFor(demoGraph(), { units: "cpu-ane", profile: "ane", context: CONTEXT });
  // All values but those of the LSTM have the shape of the signal, in f32.
  const signal = STEPS * WIDTH * 4;
  const [hidden, classes] = [48, 10];
  const memory = STEPS * hidden * 4 + hidden * 4;

  it("take and give exactly these bytes", () => {
    expect(borders(route)).toEqual([
      ["ane", signal, signal],
      ["host", signal, signal],
      ["ane", signal, signal],
      ["host", signal, signal],
      ["ane", signal, signal],
      ["host", signal, memory],
      ["cpu", memory, classes * 4 + signal],
    ]);
    expect(hops(route)).toEqual([
      [0, 1, 1, signal],
      [1, 2, 1, signal],
      [2, 3, 1, signal],
      [3, 4, 1, signal],
      [4, 5, 1, signal],
      [5, 6, 2, memory],
    ]);
    expect(route.segments.map((s) => [s.inputs.length, s.outputs.length])).toEqual([
      ...Array.from({ length: 5 }, () => [1, 1]),
      [1, 2],
      [2, 2],
    ]);
    expect(route.cacheBytes).toBe(0);
  });

  it("say why each begins", () => {
    const refused = (op: string): string => {
      const entry = opOf(op)?.backends.coreml;
      return entry?.kind === "unsupported" ? `${op}: ${entry.reason}` : "";
    };
    expect(route.segments.map(({ why }) => why)).toEqual([
      "The program begins here.",
      refused("fft"),
      "Core ML goes on once fft has run on the host.",
      refused("custom"),
      "Core ML goes on once custom has run on the host.",
      expect.stringMatching(/^lstm: Core ML's lstm wants .*, got 96: it is a host segment between Core ML models$/),
      "Core ML goes on once lstm has run on the host.",
    ]);
  });
});

describe("segments of a decoder", () => {
  const ane = routeFor(wideDecoder(), { units: "cpu-ane", profile: "ane", context: CONTEXT });
  // Halves: the embedding, the same over its largest element and one over its root, an angle's sine and cosine, the mask.
  const begin = 2 * (MODEL + MODEL + 1 + 4 + 4 + CONTEXT);
  const row = 2 * MODEL;
  const normed = 2 * (MODEL + 1);
  const fresh = caches(1, 2);

  it("count what crosses between them, and the caches that a call passes where the program keeps none", () => {
    expect(borders(ane)).toEqual([
      ["cpu", GIVEN - LOGIT_ROW, begin],
      ["ane", begin + caches(CONTEXT, 2), row + fresh],
      ["cpu", row + LOGIT_ROW, normed],
      ["ane", normed + fresh, LOGITS + fresh],
    ]);
    expect(hops(ane)).toEqual([
      [0, 1, 6, begin],
      [1, 2, 1, row],
      [1, 3, 2 * LAYERS, fresh],
      [2, 3, 2, normed],
    ]);
    expect(ane.cacheBytes).toBe(caches(CONTEXT, 2) + fresh);
  });

  it("name the caches among what they take and give", () => {
    const names = (suffix: string): readonly string[] =>
      Array.from({ length: LAYERS }, (_, i) => [`k_${i}${suffix}`, `v_${i}${suffix}`]).flat();
    expect(ane.segments[1]?.inputs.slice(6)).toEqual(names(""));
    expect(ane.segments[3]?.outputs).toEqual(["logits", ...names("_next")]);
  });

  it("say why each begins, with the number of operations that are worth the way", () => {
    const lengths: number[] = [];
    const { ops } = ane.plans.get(0)!;
    ops.forEach(({ preferred }, i) => {
      if (preferred === ops[i - 1]?.preferred) lengths.push((lengths.pop() ?? 0) + 1);
      else lengths.push(1);
    });
    // Most of them in the layers, few before, between and behind. The numbers change with the lowering.
    expect(lengths).toEqual([26, 266, 11, 10]);
    const worth = (n: number, share: number): string =>
      `CPU → Neural Engine: the next ${n} lowered operations take less time there, including the transfer; ${share} % of the work there is one linear.`;
    expect(ane.segments.map(({ why }) => why)).toEqual([
      "The program begins here.",
      worth(266, 9),
      "Neural Engine → CPU: Published compute plans keep gathers by index on the CPU. 18 % of the work there is one gather.",
      worth(10, 100),
    ]);
  });

  it("do not count states: those stay on the device", () => {
    const packed = routeFor(wideDecoder(), { units: "cpu-gpu", profile: "gpu", context: CONTEXT });
    expect(borders(packed)).toEqual([["gpu", GIVEN, LOGITS]]);
    expect(packed.cacheBytes).toBe(0);
    expect(hops(packed)).toEqual([]);
  });

  it("count caches of f32 where those are passed", () => {
    const exact = routeFor(wideDecoder(), { units: "cpu-gpu", profile: "exact", context: CONTEXT });
    expect(borders(exact)).toEqual([["gpu", GIVEN + caches(CONTEXT, 4), LOGITS + caches(1, 4)]]);
    expect(exact.cacheBytes).toBe(caches(CONTEXT, 4) + caches(1, 4));
  });
});
