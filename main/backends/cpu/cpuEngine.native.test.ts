// The native engine's life: handles, cancel, files that change, plans that lie, and a hundred cycles without growth.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, truncateSync, utimesSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { compileCpu } from "./compile.ts";
import { GraphBuilder } from "../../ir/builder.ts";
import type { CpuEngine } from "./engine.ts";
import type { Graph } from "../../ir/graph.ts";
import { tensor } from "../../ir/type.ts";
import { opTable, typedBuilder } from "../../ops/index.ts";
import { cpuDevice, cpuRules } from "../../runtime/devices/cpu.ts";
import type { CpuDeviceOptions } from "../../runtime/devices/cpu.ts";
import { cancelledInTheMiddle } from "../../testing/cancelled.ts";
import type { Look } from "../../testing/growth.ts";
import { growth, lookAtMemory } from "../../testing/growth.ts";
import { damagedPlan } from "../../testing/mutatePlan.ts";
import { seededRandom } from "../../testing/random.ts";
import { loadAddon } from "../../node/native/addon.ts";

const engine = loadAddon();
const folder = mkdtempSync(join(tmpdir(), "rlx-cpu-engine-"));
const WIDTH = 256;
const BYTES = WIDTH * WIDTH * 4;

/** `layers` products with one square matrix that lies in a file. */
function chain(layers: number): Graph {
  const builder = new GraphBuilder(opTable, "chain");
  const g = typedBuilder(builder);
  builder.limitSymbol("T", 512);
  let x = builder.input("x", tensor("f32", ["T", WIDTH]));
  const w = builder.param("w", tensor("f32", [WIDTH, WIDTH]), { file: "f", tensor: "w" });
  for (let i = 0; i < layers; i++) x = g.tanh([g.linear([x, w])]);
  builder.output("y", x);
  return builder.finish();
}

function weightsFile(name: string): string {
  const random = seededRandom(7);
  const path = join(folder, name);
  writeFileSync(
    path,
    new Uint8Array(Float32Array.from({ length: WIDTH * WIDTH }, () => random.normal() * 0.05).buffer),
  );
  return path;
}

const optionsFor = (path: string): CpuDeviceOptions => ({
  threads: 2,
  weights: { paths: [path], locate: () => ({ file: 0, offset: 0, bytes: BYTES }) },
});
const rows = (count: number): Float32Array => Float32Array.from({ length: count * WIDTH }, (_, i) => Math.sin(i));
const codeOf = (error: unknown): unknown => (error as { code?: unknown }).code;

let path = "";
beforeAll(() => {
  path = weightsFile("weights.bin");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("runs", () => {
  test("a chain equals plain arithmetic, whatever the number of rows at once", async () => {
    const compiled = cpuDevice(engine, optionsFor(path)).compile(chain(3));
    const session = compiled.open();
    const whole = await session.run({ inputs: { x: rows(24) }, fetch: ["y"] });
    const y = new Float32Array(whole.outputs["y"]!.bytes.buffer);
    const one = await session.run({ inputs: { x: rows(1) }, fetch: ["y"] });
    new Float32Array(one.outputs["y"]!.bytes.buffer).forEach((value, i) => expect(value).toBeCloseTo(y[i]!, 5));
    session.dispose();
    compiled.dispose();
  });

  test("inputs are checked by name, size and limit", async () => {
    const compiled = cpuDevice(engine, optionsFor(path)).compile(chain(1));
    const session = compiled.open();
    const failing = (inputs: Record<string, Float32Array>, symbols = {}): Promise<unknown> =>
      session.run({ inputs, symbols }).then(() => "no error", codeOf);
    expect(await failing({})).toBe("INPUT_ARGUMENT");
    expect(await failing({ z: rows(1), x: rows(1) })).toBe("INPUT_ARGUMENT");
    expect(await failing({ x: rows(2) }, { T: 3 })).toBe("INPUT_ARGUMENT");
    expect(await failing({ x: new Float32Array(3) })).toBe("IR_SHAPE");
    expect(await failing({ x: rows(513) })).toBe("IR_SHAPE");
    expect(await failing({ x: rows(2) })).toBe("no error");
    session.dispose();
    compiled.dispose();
  });

  test("a cancel ends the run with CANCELLED, soon, and the session goes on", async () => {
    const compiled = cpuDevice(engine, optionsFor(path)).compile(chain(4000));
    const session = compiled.open();
    const controller = new AbortController();
    const running = session.run({ inputs: { x: rows(512) } }, controller.signal).then(() => "finished", codeOf);
    await new Promise((resolve) => setTimeout(resolve, 30));
    controller.abort();
    expect(await running).toBe("CANCELLED");
    expect(await session.run({ inputs: { x: rows(1) } }, controller.signal).then(() => "finished", codeOf)).toBe(
      "CANCELLED",
    );
    session.dispose();
    compiled.dispose();
  });
});

test("a cancel ends a single long operation in its middle", async () => {
  const [wide, inner, tokens] = [4096, 1024, 2048];
  const weights = join(folder, "long.bin");
  writeFileSync(weights, new Uint8Array(new Float32Array(wide * inner).fill(0.01).buffer));
  const builder = new GraphBuilder(opTable, "long");
  const g = typedBuilder(builder);
  const x = builder.input("x", tensor("f32", [tokens, inner]));
  builder.output("y", g.linear([x, builder.param("w", tensor("f32", [wide, inner]), { file: "f", tensor: "w" })]));
  const compiled = cpuDevice(engine, {
    threads: 2,
    weights: { paths: [weights], locate: () => ({ file: 0, offset: 0, bytes: 4 * wide * inner }) },
  }).compile(builder.finish());
  const session = compiled.open();
  const request = { inputs: { x: new Float32Array(tokens * inner).fill(0.5) } };
  await session.run(request);
  const { seconds } = await session.run(request);
  const { of } = await cancelledInTheMiddle((signal) => session.run(request, signal), 100 * seconds);
  expect(of).toBe("parts");
  session.dispose();
  compiled.dispose();
});

describe("handles", () => {
  test("dispose is idempotent, and what was disposed is unknown", async () => {
    const compiled = cpuDevice(engine, optionsFor(path)).compile(chain(1));
    const session = compiled.open();
    session.dispose();
    session.dispose();
    expect(await session.run({ inputs: { x: rows(1) } }).catch(codeOf)).toBe("HANDLE_UNKNOWN");
    const next = compiled.open();
    expect(await session.run({ inputs: { x: rows(1) } }).catch(codeOf)).toBe("HANDLE_UNKNOWN");
    next.dispose();
    compiled.dispose();
  });

  test("a run keeps session, plan and weights alive until it ends", async () => {
    const compiled = cpuDevice(engine, optionsFor(path)).compile(chain(50));
    const session = compiled.open();
    const running = session.run({ inputs: { x: rows(64) }, fetch: ["y"] });
    session.dispose();
    compiled.dispose();
    expect(engine.counts()).toMatchObject({ weights: 0, plans: 0, sessions: 0 });
    expect((await running).outputs["y"]?.shape).toEqual([64, WIDTH]);
  });

  test("a hundred cycles of load, run, cancel and dispose leave nothing behind", async () => {
    const cycle = async (): Promise<void> => {
      const compiled = cpuDevice(engine, optionsFor(path)).compile(chain(40));
      const session = compiled.open();
      await session.run({ inputs: { x: rows(4) }, fetch: ["y"] });
      const controller = new AbortController();
      const running = session.run({ inputs: { x: rows(256) } }, controller.signal).catch(codeOf);
      controller.abort();
      await running;
      session.dispose();
      compiled.dispose();
    };
    for (let i = 0; i < 60; i++) await cycle();
    const looks: Look[] = [];
    for (let i = 0; i < 60; i++) {
      await cycle();
      looks.push(lookAtMemory());
    }
    // Bytes a cycle; without a leak the heap rises by some hundreds, and pages of the allocator come and go.
    const { resident, heap, external } = growth(looks);
    console.log(
      `each cycle adds ${resident.toFixed(0)} bytes resident, ${heap.toFixed(0)} heap, ${external.toFixed(0)} external`,
    );
    expect(resident).toBeLessThan(48 << 10);
    expect(heap).toBeLessThan(8 << 10);
    expect(external).toBeLessThan(8 << 10);
    expect(engine.counts()).toEqual({ weights: 0, plans: 0, sessions: 0, jobs: 0 });
  });
});

test("sessions that were lost without dispose are collected before many of them pile up", async () => {
  const builder = new GraphBuilder(opTable, "cache");
  const g = typedBuilder(builder);
  const cache = builder.state("cache", tensor("f32", [1, 8192, 1024]));
  builder.output("y", g.add([builder.input("x", tensor("f32", [1])), builder.input("z", tensor("f32", [1]))]));
  builder.setState("cache", cache);
  const compiled = cpuDevice(engine, { threads: 1 }).compile(builder.finish());
  let most = 0;
  for (let i = 0; i < 120; i++) {
    compiled.open();
    await new Promise((resolve) => setTimeout(resolve, 1));
    most = Math.max(most, engine.counts().sessions);
  }
  expect(most).toBeLessThan(80);
  compiled.dispose();
});

test("says how its kernels run, for each instruction set", () => {
  for (const isa of engine.isas) {
    const { notes } = loadAddon({ isa });
    expect(notes.map(({ kernels }) => kernels.split(" ")[0])).toEqual(expect.arrayContaining(["matmul", "attention"]));
    expect(notes.every(({ how }) => how.length > 3)).toBe(true);
  }
  expect(new Set(engine.isas.map((isa) => JSON.stringify(loadAddon({ isa }).notes))).size).toBe(engine.isas.length);
});

describe("the instruction set", () => {
  test("without a name is the best of those that run here", () => {
    const best = engine.isas.at(-1)!;
    expect(engine.isa).toBe(best);
    // What the kernels themselves say: the notes of each set differ.
    expect(engine.notes).toEqual(loadAddon({ isa: best }).notes);
  });

  // Where Linux says it, in /proc/cpuinfo; elsewhere there is no such list to hold it to.
  test.runIf(process.platform === "linux")("is there wherever Linux says that the processor has it", () => {
    const [, listed = ""] = /^(?:flags|Features)\s*:(.*)$/mu.exec(readFileSync("/proc/cpuinfo", "utf8")) ?? [];
    const flags = new Set(listed.trim().split(/\s+/u));
    const has = (...names: readonly string[]): boolean => names.every((name) => flags.has(name));
    const avx2 = has("avx2", "fma", "f16c");
    const avx512 = has("avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512_vnni", "avx512vbmi", "gfni");
    // A build whose compiler does not know tiles has no kernels for them.
    const build = (): string => readFileSync(join(import.meta.dirname, "../../../native/build/CMakeCache.txt"), "utf8");
    const amx = has("amx_tile", "amx_int8") && /^RLX_COMPILES_TILES:INTERNAL=1$/mu.test(build());
    const sets = {
      x64: [
        ...(avx2 ? ["avx2"] : []),
        ...(avx2 && avx512 ? ["avx512"] : []),
        ...(avx2 && avx512 && amx ? ["amx"] : []),
      ],
      arm64: [...["neon"], ...(has("asimddp") ? ["neon-dot"] : []), ...(has("asimddp", "i8mm") ? ["neon-i8mm"] : [])],
    };
    expect(engine.isas).toEqual(["scalar", ...sets[process.arch as keyof typeof sets]]);
  });
});

describe("larger pages", () => {
  const there = !engine.notes.some(({ how }) => how.includes("the system gives no pages"));
  const SIZE = 70 << 20;
  const big = join(folder, "big.bin");
  beforeAll(() => {
    writeFileSync(big, Buffer.alloc(SIZE, "weights?"));
  });
  afterEach(() => {
    vi.restoreAllMocks();
  });

  /** Bytes of the mapped file that the system says lie in pages of 2 MB. */
  function saidBySystem(): number {
    const maps = readFileSync("/proc/self/smaps", "utf8").split(/\n(?=[0-9a-f]+-[0-9a-f]+ )/);
    const sizes = maps
      .filter((map) => map.split("\n", 1)[0]!.endsWith(big))
      .map((map) => /FilePmdMapped: +(\d+)/.exec(map)?.[1]);
    return sizes.reduce((sum, size) => sum + 1024 * Number(size ?? 0), 0);
  }

  /** Bytes in larger pages after this many runs: when no more will come, or half a second later where none may. */
  async function largeAfter(
    opened: CpuEngine,
    runs: number,
    wanted: boolean,
  ): Promise<{ bytes: number; mapped: number }> {
    const weights = opened.openWeights({ paths: [big] });
    const plan = compileCpu(chain(1), cpuRules, () => ({ file: 0, offset: SIZE - BYTES, bytes: BYTES })).bytes;
    const handle = opened.loadPlan(plan, weights);
    const session = handle.openSession({ threads: 1 });
    const run = async () => (await session.run({ inputs: { x: rows(1) }, symbols: { T: 1 } })).outputs["y"]?.bytes;
    const before = await run();
    for (let i = 1; i < runs; i++) expect(await run()).toEqual(before);
    const end = Date.now() + (wanted ? 20_000 : 500);
    do await new Promise((resolve) => setTimeout(resolve, 10));
    while (Date.now() < end && !weights.largePages().done);
    const { bytes, done } = weights.largePages();
    expect(done).toBe(wanted);
    const mapped = there ? saidBySystem() : 0;
    if (runs > 1) expect(await run()).toEqual(before);
    for (const each of [session, handle, weights]) each.dispose();
    return { bytes, mapped };
  }
  const copying = loadAddon({ weights: "copied" });
  const available = (bytes: number) => vi.spyOn(process, "availableMemory").mockReturnValue(bytes);

  test("are those of the file itself from the second run on, as far as the file system has them", async () => {
    available(2 * SIZE);
    const { bytes, mapped } = await largeAfter(engine, 2, there);
    // Some or none, by the file system and the disk (the core tests ask more where they have them): what is said is true.
    expect(bytes).toBe(mapped);
  });
  test("hold a copy where that was asked for", async () => {
    available(2 * SIZE);
    expect(await largeAfter(copying, 2, there)).toEqual({ bytes: there ? SIZE : 0, mapped: 0 });
  });
  test("are not taken for one run", async () => {
    expect((await largeAfter(copying, 1, false)).bytes).toBe(0);
  });
  test("are not taken where the file shall stay mapped as it is", async () => {
    expect((await largeAfter(loadAddon({ weights: "mapped" }), 2, false)).bytes).toBe(0);
  });
  test("hold no copy that would fill more than half of what is available", async () => {
    available(2 * SIZE - 1);
    expect((await largeAfter(copying, 2, false)).bytes).toBe(0);
  });
});

describe("files that change", () => {
  const changed = async (change: (file: string) => void): Promise<unknown> => {
    const file = weightsFile(`changing-${Math.random()}.bin`);
    const compiled = cpuDevice(engine, optionsFor(file)).compile(chain(2));
    const session = compiled.open();
    await session.run({ inputs: { x: rows(1) } });
    change(file);
    const code = await session.run({ inputs: { x: rows(1) } }).then(() => "finished", codeOf);
    session.dispose();
    compiled.dispose();
    return code;
  };
  test("a later time is INPUT_CHANGED", async () => {
    expect(await changed((file) => utimesSync(file, new Date(), new Date(Date.now() + 60_000)))).toBe("INPUT_CHANGED");
  });
  test("a shorter file is INPUT_CHANGED", async () => {
    expect(await changed((file) => truncateSync(file, 100))).toBe("INPUT_CHANGED");
  });

  test("a file that shrinks in the middle of a run ends the run, not the process", async () => {
    const file = weightsFile("shrinking.bin");
    const compiled = cpuDevice(engine, optionsFor(file)).compile(chain(4000));
    const session = compiled.open();
    const running = session.run({ inputs: { x: rows(256) } }).then(() => "finished", codeOf);
    await new Promise((resolve) => setTimeout(resolve, 20));
    truncateSync(file, 0);
    expect(await running).toBe("INPUT_CHANGED");
    session.dispose();
    compiled.dispose();
  });

  test("a missing or empty file has a code", () => {
    const opened = (name: string): unknown => {
      try {
        engine.openWeights({ paths: [join(folder, name)] }).dispose();
      } catch (error) {
        return codeOf(error);
      }
      return "opened";
    };
    writeFileSync(join(folder, "empty.bin"), "");
    expect(opened("nowhere.bin")).toBe("INPUT_NOT_FOUND");
    expect(opened("empty.bin")).toBe("INPUT_UNREADABLE");
    expect(opened(".")).toBe("INPUT_UNREADABLE");
  });
});

test("mutated plans are refused with a code or run without harm", async () => {
  const plan = compileCpu(chain(3), cpuRules, () => ({ file: 0, offset: 0, bytes: BYTES })).bytes;
  const weights = engine.openWeights({ paths: [path] });
  const random = seededRandom(11);
  let refused = 0;
  for (let i = 0; i < 3000; i++) {
    const bytes = damagedPlan(plan, random).subarray(0, i % 5 === 0 ? random.integer(plan.length) : plan.length);
    try {
      const handle = engine.loadPlan(bytes, weights);
      try {
        const session = handle.openSession({ threads: 1 });
        await session.run({ inputs: { x: rows(1) }, symbols: { T: 1 } }).finally(() => session.dispose());
      } finally {
        handle.dispose();
      }
    } catch (error) {
      expect(typeof codeOf(error)).toBe("string");
      expect(codeOf(error)).not.toBe("BUG_UNEXPECTED");
      refused++;
    }
  }
  weights.dispose();
  expect(refused).toBeGreaterThan(1000);
});

test("an environment that ends in the middle of a run ends cleanly", () => {
  const program = `
    import { Worker, isMainThread } from "node:worker_threads";
    import { loadAddon } from ${JSON.stringify(join(import.meta.dirname, "../../node/native/addon.ts"))};
    const engine = loadAddon();
    void engine.readBandwidth(2, 64 << 20, 60).catch(() => {});
    setTimeout(() => process.exit(7), 100);
  `;
  const file = join(folder, "leaving.mts");
  writeFileSync(file, program);
  let status: unknown;
  try {
    execFileSync(process.execPath, ["--import", "tsx", file], {
      cwd: join(import.meta.dirname, "../../.."),
      timeout: 20_000,
      stdio: "pipe",
    });
  } catch (error) {
    status = (error as { status?: unknown }).status;
  }
  expect(status).toBe(7);
});
