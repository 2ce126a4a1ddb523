/** Scripted runs: tokens, benchmark samples, a profile, an export. Their numbers are invented; their shapes are not. */
import type { Contract } from "../../../main/contract/contract.ts";
import type { Handlers } from "../../../main/contract/define.ts";
import type { ProfileView, RunStats } from "../../../main/contract/views/run.ts";
import { fakeCalibrate, fakeState } from "./devices.ts";
import { figure } from "./route.ts";

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const ANSWER =
  "The Neural Engine keeps weights in a layout of its own, so the first run of a model is spent on compiling it. The compiled model is kept, keyed by its content, so the second start takes a moment only.";

const measured = (value: number, unit: Parameters<typeof figure>[1], spread = 0.01) =>
  figure(value, unit, "measured", {
    low: value * (1 - spread),
    high: value * (1 + spread),
    basis: "made up for development",
  });

function stats(generated: number): RunStats {
  return {
    promptTokens: 23,
    reusedTokens: generated > 30 ? 12 : 0,
    promptSeconds: measured(0.0558, "seconds"),
    promptRate: measured(412, "tokens/s"),
    firstTokenSeconds: measured(0.18, "seconds"),
    generated,
    rate: measured(31.4, "tokens/s"),
    rateNow: measured(31.4 + Math.sin(generated) * 0.6, "tokens/s"),
    contextUsed: 160 + generated,
    contextSize: 2048,
    cacheBytes: (160 + generated) * 114_688,
  };
}

/** Streams that the window does not use. */
function notFaked(name: string): never {
  throw new Error(`the fake engine has no ${name}`);
}

export const fakeStreams: Handlers<Contract>["streams"] = {
  async *"run.start"(input, { signal }) {
    const t0 = performance.now();
    yield { kind: "phase", name: "load", sentence: "Compiling the plan", fraction: null, elapsedSeconds: 0 };
    await pause(150);
    yield {
      kind: "start",
      device: input.device,
      truth: input.device === "coreml-sim" ? "simulated" : "measured",
      seed: input.sampling.seed ?? 42,
      promptTokens: 23,
      reference: null,
      promptText: "<|im_start|>user\n…",
    };
    const pieces = ANSWER.match(/\s?\S+/g) ?? [];
    let generated = 0;
    for (const text of pieces) {
      if (signal.aborted || generated >= input.maxTokens) break;
      await pause(28);
      const p = 0.3 + 0.69 * Math.abs(Math.sin(generated * 1.7));
      generated += 1;
      yield {
        kind: "token",
        token: {
          id: 1000 + generated,
          text,
          logprob: Math.log(p),
          top: [
            { id: 1, text, logprob: Math.log(p) },
            { id: 2, text: " it", logprob: Math.log(0.22) },
            { id: 3, text: " the", logprob: Math.log(0.12) },
            { id: 4, text: " nothing", logprob: Math.log(0.05) },
          ],
        },
      };
      if (generated % 4 === 0) yield { kind: "stats", stats: stats(generated) };
    }
    const cancelled = signal.aborted;
    yield {
      kind: "done",
      reason: cancelled ? "cancelled" : "stop",
      sentence: cancelled
        ? "Stopped by you."
        : `The model ended its answer after ${((performance.now() - t0) / 1000).toFixed(1)} s.`,
      stats: stats(generated),
    };
  },
  async *"bench.run"(input, { signal }) {
    const samples = { pp: [] as number[], tg: [] as number[] };
    for (const test of ["pp", "tg"] as const)
      for (let i = 0; i < input.warmup + input.repeats; i++) {
        if (signal.aborted) return;
        await pause(160);
        const warmup = i < input.warmup;
        const rate = (test === "pp" ? 412 : 31.4) * (1 + (warmup ? -0.06 : 0) + 0.012 * Math.sin(i * 2.3));
        if (!warmup) samples[test].push(rate);
        yield {
          kind: "sample",
          test,
          index: i,
          warmup,
          seconds: (test === "pp" ? input.promptTokens : input.generateTokens) / rate,
          rate,
        };
      }
    yield {
      kind: "done",
      device: input.device,
      truth: "measured",
      machine: "A made-up machine, 10 cores",
      threads: input.threads ?? 8,
      kernels: "NEON dotprod",
      conditions: { before: fakeState(), after: fakeState() },
      notes: ["Other programs used 4 % of the processor."],
      json: "[]",
      tests: (["pp", "tg"] as const).map((test) => {
        const all = samples[test];
        const mean = all.reduce((a, b) => a + b, 0) / all.length;
        return {
          test,
          tokens: test === "pp" ? input.promptTokens : input.generateTokens,
          samples: all,
          rate: figure(mean, "tokens/s", "measured", {
            low: mean * 0.991,
            high: mean * 1.009,
            basis: `median of ${all.length} repeats with their range`,
          }),
          mean,
          stddev: mean * 0.008,
        };
      }),
    };
  },
  "devices.calibrate": fakeCalibrate,
  "score.run": () => notFaked("score.run"),
  "doctor.verify": () => notFaked("doctor.verify"),
  async *"profile.run"(input) {
    for (let i = 0; i < 4; i++) {
      yield {
        kind: "phase",
        name: "run",
        sentence: "Running with the clock on",
        fraction: i / 4,
        elapsedSeconds: i * 0.15,
      };
      await pause(150);
    }
    yield { kind: "done", profile: fakeProfile(input) };
  },
  async *"export.start"(input, { signal }) {
    const total = 470e6;
    yield { kind: "phase", name: "lower", sentence: "Lowering both functions", fraction: null, elapsedSeconds: 0.1 };
    for (let done = 0; done <= total; done += total / 20) {
      if (signal.aborted) return;
      await pause(60);
      yield {
        kind: "progress",
        doneBytes: done,
        totalBytes: total,
        tensor: `blk.${Math.round((done / total) * 27)}.ffn_down.weight`,
        elapsedSeconds: (done / total) * 1.2,
      };
    }
    const forms = [
      ["Q4_K", "blockwise int4, 32", 4.6, 0.0021],
      ["Q6_K", "8-bit table", 6.6, 0.0004],
      ["F32", "f16", 16, 0.00002],
    ] as const;
    yield {
      kind: "done",
      path: input.path,
      bytes: total,
      ratioToSource: 1.19,
      seconds: measured(1.4, "seconds"),
      functions: ["decode", "prefill"],
      sentence: "310 weights, one file; the embedding is stored once for both functions.",
      weights: Array.from({ length: 310 }, (_, i) => {
        const form = forms[i % 9 === 0 ? 2 : i % 3 === 0 ? 1 : 0] ?? forms[0];
        return {
          name: `blk.${Math.floor(i / 11)}.${["attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down", "attn_norm", "ffn_norm", "attn_q_norm", "attn_k_norm"][i % 11] ?? ""}.weight`,
          source: form[0],
          form: form[1],
          bitsPerWeight: form[2],
          bytes: 1.77e6,
          relativeRms: form[3],
          note: null,
        };
      }),
    };
  },
};

function fakeProfile(input: {
  readonly promptTokens: number;
  readonly generateTokens: number;
  readonly device: ProfileView["device"];
}): ProfileView {
  const ops = [
    "rms_norm",
    "linear attn_q,k,v",
    "rope",
    "attention",
    "linear attn_output",
    "rms_norm ffn",
    "linear gate, up",
    "swiglu",
    "linear down",
  ];
  const cost = [0.4, 2.8, 0.2, 6, 1.95, 0.4, 7.41, 0.3, 4.12];
  const slices: { start: number; seconds: number; step: number; op: number; bytes: number }[] = [];
  const steps: { start: number; seconds: number; tokens: number; decode: number }[] = [];
  let t = 0;
  for (let step = 0; step <= input.generateTokens; step++) {
    const start = t;
    const scale = step === 0 ? 4 : 1;
    for (let layer = 0; layer < 28; layer++)
      ops.forEach((_, op) => {
        const seconds = ((cost[op] ?? 0) * scale) / 28e3;
        slices.push({ start: t, seconds, step, op: op + 1, bytes: 1e6 * (cost[op] ?? 0) });
        t += seconds * 1.02;
      });
    t += 0.004_83;
    steps.push({ start, seconds: t - start, tokens: step === 0 ? input.promptTokens : 1, decode: step === 0 ? 0 : 1 });
    t += 0.0002;
  }
  const row = (op: string, count: number, ms: number, share: number, gbs: number | null, roof: number | null) => ({
    op,
    device: "cpu" as const,
    count,
    seconds: ms / 1000,
    share,
    bytes: 0,
    bandwidth: gbs === null ? null : gbs * 1e9,
    roofShare: roof,
  });
  const rows = [
    row("linear gate, up", 28, 7.41, 0.25, 52.1, 0.87),
    row("attention", 28, 6.02, 0.2, 41, 0.68),
    row("linear output", 1, 4.83, 0.16, 58.4, 0.97),
    row("linear down", 28, 4.12, 0.14, 50.3, 0.84),
    row("linear attn_q,k,v", 28, 2.8, 0.09, 49, 0.82),
    row("linear attn_output", 28, 1.95, 0.07, 47.7, 0.8),
    row("rms_norm", 57, 0.4, 0.013, null, null),
    row("swiglu", 28, 0.3, 0.01, null, null),
  ];
  return {
    device: input.device,
    truth: "measured",
    machine: "A made-up machine",
    sentence: "Writing one token reads 0.40 GB; 84 % of the time goes into reading weights at 49 GB/s.",
    roof: measured(60e9, "bytes/s"),
    strings: ["", ...ops],
    lanes: [{ title: "CPU", device: "cpu" }],
    steps: {
      start: Float64Array.from(steps, (s) => s.start),
      seconds: Float32Array.from(steps, (s) => s.seconds),
      tokens: Uint32Array.from(steps, (s) => s.tokens),
      decode: Uint8Array.from(steps, (s) => s.decode),
    },
    slices: {
      start: Float64Array.from(slices, (s) => s.start),
      seconds: Float32Array.from(slices, (s) => s.seconds),
      lane: new Uint8Array(slices.length),
      step: Uint32Array.from(slices, (s) => s.step),
      op: Uint32Array.from(slices, (s) => s.op),
      label: Uint32Array.from(slices, (s) => s.op),
      bytes: Float64Array.from(slices, (s) => s.bytes),
      nodeStart: Uint32Array.from({ length: slices.length + 1 }, (_, i) => i),
      nodes: Uint32Array.from(slices, (s) => s.op + 20),
    },
    prefill: { seconds: measured(0.055, "seconds"), rows },
    decode: { seconds: measured(0.0314, "seconds"), rows },
  };
}
