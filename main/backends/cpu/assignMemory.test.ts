// What happens after the patterns: results in the memory of their operands where that is right, states that end where they
// began, outputs in memory of their own. Each draft is also played with names in place of numbers, to see what a run leaves.
import { describe, expect, it } from "vitest";
import { tensor } from "../../ir/type.ts";
import { inPlace } from "./kernelFacts.ts";
import { assignMemory } from "./lower.ts";
import { TestDraft } from "./testDraft.ts";

const CACHE = [2, "capacity", 4] as const;
const ROWS = ["T", 2, 4] as const;

/** What each output and state holds after a run: expressions over the inputs and the old states, by the memory they lie in. */
function play({ draft }: TestDraft): Record<string, string> {
  const memory = new Map<number, string>();
  for (const { name, value } of [...draft.inputs, ...draft.states]) memory.set(draft.bufferOf(value), name);
  for (const { kernel, inputs, outputs } of draft.instructions) {
    const read = inputs.map((id) => memory.get(draft.bufferOf(id)) ?? "?");
    const text = kernel === "copy" ? (read[0] ?? "?") : `${kernel}(${read.join(", ")})`;
    for (const pair of inPlace(kernel)) {
      const [from, to] = [inputs[pair.input] ?? -1, outputs[pair.output] ?? -1];
      // The native kernel copies the operand when the result lies elsewhere.
      if (draft.bufferOf(from) !== draft.bufferOf(to)) memory.set(draft.bufferOf(to), read[pair.input] ?? "?");
    }
    for (const id of outputs) memory.set(draft.bufferOf(id), text);
  }
  const held = (value: number): string => memory.get(draft.bufferOf(value)) ?? "?";
  const found: Record<string, string> = {};
  for (const { name, value } of draft.outputs) found[name] = held(value);
  for (const { name, value } of draft.states) found[`next ${name}`] = held(value);
  return found;
}
const settled = (t: TestDraft): Record<string, string> => {
  assignMemory(t.draft);
  return play(t);
};
const leaves = (): { t: TestDraft; x: number; past: number; cache: number } => {
  const t = new TestDraft();
  return { t, x: t.input("x", ROWS), past: t.input("past", tensor("i32", [])), cache: t.state("c", CACHE) };
};

describe("appends", () => {
  it("happen in the memory of the state", () => {
    const { t, x, past, cache } = leaves();
    const next = t.one("kv_append", [cache, x, past], CACHE);
    t.next("c", next);
    t.output("y", t.one("tanh", [next], CACHE));
    expect(settled(t)).toEqual({ y: "tanh(kv_append(c, x, past))", "next c": "kv_append(c, x, past)" });
    expect(t.kernels).toEqual(["kv_append", "tanh"]);
    expect(t.draft.bufferOf(next)).toBe(t.draft.bufferOf(cache));
  });
  it("one after the other end in the state as well", () => {
    const { t, x, past, cache } = leaves();
    const once = t.one("kv_append", [cache, x, past], CACHE);
    const twice = t.one("kv_append", [once, x, past], CACHE);
    t.next("c", twice);
    expect(settled(t)).toEqual({ "next c": "kv_append(kv_append(c, x, past), x, past)" });
  });
  it("leave the old value alone while a later instruction reads it", () => {
    const { t, x, past, cache } = leaves();
    const next = t.one("kv_append", [cache, x, past], CACHE);
    t.next("c", next);
    t.output("old", t.one("tanh", [cache], CACHE));
    expect(settled(t)).toEqual({ old: "tanh(c)", "next c": "kv_append(c, x, past)" });
    expect(t.kernels).toEqual(["kv_append", "tanh", "copy"]);
  });
  it("leave it alone when a later in-place result is read through the first", () => {
    const { t, x, past, cache } = leaves();
    const next = t.one("kv_append", [cache, x, past], CACHE);
    t.next("c", next);
    const branch = t.one("kv_append", [next, x, past], CACHE);
    t.output("branch", branch);
    t.output("seen", t.one("tanh", [next], CACHE));
    expect(settled(t)).toEqual({
      branch: "kv_append(kv_append(c, x, past), x, past)",
      seen: "tanh(kv_append(c, x, past))",
      "next c": "kv_append(c, x, past)",
    });
  });
  it("never touch a state whose next value is another, an input, or a weight", () => {
    const { t, x, past, cache } = leaves();
    t.output("a", t.one("kv_append", [cache, x, past], CACHE));
    t.output("b", t.one("kv_append", [t.input("given", CACHE), x, past], CACHE));
    const weight = t.weight([2, 8, 4]);
    const c = t.one("kv_append", [weight, x, past], [2, 8, 4]);
    t.output("c", c);
    expect(settled(t)).toMatchObject({ a: "kv_append(c, x, past)", b: "kv_append(given, x, past)", "next c": "c" });
    expect(t.draft.bufferOf(c)).not.toBe(t.draft.bufferOf(weight));
  });
  it("use a temporary's memory, but not that of an output", () => {
    for (const kept of [false, true]) {
      const { t, x, past } = leaves();
      const made = t.one("tanh", [t.input("given", CACHE)], CACHE);
      if (kept) t.output("made", made);
      const next = t.one("kv_append", [made, x, past], CACHE);
      t.output("y", next);
      const want = { y: "kv_append(tanh(given), x, past)", "next c": "c" };
      expect(settled(t)).toEqual(kept ? { ...want, made: "tanh(given)" } : want);
      expect(t.draft.bufferOf(next) === t.draft.bufferOf(made)).toBe(!kept);
    }
  });
});

describe("states", () => {
  it("that change places are saved before either is overwritten", () => {
    const t = new TestDraft();
    const [a, b] = [t.state("a", [4]), t.state("b", [4])];
    t.next("a", b);
    t.next("b", a);
    expect(settled(t)).toEqual({ "next a": "b", "next b": "a" });
  });
  it("go round in a ring of three, and one may become a new value meanwhile", () => {
    const t = new TestDraft();
    const [a, b, c, d] = ["a", "b", "c", "d"].map((name) => t.state(name, [4])) as [number, number, number, number];
    t.next("a", b);
    t.next("b", c);
    t.next("c", a);
    t.next("d", t.one("add", [d, a], [4]));
    expect(settled(t)).toEqual({ "next a": "b", "next b": "c", "next c": "a", "next d": "add(d, a)" });
  });
  it("that take over another's old value do so before that is appended to", () => {
    const { t, x, past, cache } = leaves();
    t.state("before", CACHE);
    t.next("before", cache);
    t.next("c", t.one("kv_append", [cache, x, past], CACHE));
    expect(settled(t)).toEqual({ "next before": "c", "next c": "kv_append(c, x, past)" });
  });
  it("that stay cost nothing", () => {
    const t = new TestDraft();
    t.state("a", [4]);
    expect(settled(t)).toEqual({ "next a": "a" });
    expect(t.kernels).toEqual([]);
  });
});

describe("outputs", () => {
  it("that are inputs, weights, constants or states are copies, taken before nothing they hold can change", () => {
    const { t, x, cache } = leaves();
    t.output("x", x);
    t.output("state", cache);
    expect(settled(t)).toEqual({ x: "x", state: "c", "next c": "c" });
    expect(t.draft.outputs.every(({ value }) => t.draft.kindOf(t.draft.bufferOf(value)).kind === "own")).toBe(true);
  });
  it("of one value under two names and two shapes share its memory", () => {
    const { t, x } = leaves();
    const y = t.one("tanh", [x], ROWS);
    t.output("one", y);
    t.output("two", t.view(y, ["T", 8]));
    expect(settled(t)).toEqual({ one: "tanh(x)", two: "tanh(x)", "next c": "c" });
    expect(t.kernels).toEqual(["tanh"]);
  });
  it("that are a state's old value are what it was before the run", () => {
    const { t, x, past, cache } = leaves();
    t.output("before", cache);
    t.next("c", t.one("kv_append", [cache, x, past], CACHE));
    expect(settled(t)).toEqual({ before: "c", "next c": "kv_append(c, x, past)" });
  });
});
