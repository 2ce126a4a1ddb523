/**
 * The table of a recording, by kind of instruction: of a prompt all that it took, of writing what one typical token takes. That
 * is the median over the tokens, kind by kind: in a mean another program that held one token up would speak for all.
 */
import { median } from "./statistics.ts";

/** One instruction of one run. */
export interface TimedPart<K> {
  readonly kind: K;
  readonly run: number;
  readonly seconds: number;
  readonly bytes: number;
}

export interface PhaseRow<K> {
  readonly kind: K;
  readonly count: number;
  readonly seconds: number;
  /** Of the seconds of all rows. */
  readonly share: number;
  readonly bytes: number;
}

/** `keyOf` tells kinds apart; `tokens` are the runs that each wrote one, undefined for a prompt. The longest comes first. */
export function phaseRows<K>(
  parts: Iterable<TimedPart<K>>,
  keyOf: (kind: K) => string,
  tokens?: readonly number[],
): readonly PhaseRow<K>[] {
  const found = new Map<
    string,
    { readonly kind: K; count: number; bytes: number; readonly times: Map<number, number> }
  >();
  for (const { kind, run, seconds, bytes } of parts) {
    const key = keyOf(kind);
    const row = found.get(key) ?? { kind, count: 0, bytes: 0, times: new Map<number, number>() };
    row.count++;
    row.bytes += bytes;
    row.times.set(run, (row.times.get(run) ?? 0) + seconds);
    found.set(key, row);
  }
  const each = tokens?.length ?? 1;
  const rows = [...found.values()].map(({ kind, count, bytes, times }) => ({
    kind,
    count: count / each,
    bytes: bytes / each,
    seconds:
      tokens === undefined
        ? [...times.values()].reduce((sum, time) => sum + time, 0)
        : median(tokens.map((run) => times.get(run) ?? 0)),
  }));
  const total = rows.reduce((sum, row) => sum + row.seconds, 0);
  return rows
    .map((row) => ({ ...row, share: total === 0 ? 0 : row.seconds / total }))
    .sort((a, b) => b.seconds - a.seconds);
}
