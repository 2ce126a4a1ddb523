/** Something has changed: told any number of times, waited for once, over when a signal fires. */
export interface News {
  readonly tell: () => void;
  /** At once where something was told since the last time. */
  next(): Promise<void>;
  end(): void;
}

export function createNews(signal: AbortSignal): News {
  let isTold = false;
  let wake = (): void => undefined;
  const tell = (): void => {
    isTold = true;
    wake();
  };
  const onAbort = (): void => wake();
  signal.addEventListener("abort", onAbort);
  return {
    tell,
    async next() {
      if (!isTold && !signal.aborted) await new Promise<void>((resolve) => (wake = resolve));
      isTold = false;
    },
    end: () => signal.removeEventListener("abort", onAbort),
  };
}
