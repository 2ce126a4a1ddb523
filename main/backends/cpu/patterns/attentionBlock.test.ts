// Attention blocks: both given forms, and every reason to leave one alone.
import { beforeEach, describe, expect, it } from "vitest";
import { scalar, tensor } from "../../../ir/type.ts";
import { settle } from "../lower.ts";
import { TestDraft } from "../testDraft.ts";
import { attentionBlocks } from "./attentionBlock.ts";

const [HEADS, KV, DIM] = [4, 2, 8];
const Q = ["T", HEADS, DIM] as const;
const ROWS = ["T", KV, DIM] as const;
const CACHE = tensor("f16", [KV, "capacity", DIM]);
const ANGLES = ["T", DIM / 2] as const;

let t: TestDraft;
let leaves: { q: number; k: number; v: number; cos: number; sin: number; past: number; kc: number; vc: number };
beforeEach(() => {
  t = new TestDraft();
  leaves = {
    q: t.input("q", Q),
    k: t.input("k", ROWS),
    v: t.input("v", ROWS),
    cos: t.input("cos", ANGLES),
    sin: t.input("sin", ANGLES),
    past: t.input("past", scalar("i32")),
    kc: t.state("k.0", CACHE),
    vc: t.state("v.0", CACHE),
  };
});

interface Made {
  readonly q: number;
  readonly keys: number;
  readonly values: number;
}
/** rope_append, and the states take its results. */
function append(norms: readonly number[] = []): Made {
  const { q, k, v, cos, sin, kc, vc, past } = leaves;
  const [turned = -1, keys = -1, values = -1] = t.emit(
    "rope_append",
    [q, k, v, cos, sin, kc, vc, past, ...norms],
    [Q, CACHE, CACHE],
    { eps: 1e-4, interleaved: true },
  );
  t.next("k.0", keys);
  t.next("v.0", values);
  return { q: turned, keys, values };
}
const attention = ({ q, keys, values }: Made, past = leaves.past): number =>
  t.one("attention", [q, keys, values, past], Q, { scale: 0.5, window: 3 });
/** Runs the pattern and everything after it: a block over caches that are not in place would be an error there. */
function fused(y: number): TestDraft["kernels"] {
  t.output("y", y);
  attentionBlocks(t.draft);
  const { kernels } = t;
  settle(t.draft);
  return kernels;
}
const unfused = ["rope_append", "attention"];

describe("rope_append and attention", () => {
  it("become one block over the raw operands, with every parameter", () => {
    const made = append();
    const y = attention(made);
    expect(fused(y)).toEqual(["attention_block"]);
    const { q, k, v, cos, sin, kc, vc, past } = leaves;
    const [block] = t.draft.instructions;
    expect(block).toMatchObject({
      inputs: [q, k, v, -1, -1, cos, sin, kc, vc, past],
      outputs: [y, made.keys, made.values],
      params: { scale: 0.5, window: 3, eps: 1e-4, interleaved: true, normQ: false, normK: false },
      nodes: [0, 1],
    });
    expect([made.keys, made.values].map((id) => t.draft.bufferOf(id))).toEqual(
      [kc, vc].map((id) => t.draft.bufferOf(id)),
    );
  });
  it("keep the norms of heads", () => {
    const norms = [t.weight([DIM]), t.weight([DIM])];
    expect(fused(attention(append(norms)))).toEqual(["attention_block"]);
    expect(t.draft.instructions[0]).toMatchObject({ params: { normQ: true, normK: true } });
    expect(t.draft.instructions[0]!.inputs.slice(3, 5)).toEqual(norms);
  });
  it("stay when the turned q is read elsewhere", () => {
    const made = append();
    const y = attention(made);
    t.output("turned", t.one("tanh", [made.q], Q));
    expect(fused(y)).toEqual([...unfused, "tanh"]);
  });
  it("stay when somebody reads the new caches before the attention, which would not be there yet", () => {
    const made = append();
    t.output("seen", t.one("copy", [made.keys], CACHE));
    expect(fused(attention(made))).toEqual(["rope_append", "copy", "attention"]);
  });
  it("stay when somebody reads an old cache afterwards", () => {
    const y = attention(append());
    t.output("old", t.one("copy", [leaves.vc], CACHE));
    expect(fused(y)).toEqual([...unfused, "copy"]);
  });
  it("stay when the caches are no states, or their next value is another", () => {
    leaves = { ...leaves, kc: t.input("kc", CACHE) };
    expect(fused(attention(append()))).toEqual(unfused);
  });
  it("stay when a state's next value is another", () => {
    const made = append();
    t.next("v.0", leaves.vc);
    expect(fused(attention(made))).toEqual(unfused);
  });
  it("stay when another state takes an old cache over", () => {
    const y = attention(append());
    t.state("before", CACHE);
    t.next("before", leaves.kc);
    expect(fused(y)).toEqual(unfused);
  });
  it("become one block also when an old cache is an output, which is copied first", () => {
    const y = attention(append());
    t.output("old", leaves.kc);
    expect(fused(y)).toEqual(["attention_block"]);
    expect(t.kernels).toEqual(["copy", "attention_block"]);
  });
  it("stay when the positions differ", () => {
    expect(fused(attention(append(), t.input("other", scalar("i32"))))).toEqual(unfused);
  });
  it("stay when attention reads the caches in the other order", () => {
    const made = append();
    expect(fused(attention({ q: made.q, keys: made.values, values: made.keys }))).toEqual(unfused);
  });
  it("stay when values have other heads", () => {
    leaves = { ...leaves, v: t.input("wide", ["T", KV, DIM * 2]) };
    expect(fused(attention(append()))).toEqual(unfused);
  });
});

describe("rope, kv_append and attention", () => {
  interface Form {
    readonly normed?: boolean;
    readonly keyEps?: number;
    readonly keyCos?: number;
    readonly keyInterleaved?: boolean;
    readonly valuePast?: number;
  }
  function separate({ normed = false, keyEps = 1e-4, keyCos = leaves.cos, ...form }: Form = {}): number {
    const { q, k, v, cos, sin, kc, vc, past } = leaves;
    const turn = (
      raw: number,
      shape: readonly (string | number)[],
      angles: number,
      eps: number,
      interleaved: boolean,
    ): number =>
      t.one("rope", [normed ? t.one("rms_norm", [raw, t.weight([DIM])], shape, { eps }) : raw, angles, sin], shape, {
        interleaved,
      });
    const query = turn(q, Q, cos, 1e-4, true);
    const key = turn(k, ROWS, keyCos, keyEps, form.keyInterleaved ?? true);
    const keys = t.one("kv_append", [kc, key, past], CACHE);
    const values = t.one("kv_append", [vc, v, form.valuePast ?? past], CACHE);
    t.next("k.0", keys);
    t.next("v.0", values);
    return attention({ q: query, keys, values });
  }
  it("become one block, with norms or without", () => {
    expect(fused(separate())).toEqual(["attention_block"]);
    expect(t.draft.instructions[0]).toMatchObject({ nodes: [0, 1, 2, 3, 4], params: { normQ: false } });
  });
  it("take the norms in", () => {
    expect(fused(separate({ normed: true }))).toEqual(["attention_block"]);
    expect(t.draft.instructions[0]).toMatchObject({ params: { normQ: true, normK: true, eps: 1e-4 } });
  });
  it.each<[string, () => Form]>([
    ["another eps", () => ({ normed: true, keyEps: 1e-3 })],
    ["other angles", () => ({ keyCos: t.input("cos2", ANGLES) })],
    ["another pairing", () => ({ keyInterleaved: false })],
    ["another position", () => ({ valuePast: t.input("past2", scalar("i32")) })],
  ])("stay with %s", (_what, form) => {
    expect(fused(separate(form()))).not.toContain("attention_block");
  });
});
