// The memory plan against brute force: the arena is played through instruction by instruction, every slot knowing its writer
// last. Whatever an instruction reads must still be there, and what it writes must not lie over what it reads, but for element-wise
// results that lie exactly where an operand lay that no one reads any more.
import { describe, expect, it } from "vitest";
import { byteLength } from "../../ir/type.ts";
import type { Bindings } from "../../ir/dim.ts";
import { bindDim } from "../../ir/dim.ts";
import { tensor } from "../../ir/type.ts";
import { seededRandom } from "../../testing/random.ts";
import type { DraftInstruction, PlanDraft } from "./draft.ts";
import { isElementwise } from "./kernelFacts.ts";
import { assignMemory } from "./lower.ts";
import type { MemoryPlan } from "./memoryPlan.ts";
import { planMemory } from "./memoryPlan.ts";
import { TestDraft } from "./testDraft.ts";

const SLOT = 64;
const LIMITS: Bindings = { T: 7, R: 3, capacity: 32 };

/** A plain throw: this runs a million times. */
function need(condition: boolean, what: string): void {
  if (!condition) throw new Error(what);
}

/** Plays the plan; gives the largest sum of temporaries that are needed at one instruction. */
function play(draft: PlanDraft, memory: MemoryPlan): number {
  const arena = new Int32Array(memory.arenaBytes / SLOT).fill(-1);
  const isTemp = (buffer: number): boolean => draft.kindOf(buffer).kind === "temp";
  const slotsOf = (id: number): readonly [number, number] => {
    const { type, buffer } = draft.valueAt(id);
    const offset = memory.offsets[buffer]!;
    const bytes = Number(bindDim(byteLength(type), LIMITS));
    need(offset >= 0 && offset % SLOT === 0, `buffer ${buffer} lies at ${offset}`);
    need(bytes <= memory.sizes[buffer]!, `value ${id} is larger than its buffer`);
    need(offset + memory.sizes[buffer]! <= memory.arenaBytes, `buffer ${buffer} is outside the arena`);
    return [offset / SLOT, (offset + bytes) / SLOT];
  };
  const temps = (ids: readonly number[]): readonly number[] =>
    ids.filter((id) => id >= 0 && isTemp(draft.bufferOf(id)));
  /** The operand's buffer that the result of an instruction may lie over, and does. */
  const takenAt = draft.instructions.map(({ kernel, inputs, outputs }, at) => {
    const [result] = temps(outputs);
    if (!isElementwise(kernel) || result === undefined) return -1;
    const type = JSON.stringify(draft.valueAt(result).type);
    const own = draft.bufferOf(result);
    const named = (from: readonly DraftInstruction[], buffer: number): boolean =>
      from.some((each) => [...each.inputs, ...each.outputs].some((id) => id >= 0 && draft.bufferOf(id) === buffer));
    const taken = temps(inputs)
      .map((id) => draft.bufferOf(id))
      .find((buffer) => buffer !== own && memory.offsets[buffer] === memory.offsets[own]);
    if (taken === undefined) return -1;
    const isSame = inputs.every(
      (id) => id < 0 || draft.bufferOf(id) !== taken || JSON.stringify(draft.valueAt(id).type) === type,
    );
    need(isSame, `${kernel} lies over an operand of another type`);
    need(!named(draft.instructions.slice(at + 1), taken), `${kernel} lies over an operand that is read later`);
    need(!named(draft.instructions.slice(0, at), own), `${kernel} lies over an operand, and was there before`);
    return taken;
  });
  for (const [at, { kernel, inputs, outputs }] of draft.instructions.entries()) {
    const reads = temps(inputs);
    const writes = temps(outputs);
    for (const id of reads) {
      const [from, to] = slotsOf(id);
      const holds = arena.subarray(from, Math.ceil(to));
      const whole = holds.every((buffer) => buffer === draft.bufferOf(id));
      need(whole, `${kernel} reads value ${id}, which is not there`);
    }
    const claimed = new Map<number, number>();
    for (const id of [...reads.filter((read) => draft.bufferOf(read) !== takenAt[at]), ...writes]) {
      const buffer = draft.bufferOf(id);
      const [from, to] = slotsOf(id);
      for (let slot = from; slot < to; slot++) {
        need((claimed.get(slot) ?? buffer) === buffer, `${kernel} uses a slot twice`);
        claimed.set(slot, buffer);
      }
    }
    for (const id of writes) {
      const [from, to] = slotsOf(id);
      arena.fill(draft.bufferOf(id), from, Math.ceil(to));
    }
  }
  // From the definition, quadratic on purpose: what is named before or here and here or later is needed here.
  const named = draft.instructions.map(
    ({ inputs, outputs }) => new Set(temps([...inputs, ...outputs]).map((id) => draft.bufferOf(id))),
  );
  let most = 0;
  named.forEach((_, at) => {
    const before = new Set(named.slice(0, at + 1).flatMap((set) => [...set]));
    const after = new Set(named.slice(at).flatMap((set) => [...set]));
    const live = [...before].filter((buffer) => after.has(buffer) && buffer !== takenAt[at]);
    const ranges = live.map(
      (buffer) => [memory.offsets[buffer]!, memory.offsets[buffer]! + memory.sizes[buffer]!] as const,
    );
    ranges.sort(([a], [b]) => a - b);
    for (let i = 1; i < ranges.length; i++)
      need(ranges[i]![0] >= ranges[i - 1]![1], `two live buffers overlap at ${at}`);
    most = Math.max(
      most,
      live.reduce((sum, buffer) => sum + memory.sizes[buffer]!, 0),
    );
  });
  return most;
}

/** A chain of instructions with several readers, views, products, caches and outputs. */
function randomDraft(seed: number): PlanDraft {
  const random = seededRandom(seed);
  const t = new TestDraft();
  const width = (): number => random.pick([1, 3, 8, 16, 40]);
  const rows = random.pick<number | string>(["T", 5, "2*T"]);
  const values = [t.input("x", [rows, 8]), t.input("z", [rows, 16])];
  const past = t.input("past", tensor("i32", []));
  const pick = (): number => random.pick(random.integer(4) === 0 ? values : values.slice(-4));
  const shapeOf = (id: number): readonly (number | string)[] => t.draft.valueAt(id).type.shape;
  const columns = (id: number): number => Number(shapeOf(id).at(-1));
  const count = 2 + random.integer(40);
  for (let i = 0; i < count; i++) {
    const x = pick();
    const n = width();
    switch (random.integer(9)) {
      case 0:
        values.push(t.one("linear", [x, t.weight([n, columns(x)])], [...shapeOf(x).slice(0, -1), n]));
        break;
      case 1:
        values.push(t.one("add", [x, x], shapeOf(x)));
        break;
      case 2: {
        const product = t.one("linear", [x, t.weight([columns(x), columns(x)])], shapeOf(x));
        values.push(t.one("add", [product, x], shapeOf(x)));
        break;
      }
      case 3: {
        const norm = t.one("rms_norm", [x, t.weight([columns(x)])], shapeOf(x), { eps: 1e-5 });
        const shape = [...shapeOf(x).slice(0, -1), n];
        const [g, u] = [0, 1].map(() => t.one("linear", [norm, t.weight([n, columns(x)])], shape));
        values.push(t.one("mul", [g!, u!], shape));
        break;
      }
      case 4:
        values.push(...t.emit("topk", [x], [shapeOf(x), tensor("i32", shapeOf(x))]).slice(0, 1));
        break;
      case 5:
        values.push(t.view(x, [...shapeOf(x).slice(0, -1), 1, columns(x)]));
        break;
      case 6: {
        const shapes = [0, 1].map(() => [...shapeOf(x).slice(0, -1), n]);
        const matrices = shapes.flatMap(() => [t.weight([n, columns(x)]), -1]);
        values.push(...t.emit("linear_block", [x, t.weight([columns(x)]), -1, ...matrices], shapes, { eps: 1e-5 }));
        break;
      }
      case 7: {
        const name = `cache.${i}`;
        const cache = t.state(name, [1, "capacity", 8]);
        const fresh = t.one("linear", [x, t.weight([8, columns(x)])], [rows, 1, 8]);
        const next = t.one("kv_append", [cache, fresh, past], [1, "capacity", 8]);
        if (random.integer(3) > 0) t.next(name, next);
        values.push(t.one("tanh", [fresh], [rows, 1, 8]));
        break;
      }
      default:
        values.push(t.one("tanh", [x], shapeOf(x)));
    }
  }
  t.output("y", values.at(-1)!);
  if (random.integer(2) === 0) t.output("more", random.pick(values));
  assignMemory(t.draft);
  return t.draft;
}

describe("memory plan", () => {
  it("keeps every live value whole on 500 random drafts, and the arena between the need and the sum", () => {
    let [shared, sum, need] = [0, 0, 0];
    for (let seed = 1; seed <= 500; seed++) {
      const draft = randomDraft(seed);
      const memory = planMemory(draft, LIMITS);
      const most = play(draft, memory);
      expect(memory.arenaBytes, `seed ${seed}`).toBeGreaterThanOrEqual(most);
      expect(memory.arenaBytes, `seed ${seed}`).toBeLessThanOrEqual(memory.unsharedBytes);
      [shared, sum, need] = [shared + memory.arenaBytes, sum + memory.unsharedBytes, need + most];
    }
    // Sharing is what it is for: far below the sum, and not far above what is needed at once.
    expect(shared / sum).toBeLessThan(0.6);
    expect(shared / need).toBeLessThan(1.25);
  });

  it("is what the play is about: a plan with two live values in one place is found out", () => {
    const draft = randomDraft(4);
    const memory = planMemory(draft, LIMITS);
    const flat = { ...memory, offsets: memory.offsets.map((offset) => Math.min(offset, 0)) };
    play(draft, memory);
    expect(() => play(draft, flat)).toThrow(/twice|not there|overlap|lies over/);
  });

  it("gives nothing to what is no temporary, and sizes by the largest view", () => {
    const t = new TestDraft();
    const x = t.input("x", ["T", 8]);
    const small = t.one("tanh", [x], ["T", 8]);
    const wide = t.view(small, ["T", 2, 16]);
    t.output("y", t.one("copy", [wide], ["T", 32]));
    assignMemory(t.draft);
    const memory = planMemory(t.draft, LIMITS);
    const at = (id: number): number => memory.offsets[t.draft.bufferOf(id)]!;
    expect(at(x)).toBe(-1);
    expect(memory.sizes[t.draft.bufferOf(wide)]).toBe(Math.ceil((7 * 32 * 4) / SLOT) * SLOT);
    expect(memory.arenaBytes).toBe(memory.sizes[t.draft.bufferOf(wide)]);
  });

  it.each([
    ["softmax", 2],
    ["tanh", 1],
  ] as const)("uses as few places as it can for a chain of %s however long it is", (kernel, places) => {
    const t = new TestDraft();
    let x = t.input("x", [16]);
    for (let i = 0; i < 100; i++) x = t.one(kernel, [x], [16]);
    t.output("y", x);
    assignMemory(t.draft);
    const memory = planMemory(t.draft, {});
    expect(memory.arenaBytes).toBe(places * SLOT);
    expect(memory.unsharedBytes).toBe(99 * SLOT);
  });

  it("leaves an operand where it is that is spread, of another type, or read again", () => {
    const t = new TestDraft();
    const row = t.one("softmax", [t.input("row", [16])], [16]);
    const x = t.one("softmax", [t.input("x", [1, 16])], [1, 16]);
    const spread = t.one("add", [row, x], [1, 16]);
    const again = t.one("mul", [spread, x], [1, 16]);
    t.output("y", t.one("softmax", [t.one("add", [again, spread], [1, 16])], [1, 16]));
    assignMemory(t.draft);
    const memory = planMemory(t.draft, {});
    play(t.draft, memory);
    const at = (id: number): number => memory.offsets[t.draft.bufferOf(id)]!;
    // `row` has the bytes of the result, and another shape; `spread` is read once more; `x` goes.
    expect(at(spread)).not.toBe(at(row));
    expect(at(again)).not.toBe(at(spread));
    expect(at(again)).toBe(at(x));
  });

  it("says which symbol has no limit", () => {
    const t = new TestDraft();
    t.output("y", t.one("tanh", [t.one("tanh", [t.input("x", ["T", "past"])], ["T", "past"])], ["T", "past"]));
    assignMemory(t.draft);
    expect(() => planMemory(t.draft, { T: 4 })).toThrow(
      expect.objectContaining({ code: "IR_SHAPE", message: expect.stringContaining("past") }),
    );
  });
});
