/** Readers of training data: what NumPy writes, and files that were made to hurt. Batches and splits by seed. */
import { inflateRaw } from "node:zlib";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { ByteSource } from "../../formats/byteSource.ts";
import { memorySource } from "../../formats/byteSource.ts";
import { readChats } from "./chat.ts";
import { readNpy } from "./npy.ts";
import { npy, zip } from "../../testing/npzFile.ts";
import { readNpz } from "./npz.ts";
import { batches, heldOut, randomOf, shuffled, windows } from "./order.ts";
import { alphabetOf, textIn } from "./text.ts";

const inflateWithin = promisify<Uint8Array, { readonly maxOutputLength: number }, Uint8Array>(inflateRaw);
const inflate = (bytes: Uint8Array, most: number): Promise<Uint8Array> =>
  inflateWithin(bytes, { maxOutputLength: Math.max(1, most) });

const sourceOf = (bytes: Uint8Array): ByteSource => memorySource("data.npz", bytes);
const FLOATS = Float32Array.of(1, -2.5, 3, 4, 5, 6);

describe("arrays", () => {
  it("of every type come as their numbers", () => {
    const cases: readonly [descr: string, data: ArrayBufferView, wanted: readonly number[]][] = [
      ["<f4", FLOATS, [...FLOATS]],
      ["<f8", Float64Array.of(0.1, -7), [0.1, -7]],
      ["<f2", Uint16Array.of(0x3c00, 0xc000), [1, -2]],
      ["|i1", Int8Array.of(-1, 2), [-1, 2]],
      ["|u1", Uint8Array.of(200, 2), [200, 2]],
      ["|b1", Uint8Array.of(1, 0), [1, 0]],
      ["<i2", Int16Array.of(-300, 300), [-300, 300]],
      ["<i4", Int32Array.of(-70_000, 1), [-70_000, 1]],
      ["<i8", BigInt64Array.of(-5n, 2n ** 40n), [-5, 2 ** 40]],
      ["<c8", Float32Array.of(1, -2.5, 0, 3), [1, -2.5, 0, 3]],
      ["<c16", Float64Array.of(0.1, -7, 1e300, 0), [0.1, -7, 1e300, 0]],
    ];
    for (const [descr, data, wanted] of cases) {
      // A complex number is a pair.
      const count = wanted.length / (descr.startsWith("<c") ? 2 : 1);
      const read = readNpy("a.npy", npy(descr, `(${count},)`, data));
      expect({ descr, shape: read.shape, data: [...read.data] }).toEqual({ descr, shape: [count], data: wanted });
    }
    expect(readNpy("a.npy", npy("<f4", "()", FLOATS.subarray(0, 1))).shape).toEqual([]);
  });

  it("of i64 that float64 does not have are refused, and said", () => {
    const read = (...numbers: bigint[]): readonly number[] => [
      ...readNpy("a.npy", npy("<i8", `(${numbers.length},)`, BigInt64Array.from(numbers))).data,
    ];
    expect(read(2n ** 53n, 2n ** 62n, -(2n ** 63n))).toEqual([2 ** 53, 2 ** 62, -(2 ** 63)]);
    for (const number of [2n ** 53n + 1n, -(2n ** 53n) - 1n, 2n ** 62n + 3n, 2n ** 63n - 1n])
      expect(() => read(7n, number)).toThrow(
        new RegExp(`^\\[a\\.npy\\] number 1: i64 numbers are held exactly up to 2\\^53: got ${number}$`, "u"),
      );
  });

  it("in Fortran's order come row by row", () => {
    const { shape, data } = readNpy("a.npy", npy("<f4", "(2, 3)", FLOATS, true));
    expect({ shape, data: [...data] }).toEqual({ shape: [2, 3], data: [1, 3, 5, -2.5, 4, 6] });
    const pairs = Float32Array.of(1, 10, 2, 20, 3, 30, 4, 40);
    expect([...readNpy("a.npy", npy("<c8", "(2, 2)", pairs, true)).data]).toEqual([1, 10, 3, 30, 2, 20, 4, 40]);
  });

  it.each([
    ["magic", Buffer.from("PKPKPKPKPKPKPKPK"), /magic/],
    ["objects", npy("|O", "(1,)", FLOATS), /type: got "\|O"/],
    ["text", npy("<U3", "(1,)", FLOATS), /type: got "<U3"/],
    ["big-endian", npy(">f4", "(6,)", FLOATS), /expected little-endian/],
    ["too short", npy("<f4", "(7,)", FLOATS), /got 24 bytes, expected 28/],
    ["overflow", npy("<f4", "(999999999999999, 999999999999999)", FLOATS), /data: got 24 bytes/],
    ["many axes", npy("<f4", "(1, 1, 1, 1, 1, 1, 1, 1, 6)", FLOATS), /at most 8 whole numbers/],
    ["negative", npy("<f4", "(-6,)", FLOATS), /header: got/],
    ["code", npy("<f4", "__import__('os')", FLOATS), /header: got/],
  ])("that are no arrays are refused: %s", (_name, bytes, says) => {
    expect(() => readNpy("a.npy", bytes)).toThrow(says);
  });

  it("of an archive are read, stored and packed", async () => {
    const entries = {
      "x.npy": npy("<f4", "(2, 3)", FLOATS),
      "y.npy": npy("<i8", "(1,)", BigInt64Array.of(7n)),
      note: FLOATS,
    };
    for (const isPacked of [false, true]) {
      const arrays = await readNpz(sourceOf(zip({ ...entries, note: new Uint8Array(3) }, isPacked)), inflate);
      expect([...arrays.keys()]).toEqual(["x", "y"]);
      expect([...arrays.get("x")!.data]).toEqual([...FLOATS]);
      expect(arrays.get("y")!.shape).toEqual([1]);
    }
  });

  it("that do not hold what they promise, or more, are refused", async () => {
    const bomb = zip({ "x.npy": npy("|u1", "(4000000,)", new Uint8Array(4_000_000)) }, true);
    const size = bomb.indexOf("PK\x01\x02") + 24;
    bomb.writeUInt32LE(1000, size);
    await expect(readNpz(sourceOf(bomb), inflate)).rejects.toThrow("its packed bytes are damaged");
    await expect(readNpz(sourceOf(zip({ a: new Uint8Array(1) }, false)), inflate)).rejects.toThrow("got no arrays");
    await expect(readNpz(sourceOf(new Uint8Array(100)), inflate)).rejects.toThrow("got no directory");
  });

  it("survive any change of any byte: an array, or an error with a code", async () => {
    const random = randomOf(5, 0);
    const packed = zip({ "x.npy": npy("<f4", "(2, 3)", FLOATS) }, true);
    const plain = npy("<f4", "(2, 3)", FLOATS);
    const codes = new Set<string>();
    const note = (error: unknown): void => {
      if (!(error instanceof WorkbenchError) || error.code.startsWith("BUG")) throw error;
      codes.add(error.code);
    };
    for (let i = 0; i < 1500; i++) {
      const bytes = Uint8Array.from(i % 2 === 0 ? packed : plain);
      for (let changes = 0; changes < 1 + (i % 3); changes++)
        bytes[Math.floor(random() * bytes.length)] = Math.floor(random() * 256);
      const cut = i % 5 === 0 ? bytes.subarray(0, Math.floor(random() * bytes.length)) : bytes;
      if (i % 2 === 0) await readNpz(sourceOf(cut), inflate).catch(note);
      else
        try {
          readNpy("a.npy", cut);
        } catch (error) {
          note(error);
        }
    }
    expect(codes).toContain("INPUT_MALFORMED");
  });
});

describe("texts", () => {
  it("become numbers and back, and an unknown character is named", () => {
    const alphabet = alphabetOf("héllo 🙂", "a.txt");
    expect(alphabet.decode(alphabet.encode("hello".replace("e", "é"), "x"))).toBe("héllo");
    expect(alphabet.encode("🙂", "x")).toHaveLength(1);
    expect(() => alphabet.encode("z", "sample.prompt")).toThrow('[train] sample.prompt: got "z"');
    expect(() => alphabetOf("aaa", "a.txt")).toThrow("got 1 kinds of characters");
    expect(() => textIn("a.txt", Uint8Array.of(0xc3, 0x28))).toThrow("no UTF-8");
  });

  it("of chats are conversations, and a fault names its line", () => {
    const line = JSON.stringify({
      messages: [
        { role: "user", content: "Hi" },
        { role: "assistant", content: "Hello" },
      ],
    });
    expect(readChats("c.jsonl", `${line}\n\n${line}\n`)).toHaveLength(2);
    expect(readChats("c.jsonl", '[{"role": "user", "content": "x"}]')[0]).toEqual([{ role: "user", content: "x" }]);
    const faults: readonly [text: string, says: string][] = [
      [`${line}\n{`, "[c.jsonl:2] got text that is no JSON"],
      ['{"messages": []}', "[c.jsonl:1] messages: expected a list"],
      ['{"messages": [{"role": "robot", "content": "x"}]}', 'message 1, role: got "robot"'],
      ['{"messages": [{"role": "user", "content": 3}]}', "message 1, content: got 3, expected text"],
      ['{"__proto__": {"messages": [1]}}', "messages: expected a list"],
      ["\n", "got no conversation"],
    ];
    for (const [text, says] of faults) expect(() => readChats("c.jsonl", text)).toThrow(says);
  });
});

describe("the order", () => {
  it("is a permutation that only the seed decides, the same everywhere", () => {
    expect([...shuffled(8, randomOf(1, 0))]).toEqual([...shuffled(8, randomOf(1, 0))]);
    expect([...shuffled(8, randomOf(1, 0))]).not.toEqual([...shuffled(8, randomOf(2, 0))]);
    expect([...shuffled(100, randomOf(1, 0))].sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, i) => i));
    // Numbers that a machine with other arithmetic would not give.
    expect([...shuffled(8, randomOf(7, 0))]).toMatchInlineSnapshot(`
      [
        7,
        2,
        4,
        1,
        6,
        3,
        0,
        5,
      ]
    `);
  });

  it("shows every example once a round, whatever the batch, and a step alone decides it", () => {
    const take = batches(10, 4, 3);
    const seen = [1, 2, 3, 4, 5].flatMap((step) => take(step));
    expect(seen.slice(0, 10).toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(new Set(seen.slice(10))).toEqual(new Set(seen.slice(0, 10)));
    expect(batches(10, 4, 3)(4)).toEqual(take(4));
    expect(() => batches(3, 4, 1)).toThrow("batch: got 4, expected at most 3 examples");
  });

  it("of windows stays inside, and a part is held out", () => {
    const take = windows(20, { batch: 64, length: 9, seed: 1 });
    const starts = take(3);
    expect(Math.max(...starts)).toBe(11);
    expect(Math.min(...starts)).toBe(0);
    expect(windows(20, { batch: 64, length: 9, seed: 1 })(3)).toEqual(starts);
    expect(() => windows(8, { batch: 1, length: 9, seed: 1 })).toThrow("got 8 letters, expected at least 9");
    expect([heldOut(100, 0.1), heldOut(3, 0.1), heldOut(1, 0.5), heldOut(9, 0)]).toEqual([10, 1, 0, 0]);
  });
});
