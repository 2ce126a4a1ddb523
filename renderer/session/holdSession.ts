/**
 * One window saves one session: a browser copies the tab's memory when a tab is duplicated, and two windows would write over each
 * other. A lock of the browser holds the session for as long as the page lives. Where there are no locks (a page over plain HTTP
 * from another machine) every session counts as free.
 */

/** A page that is reloaded gives its lock back at about the time when its successor asks. */
const PATIENCE_MS = 400;

/** False: another window of this browser has it. */
export function holdSession(session: string): Promise<boolean> {
  const locks = typeof navigator === "undefined" ? undefined : (navigator as { readonly locks?: LockManager }).locks;
  if (locks === undefined) return Promise.resolve(true);
  return new Promise((resolve) => {
    locks
      .request(`rlx.session.${session}`, { signal: AbortSignal.timeout(PATIENCE_MS) }, () => {
        resolve(true);
        return new Promise<never>(() => undefined);
      })
      .catch(() => resolve(false));
  });
}
