import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeFrame, encodeFrame, REQUEST_LIMITS } from "./codec.ts";

const arrays = [
  new Int8Array([-1, 2]),
  new Uint8Array([1, 2, 255]),
  new Int16Array([-300, 7, 9]),
  new Uint16Array([65_535]),
  new Int32Array([-5, 6]),
  new Uint32Array([4_000_000_000]),
  new Float32Array([0.5, NaN, -Infinity]),
  new Float64Array([Math.PI, -0]),
  new Uint8Array(0),
];

/** Builds a message by hand, so that every length in it can lie. */
function message(json: string, tail: Uint8Array = new Uint8Array(0), length?: number): Uint8Array {
  const text = new TextEncoder().encode(json);
  const start = Math.ceil((4 + text.length) / 8) * 8;
  const bytes = new Uint8Array(tail.length === 0 ? 4 + text.length : start + tail.length);
  new DataView(bytes.buffer).setUint32(0, length ?? text.length, true);
  bytes.set(text, 4);
  if (tail.length > 0) bytes.set(tail, start);
  return bytes;
}

describe("round trip", () => {
  it("of every array type, nested, with unaligned views", () => {
    const odd = new Uint8Array(64).map((_, i) => i);
    const frame = {
      t: "res",
      id: 3,
      value: { arrays, list: [{ inner: arrays[6] }], view: odd.subarray(3, 10), n: 1.5, s: "é€😀", none: null },
    };
    const decoded = decodeFrame(encodeFrame(frame));
    expect(decoded).toEqual(frame);
  });

  it("of a buffer that is not aligned in memory", () => {
    const encoded = encodeFrame({ a: new Float64Array([1, 2, 3]) });
    const shifted = new Uint8Array(encoded.length + 1);
    shifted.set(encoded, 1);
    expect(decodeFrame(shifted.subarray(1))).toEqual({ a: new Float64Array([1, 2, 3]) });
  });

  it("of what a Node channel delivers: a Buffer, and each array owns only its own bytes", () => {
    const decoded = decodeFrame(Buffer.from(encodeFrame({ bytes: Uint8Array.of(1, 2, 3) }))) as { bytes: Uint8Array };
    expect(decoded).toEqual({ bytes: Uint8Array.of(1, 2, 3) });
    expect(decoded.bytes.buffer.byteLength).toBe(3);
  });

  it("of objects that look like our placeholders, or carry __proto__", () => {
    const frame = {
      a: { $b: 0 },
      b: { $o: { $b: 1 } },
      c: JSON.parse('{"__proto__": {"x": 1}}') as unknown,
      d: new Uint8Array([7]),
    };
    const decoded = decodeFrame(encodeFrame(frame)) as typeof frame;
    expect(JSON.stringify(decoded.c)).toBe('{"__proto__":{"x":1}}');
    expect(Object.getPrototypeOf(decoded.c)).toBe(Object.prototype);
    expect({ ...decoded, c: 0 }).toEqual({ ...frame, c: 0 });
  });

  it("of any JSON value", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        expect(JSON.stringify(decodeFrame(encodeFrame({ value })))).toBe(JSON.stringify({ value }));
      }),
      { numRuns: 300 },
    );
  });
});

describe("refused, with CONTRACT_FRAME", () => {
  const envelope = (b: unknown, f: unknown = { $b: 0 }): string => JSON.stringify({ f, b });
  const four = new Uint8Array(4);
  const cases: readonly (readonly [string, Uint8Array])[] = [
    ["nothing", new Uint8Array(0)],
    ["three bytes", new Uint8Array(3)],
    ["a JSON length beyond the end", message("{}", undefined, 4_000_000_000)],
    ["a JSON length one too long", message("{}", undefined, 3)],
    ["JSON that does not parse", message("{")],
    ["UTF-8 that is none", new Uint8Array([2, 0, 0, 0, 0xff, 0xfe])],
    ["no envelope", message("[]")],
    ["tails that are no list", message('{"f":1,"b":{}}')],
    ["a tail without a type", message(envelope([7]), four)],
    ["a tail of unknown type", message(envelope([["constructor", 4]]), four)],
    ["a negative length", message(envelope([["u8", -4]]), four)],
    ["a fractional length", message(envelope([["u8", 3.5]]), four)],
    ["a length as text", message(envelope([["u8", "4"]]), four)],
    ["a length beyond the end", message(envelope([["u8", 5]]), four)],
    ["an enormous length", message(envelope([["u8", 2 ** 52]]), four)],
    ["bytes left over", message(envelope([["u8", 3]]), four)],
    ["half an element", message(envelope([["f64", 4]]), four)],
    ["a tail that nothing refers to", message(envelope([["u8", 4]], 1), four)],
    ["a reference to no tail", message(envelope([], { $b: 0 }))],
    ["a tail used twice", message(envelope([["u8", 4]], [{ $b: 0 }, { $b: 0 }]), four)],
    ["a wrapped value that is no object", message(envelope([], { $o: 5 }))],
    ["deep nesting", message(`{"f":${"[".repeat(5000)}${"]".repeat(5000)},"b":[]}`)],
    ["more values than any call needs", message(`{"f":[${"0,".repeat(70_000)}0],"b":[]}`)],
    ["more keys than any call needs", message(`{"f":{${'"k":{},'.repeat(33_000)}"k":0},"b":[]}`)],
    ["too many tails", message(envelope(Array.from({ length: 65 }, () => ["u8", 0])))],
  ];
  it.each(cases)("%s", (_name, bytes) => {
    expect(() => decodeFrame(bytes, REQUEST_LIMITS)).toThrow(expect.objectContaining({ code: "CONTRACT_FRAME" }));
  });

  it("but text counts as one value, however much it looks like a tree", () => {
    const frame = {
      input: { text: '{"a":[{},\\",'.repeat(50_000), messages: Array.from({ length: 10_000 }, () => ["x", "y"]) },
    };
    expect(decodeFrame(encodeFrame(frame), REQUEST_LIMITS)).toEqual(frame);
  });

  it("more than the limit", () => {
    const encoded = encodeFrame({ a: new Uint8Array(100) });
    expect(() => decodeFrame(encoded, { ...REQUEST_LIMITS, maxBytes: 50 })).toThrow(
      expect.objectContaining({ code: "CONTRACT_FRAME" }),
    );
  });

  it("lists and objects nest 65 deep on both ways, and no deeper", () => {
    const nested = (open: string, close: string, levels: number): string => open.repeat(levels) + close.repeat(levels);
    const json = {
      lists: (levels: number): string => nested("[", "]", levels),
      objects: (levels: number): string => `${'{"a":'.repeat(levels - 1)}{}${"}".repeat(levels - 1)}`,
    };
    const refused = expect.objectContaining({ code: "CONTRACT_FRAME" }) as Error;
    for (const [kind, text] of Object.entries(json)) {
      const deepest: unknown = JSON.parse(text(65));
      expect(decodeFrame(encodeFrame(deepest)), kind).toEqual(deepest);
      expect(() => encodeFrame(JSON.parse(text(66))), kind).toThrow(refused);
      expect(() => decodeFrame(message(`{"f":${text(66)},"b":[]}`)), kind).toThrow(refused);
    }
  });

  it("and nothing else happens to any mutation of a good message", () => {
    const good = encodeFrame({
      t: "req",
      id: 1,
      input: { bytes: new Uint8Array([1, 2, 3]), more: new Float64Array([1, 2]) },
    });
    fc.assert(
      fc.property(fc.nat(good.length - 1), fc.nat(255), fc.nat(good.length), (at, value, keep) => {
        const bytes = good.slice(0, keep);
        if (at < bytes.length) bytes[at] = value;
        try {
          decodeFrame(bytes);
        } catch (error) {
          expect(error).toMatchObject({ code: "CONTRACT_FRAME" });
        }
      }),
      { numRuns: 3000 },
    );
  });
});
