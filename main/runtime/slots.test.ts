import { expect, it } from "vitest";
import type { SlotSession } from "./slots.ts";
import { Slots } from "./slots.ts";

class Toy implements SlotSession {
  readonly largestCacheBytes = 100;
  past = 0;
  disposed = false;
  #tokens: readonly number[] = [];
  holds(tokens: readonly number[]): this {
    this.#tokens = tokens;
    this.past = tokens.length;
    return this;
  }
  shared(tokens: ArrayLike<number>): number {
    const differs = this.#tokens.findIndex((token, i) => token !== tokens[i]);
    return differs < 0 ? this.#tokens.length : differs;
  }
  dispose(): void {
    this.disposed = true;
  }
}

function toySlots(most: number, freeBytes = 1000): { slots: Slots<Toy>; opened: Toy[] } {
  const opened: Toy[] = [];
  const open = (): Toy => {
    const toy = new Toy();
    opened.push(toy);
    return toy;
  };
  return { slots: new Slots({ open, most, freeBytes: () => freeBytes }), opened };
}

it("opens a session while all are taken, up to the limit, and then lets answers wait in order", async () => {
  const { slots, opened } = toySlots(2);
  const first = await slots.acquire([1]);
  await slots.acquire([2]);
  expect(opened).toHaveLength(2);
  const order: number[] = [];
  const third = slots.acquire([3]).then((session) => (order.push(3), session));
  const fourth = slots.acquire([4]).then((session) => (order.push(4), session));
  expect(slots.waiting).toBe(2);
  slots.release(first);
  expect(await third).toBe(first);
  expect(order).toEqual([3]);
  slots.release(first);
  expect(await fourth).toBe(first);
  expect(opened).toHaveLength(2);
});

it("opens no session whose cache would not fit, but always the first", async () => {
  const { slots, opened } = toySlots(8, 99);
  const only = await slots.acquire([1]);
  const second = slots.acquire([2]);
  expect(opened).toHaveLength(1);
  slots.release(only);
  expect(await second).toBe(only);
});

it("gives the idle session that holds the longest beginning, and of equal ones the longest unused", async () => {
  const { slots } = toySlots(3);
  const [a, b, c] = await Promise.all([slots.acquire([]), slots.acquire([]), slots.acquire([])]);
  for (const session of [b, a, c]) slots.release(session);
  a.holds([1, 2, 3]);
  b.holds([1, 2, 9]);
  c.holds([7]);
  expect(await slots.acquire([1, 2, 3, 4])).toBe(a);
  slots.release(a);
  expect(await slots.acquire([5])).toBe(b);
});

it("keeps the caches of conversations that alternate, while there is room for a session", async () => {
  const { slots, opened } = toySlots(2);
  const say = async (tokens: readonly number[]): Promise<readonly [Toy, number]> => {
    const session = await slots.acquire(tokens);
    const shared = session.shared(tokens);
    slots.release(session.holds(tokens));
    return [session, shared];
  };
  const [a] = await say([1, 2, 3, 4]);
  const [b] = await say([1, 7, 8, 9]);
  expect(b).not.toBe(a);
  expect(await say([1, 2, 3, 4, 5, 6])).toEqual([a, 4]);
  expect(await say([1, 7, 8, 9, 10])).toEqual([b, 4]);
  // The same prompt again, as when an answer is asked for anew, uses all of its own.
  expect(await say([1, 2, 3])).toEqual([a, 3]);
  // A third one finds no room, and takes the place of the one that was not used for longest.
  expect(await say([5])).toEqual([b, 0]);
  expect(opened).toHaveLength(2);
});

it("opens none for a conversation where the memory would not do", async () => {
  const { slots, opened } = toySlots(8, 99);
  const only = await slots.acquire([1, 2, 3]);
  slots.release(only.holds([1, 2, 3]));
  expect(await slots.acquire([4, 5, 6])).toBe(only);
  expect(opened).toHaveLength(1);
});

it("lets a waiting answer leave, and one that was cancelled before not in", async () => {
  const { slots } = toySlots(1);
  const only = await slots.acquire([1]);
  const stop = new AbortController();
  const left = slots.acquire([2], stop.signal);
  const next = slots.acquire([3]);
  stop.abort();
  await expect(left).rejects.toMatchObject({ code: "CANCELLED" });
  slots.release(only);
  expect(await next).toBe(only);
  await expect(slots.acquire([4], stop.signal)).rejects.toMatchObject({ code: "CANCELLED" });
});

it("gives a job that runs alone a session only while nothing is answered", async () => {
  const { slots } = toySlots(2);
  const alone = slots.takeAlone();
  expect(alone).toBeDefined();
  expect(slots.takeAlone()).toBeUndefined();
  if (alone !== undefined) slots.release(alone);
  const answer = await slots.acquire([1]);
  expect(answer).toBe(alone);
  expect(slots.takeAlone()).toBeUndefined();
});

it("ends waiting answers when the model goes, and sessions when they are given back", async () => {
  const { slots } = toySlots(1);
  const only = await slots.acquire([1]);
  const waiting = slots.acquire([2]);
  slots.dispose();
  await expect(waiting).rejects.toMatchObject({ code: "HANDLE_UNKNOWN" });
  await expect(slots.acquire([3])).rejects.toMatchObject({ code: "HANDLE_UNKNOWN" });
  expect(() => slots.takeAlone()).toThrow("closed");
  expect(only.disposed).toBe(false);
  slots.release(only);
  expect(only.disposed).toBe(true);
});
