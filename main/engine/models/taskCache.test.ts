// Long work: shared by all callers of the same, ended when the last of them leaves, sliced so that others get their turn.
import { describe, expect, it } from "vitest";
import type { Steps } from "../../ir/steps.ts";
import type { TaskKind } from "./taskCache.ts";
import { inSlices, TaskCache } from "./taskCache.ts";

const NUMBER: TaskKind<number> = { name: "number", keep: 2 };
const never = (): AbortSignal => new AbortController().signal;

/** A promise and what settles it. */
function deferred<T>(): { promise: Promise<T>; resolve: (value: T) => void; reject: (error: Error) => void } {
  let resolve: (value: T) => void = () => undefined;
  let reject: (error: Error) => void = () => undefined;
  const promise = new Promise<T>((yes, no) => ([resolve, reject] = [yes, no]));
  return { promise, resolve, reject };
}

describe("work in slices", () => {
  /** Holds its thread until the clock has moved on, as long work does. */
  function* busy(pieces: number, done: number[]): Steps<string> {
    for (let i = 0; i < pieces; i++) {
      for (const start = performance.now(); performance.now() - start < 3;);
      done.push(i);
      yield;
    }
    return "made";
  }

  it("lets others have a turn in between, and gives the result", async () => {
    const done: number[] = [];
    const others: number[] = [];
    const turn = (): void => {
      others.push(done.length);
      if (done.length < 20) setImmediate(turn);
    };
    setImmediate(turn);
    expect(await inSlices(busy(20, done), never())).toBe("made");
    expect(done).toHaveLength(20);
    expect(others.filter((seen) => seen > 0 && seen < 20).length).toBeGreaterThan(2);
  });

  it("runs one slice a turn, however many work", async () => {
    const done: number[] = [];
    const seen: number[] = [];
    const turn = (): void => {
      seen.push(done.length);
      if (done.length < 60) setImmediate(turn);
    };
    // Behind the first slices, which begin at once.
    const all = [0, 1, 2].map(() => inSlices(busy(20, done), never()));
    setImmediate(turn);
    expect(await Promise.all(all)).toEqual(["made", "made", "made"]);
    const between = seen.slice(1).map((count, i) => count - (seen[i] ?? 0));
    // A slice of 8 ms holds three pieces of 3 ms; three slices in one turn would be nine.
    expect(Math.max(...between)).toBeLessThan(6);
  });

  it("stops soon after a cancel", async () => {
    const done: number[] = [];
    const abort = new AbortController();
    const work = inSlices(busy(1000, done), abort.signal);
    setImmediate(() => setImmediate(() => abort.abort()));
    await expect(work).rejects.toMatchObject({ code: "CANCELLED" });
    expect(done.length).toBeLessThan(50);
  });
});

describe("shared work", () => {
  it("is made once for all callers, and kept", async () => {
    const tasks = new TaskCache();
    const made = deferred<number>();
    let times = 0;
    const make = (): Promise<number> => {
      times++;
      return made.promise;
    };
    const both = [tasks.get(NUMBER, "a", never(), make), tasks.get(NUMBER, "a", never(), make)];
    made.resolve(7);
    expect(await Promise.all(both)).toEqual([7, 7]);
    expect(await tasks.get(NUMBER, "a", never(), make)).toBe(7);
    expect(times).toBe(1);
  });

  it("goes on while one waits, and ends when the last has left", async () => {
    const tasks = new TaskCache();
    const [first, second] = [new AbortController(), new AbortController()];
    let given: AbortSignal | undefined;
    const make = (signal: AbortSignal): Promise<number> => {
      given = signal;
      return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("ended"))));
    };
    const one = tasks.get(NUMBER, "a", first.signal, make);
    const two = tasks.get(NUMBER, "a", second.signal, make);
    first.abort();
    await expect(one).rejects.toMatchObject({ code: "CANCELLED" });
    expect(given?.aborted).toBe(false);
    second.abort();
    await expect(two).rejects.toMatchObject({ code: "CANCELLED" });
    expect(given?.aborted).toBe(true);
    expect(await tasks.get(NUMBER, "a", never(), () => Promise.resolve(3))).toBe(3);
  });

  it("that failed is tried again, and all callers are told", async () => {
    const tasks = new TaskCache();
    const made = deferred<number>();
    const both = [1, 2].map(() => tasks.get(NUMBER, "a", never(), () => made.promise));
    made.reject(new Error("no"));
    for (const each of both) await expect(each).rejects.toThrow("no");
    expect(await tasks.get(NUMBER, "a", never(), () => Promise.resolve(4))).toBe(4);
  });

  it("keeps the results that were used last, each kind its own", async () => {
    const tasks = new TaskCache();
    const ask = async (kind: TaskKind<number>, key: string): Promise<boolean> => {
      let isNew = false;
      await tasks.get(kind, key, never(), () => {
        isNew = true;
        return Promise.resolve(1);
      });
      return isNew;
    };
    const other: TaskKind<number> = { name: "other", keep: 1 };
    expect([await ask(NUMBER, "a"), await ask(NUMBER, "b"), await ask(other, "a")]).toEqual([true, true, true]);
    expect([await ask(NUMBER, "a"), await ask(NUMBER, "c")]).toEqual([false, true]);
    expect([await ask(NUMBER, "a"), await ask(NUMBER, "b"), await ask(other, "a")]).toEqual([false, true, false]);
  });

  it("a cancelled asker is not served, even from what is being made", async () => {
    const tasks = new TaskCache();
    await expect(tasks.get(NUMBER, "a", AbortSignal.abort(), () => Promise.resolve(1))).rejects.toMatchObject({
      code: "CANCELLED",
    });
  });

  it("ends with its model", async () => {
    const tasks = new TaskCache();
    const waiting = tasks.get(
      NUMBER,
      "a",
      never(),
      (signal) => new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("ended")))),
    );
    tasks.end();
    await expect(waiting).rejects.toThrow("ended");
  });
});
