import { expect, it } from "vitest";
import { allowedAt, allowedNow } from "./pace.ts";

it("keeps a promise as it is where an empty process is quick, and stretches it where that takes long", () => {
  expect(allowedAt(2000, 40)).toBe(2000);
  expect(allowedAt(2000, 100)).toBe(2000);
  expect(allowedAt(2000, 160)).toBe(3200);
  expect(allowedAt(2000, 1000)).toBe(5000);
});

it("never allows less than was promised, and says when it allows more", async () => {
  const { ms, sentence } = await allowedNow(2000);
  expect(ms).toBeGreaterThanOrEqual(2000);
  expect(sentence).toMatch(ms === 2000 ? /^2000 ms promised$/ : /ms allowed, because an empty process takes \d+ ms/);
});
