/** The cases of issue and architecture for one device, as tests. */
import { beforeAll, expect, it } from "vitest";
import { seededRandom } from "../runtime/statistics.ts";
import { adam, adamw } from "../training/optimisers/adam.ts";
import { lion } from "../training/optimisers/lion.ts";
import { muon } from "../training/optimisers/muon.ts";
import { sgd } from "../training/optimisers/sgd.ts";
import { sophia } from "../training/optimisers/sophia.ts";
import { TrainingSession } from "../training/session.ts";
import type { TrainingDevice } from "../training/trainingDevice.ts";
import { cnnGraph, cnnInitial, cnnInputs, LINEAR, linearSession, losses, TRUTH } from "./trainingCases.ts";

const column = async (session: TrainingSession): Promise<readonly number[]> => [...(await session.param("W")).data];
const apart = (a: readonly number[], b: readonly number[]): number =>
  Math.max(...a.map((value, i) => Math.abs(value - (b[i] ?? NaN))));
const share = (all: readonly number[]): number => (all.at(-1) ?? NaN) / (all[0] ?? NaN);

export interface Suite {
  /** The device, and the CPU engine to compare with. */
  readonly open: () => Promise<{ readonly device: TrainingDevice; readonly cpu: TrainingDevice }>;
  /** Of W after some steps of Muon and Sophia, against the recurrence in float64. */
  readonly recurrence?: number;
}

export function trainingCases({ open, recurrence = 1e-4 }: Suite): void {
  let device: TrainingDevice;
  let cpu: TrainingDevice;
  beforeAll(async () => ({ device, cpu } = await open()));
  const fusions = (): readonly boolean[] => (device.keepsVariables === true ? [false, true] : [false]);
  const maybeFused = (session: TrainingSession, isFused: boolean): TrainingSession =>
    isFused ? session.withFusedOptimizer() : session;

  it("the NaN alarm names the operation, in f32 and in f16", async () => {
    for (const policy of ["f32", "f16"] as const) {
      const session = linearSession(device, sgd(), 0.1, 0).withPrecisionPolicy(policy, { start: 1 }).withNanAlarm();
      const bad = { ...LINEAR, target: LINEAR.target.map((_, i) => (i === 3 ? 1e3 : 1)) };
      const large = { ...bad, target: bad.target.map((value) => value * (policy === "f32" ? 1e30 : 1)) };
      expect(await session.step(large)).toMatchObject({ applied: false, alarm: true });
      expect(await session.findFault(large)).toMatchObject({ op: "mul", kind: "+infinity" });
      expect(await session.findFault(LINEAR)).toBeUndefined();
      expect(await column(session)).toEqual([0, 0, 0]);
      await session.dispose();
    }
  });

  it("1: MLUpdateTask is not eligible and says why; the path is the gradient's", async () => {
    const session = linearSession(device, undefined, 0.01, 0);
    const { supported, reason } = session.mlUpdateTaskEligibility();
    expect([supported, session.updatePath, session.config.lr, session.config.optimizer.name]).toEqual([
      false,
      "gradient",
      0.01,
      "sgd",
    ]);
    expect(reason).toMatch(/ML Program/);
    await session.dispose();
  });

  it("2: SGD 0.2 finds the truth in 60 steps", async () => {
    for (const isFused of fusions()) {
      const session = maybeFused(linearSession(device, sgd(), 0.2, 0), isFused);
      const all = await losses(session, 60);
      expect(share(all)).toBeLessThan(0.01);
      expect(all.at(-1)).toBeLessThan(1e-3);
      expect(apart(await column(session), TRUTH)).toBeLessThan(5e-2);
      expect(session.steps).toBe(61);
      await session.dispose();
    }
  });

  it("3: AdamW and Lion get there; Muon and Sophia follow the recurrence in float64", async () => {
    for (const isFused of fusions()) {
      const ofAdamw = maybeFused(linearSession(device, adamw(), 0.1, 0), isFused);
      expect(share(await losses(ofAdamw, 200))).toBeLessThan(0.02);
      await ofAdamw.dispose();
      const ofLion = maybeFused(linearSession(device, lion(), 0.02, 0), isFused);
      expect(share(await losses(ofLion, 200))).toBeLessThan(0.5);
      await ofLion.dispose();
      for (const [optimizer, lr] of [
        [muon(), 0.02],
        [sophia(), 0.05],
      ] as const) {
        const session = maybeFused(linearSession(device, optimizer, lr, 0), isFused);
        expect((await losses(session, 50)).every(Number.isFinite)).toBe(true);
        const wanted =
          optimizer.name === "muon" ? muonRecurrence(lr, 51) : sophiaRecurrence(lr, 51, session.config.seed);
        expect(apart(await column(session), wanted), optimizer.name).toBeLessThan(recurrence);
        await session.dispose();
      }
    }
  });

  it("4: three accumulated batches of the same data are one step", async () => {
    const session = linearSession(device, adam(), 0.1, 0.1);
    for (let i = 0; i < 3; i++) await session.accumulate(LINEAR);
    expect(session.pendingAccumulation).toBe(3);
    expect(await session.stepAccumulated()).toBe(3);
    expect([session.pendingAccumulation, session.steps]).toEqual([0, 1]);
    const plain = linearSession(device, adam(), 0.1, 0.1);
    await plain.step(LINEAR);
    expect(apart(await column(session), await column(plain))).toBeLessThan(1e-4);
    await session.dispose();
    await plain.dispose();
  });

  it("5: fused SGD with momentum is the host's", async () => {
    const host = linearSession(device, sgd({ momentum: 0.9 }), 0.05, 0.05);
    const fused = linearSession(device, sgd({ momentum: 0.9 }), 0.05, 0.05).withFusedOptimizer();
    expect([host.fusedActive, fused.fusedActive]).toEqual([false, device.keepsVariables === true]);
    expect(fused.fusedRefusal).toEqual(device.keepsVariables === true ? undefined : device.keepsVariables);
    const all = await losses(host, 40);
    await losses(fused, 40);
    expect(apart(await column(host), await column(fused))).toBeLessThan(1e-3);
    expect(share(all)).toBeLessThan(0.1);
    await host.dispose();
    await fused.dispose();
  });

  it("6: five steps of Adam give the CPU's weights", async () => {
    const [own, other] = [linearSession(device, adam(), 0.1, 0.25), linearSession(cpu, adam(), 0.1, 0.25)];
    await losses(own, 4);
    await losses(other, 4);
    expect(apart(await column(own), await column(other))).toBeLessThan(2e-3);
    await own.dispose();
    await other.dispose();
  });

  it.each(["f32", "i32"] as const)("7: a small CNN learns labels in %s", async (label) => {
    for (const isFused of fusions()) {
      const config = { device, lr: 0.05, optimizer: adam() };
      const session = maybeFused(new TrainingSession(cnnGraph(label), ["S", "Wfc"], cnnInitial, config), isFused);
      const all = await losses(session, 40, cnnInputs);
      expect(all.every(Number.isFinite)).toBe(true);
      expect(all[0]).toBeCloseTo(8 * Math.log(2), 3);
      expect(share(all)).toBeLessThan(0.5);
      await session.dispose();
    }
  });

  it("8: mixed f16 learns, too", async () => {
    for (const isFused of fusions()) {
      const session = maybeFused(linearSession(device, sgd(), 0.2, 0).withPrecisionPolicy("mixed"), isFused);
      const all = await losses(session, 60);
      expect(all.every(Number.isFinite)).toBe(true);
      expect(share(all)).toBeLessThan(0.1);
      await session.dispose();
    }
  });
}

// --------------------------------------------------------- the recurrences, by hand, in float64

const gradient = (w: readonly number[]): readonly number[] => {
  const { x, target } = LINEAR;
  const sums = [0, 0, 0];
  for (let n = 0; n < 8; n++) {
    const row = [0, 1, 2].map((d) => x[n * 3 + d] ?? 0);
    const off = row.reduce((sum, value, d) => sum + value * (w[d] ?? 0), 0) - (target[n] ?? 0);
    row.forEach((value, d) => (sums[d] = (sums[d] ?? 0) + 2 * off * value));
  }
  return sums;
};

/** Of a column, the Newton-Schulz iteration is one on its length: s ← 3.4445 s − 4.775 s³ + 2.0315 s⁵. */
function muonRecurrence(lr: number, steps: number): readonly number[] {
  let [w, m] = [
    [0, 0, 0],
    [0, 0, 0],
  ];
  for (let t = 0; t < steps; t++) {
    const g = gradient(w);
    m = m.map((value, i) => 0.95 * value + (g[i] ?? 0));
    const mixed = m.map((value, i) => 0.95 * value + (g[i] ?? 0));
    const length = Math.hypot(...mixed) + 1e-7;
    const unit = mixed.map((value) => value / length);
    let s = Math.hypot(...unit);
    const start = s;
    for (let i = 0; i < 5; i++) s = 3.4445 * s - 4.775 * s ** 3 + 2.0315 * s ** 5;
    w = w.map((value, i) => value - lr * Math.sqrt(3) * ((unit[i] ?? 0) / start) * s);
  }
  return w;
}

/** With the signs that the session draws from its seed, three at every tenth step. */
function sophiaRecurrence(lr: number, steps: number, seed: number): readonly number[] {
  let [w, m, h] = [
    [0, 0, 0],
    [0, 0, 0],
    [0, 0, 0],
  ];
  const zero = gradient([0, 0, 0]);
  for (let t = 1; t <= steps; t++) {
    const g = gradient(w);
    m = m.map((value, i) => 0.965 * value + 0.035 * (g[i] ?? 0));
    if (t % 10 === 1) {
      const drawn = seededRandom(seed + t);
      const u = [drawn(), drawn(), drawn()].map((value) => (value < 0.5 ? -1 : 1));
      // The gradient is affine: H u is its change along u.
      const product = gradient(u).map((value, i) => value - (zero[i] ?? 0));
      h = h.map((value, i) => 0.99 * value + 0.01 * (u[i] ?? 0) * (product[i] ?? 0));
    }
    w = w.map((value, i) => {
      const step = Math.min(1, Math.max(-1, (m[i] ?? 0) / Math.max(0.01 * (h[i] ?? 0), 1e-12)));
      return value - lr * (step + 0.1 * value);
    });
  }
  return w;
}
