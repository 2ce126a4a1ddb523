/** A keyed hash: what it depends on, and that texts which collide without a key do not make an index slow. */
import { expect, it } from "vitest";
import { stringsEntry } from "../formats/gguf/encode.ts";
import { Metadata } from "../formats/gguf/metadata.ts";
import { collidingTexts, fnv1a } from "../testing/collidingTexts.ts";
import { KeyedHash } from "./keyedHash.ts";
import { StringIndex } from "./stringIndex.ts";

it("differs with its key, and not with where the bytes lie", () => {
  const bytes = Buffer.from("..the same bytes..");
  const hash = new KeyedHash(1, 2);
  expect(hash.of(bytes, 2, 16)).toBe(hash.of(Buffer.from("the same bytes"), 0, 14));
  expect(hash.of(bytes, 2, 16)).not.toBe(new KeyedHash(1, 3).of(bytes, 2, 16));
  expect(hash.of(bytes, 2, 16)).not.toBe(hash.of(bytes, 2, 15));
  const hashes = Array.from({ length: 1000 }, (_, i) => hash.of(Uint8Array.of(i & 255, i >> 8), 0, 2));
  expect(new Set(hashes).size).toBe(1000);
});

it("an index of 32 768 texts that collide without a key is made and used within half a second", () => {
  const texts = collidingTexts(15);
  expect(new Set(texts).size).toBe(32_768);
  expect(new Set(texts.map(fnv1a)).size).toBe(1);
  const strings = new Metadata("t", [stringsEntry("k", texts)]).strings("k");
  const start = process.cpuUsage();
  const index = new StringIndex(strings, "last");
  expect(texts.filter((text, i) => index.find(Buffer.from(text)) !== i)).toEqual([]);
  const { user, system } = process.cpuUsage(start);
  expect((user + system) / 1e6).toBeLessThan(0.5);
});
