/** A promise with progress as a stream. */

/** Items that a callback makes while a promise runs, as a stream: those first, then the promise's value. */
export async function* progressStream<T, R>(work: (emit: (item: T) => void) => Promise<R>): AsyncGenerator<T, R> {
  const queue: T[] = [];
  let wake: (() => void) | undefined;
  let settled = false;
  const running = work((item) => {
    queue.push(item);
    wake?.();
  }).finally(() => {
    settled = true;
    wake?.();
  });
  // Its rejection is delivered by the await below; until then it must not count as unhandled.
  running.catch(() => undefined);
  for (;;) {
    while (queue.length > 0) {
      const item = queue.shift();
      if (item !== undefined) yield item;
    }
    if (settled) return running;
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
  }
}

/** As `progressStream`, and it does not end before the work does, which ends when its stream is left. */
export async function* settledStream<T, R>(work: (emit: (item: T) => void) => Promise<R>): AsyncGenerator<T, R> {
  let running: Promise<unknown> = Promise.resolve();
  try {
    return yield* progressStream<T, R>((emit) => {
      const own = work(emit);
      running = own;
      return own;
    });
  } finally {
    await running.catch(() => undefined);
  }
}
