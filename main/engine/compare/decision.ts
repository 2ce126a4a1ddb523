/**
 * What decides between two sides, before any table: which of them runs here at all, whether a forecast may say how many times
 * faster one is, and which file is smaller. What Overview refuses to say of a side is refused here too.
 */
import type { Comparison, Side } from "../../contract/views/compare.ts";
import { isGraphAlone } from "../../contract/views/model.ts";
import { bytesFigure } from "../measure/forecast.ts";
import { startsDecide } from "../measure/speed.ts";
import type { SideNumbers } from "./numbers.ts";

export interface SideLimits {
  /** Why it does not run here; null where it does. */
  readonly cannot: string | null;
  /** Why no rate is told of it; null where one is, or where none is to be told. */
  readonly noRate: string | null;
}
export type Limits = Readonly<Record<Side, SideLimits>>;

export function limitsOf({ overview: { canRun, canEmbed, embedder, kind }, verdict }: SideNumbers): SideLimits {
  const speed = verdict?.ok === true ? verdict.speed : null;
  if (isGraphAlone(kind))
    return {
      cannot: canRun.ok ? null : canRun.sentence,
      noRate: speed !== null && startsDecide(speed) ? speed.sentence : null,
    };
  const writes = embedder === null && speed !== null && speed.prompt !== null;
  return {
    cannot: canRun.ok || canEmbed.ok ? null : canRun.sentence,
    noRate: writes && speed.generate === null ? speed.sentence.replace(/^No rate: /u, "") : null,
  };
}

type Sides = Pick<Comparison, "a" | "b" | "same">;

/** "Take A: B does not run here." The same file is as usable on both sides. */
export function usableSentence({ same }: Sides, { a, b }: Limits): string | null {
  if (a.cannot === null && b.cannot === null) return null;
  if (same === "file" || a.cannot === b.cannot) return `Neither runs here. ${a.cannot ?? b.cannot ?? ""}`;
  if (a.cannot !== null && b.cannot !== null) return `Neither runs here. A: ${a.cannot} B: ${b.cannot}`;
  const [usable, other, why] = a.cannot === null ? ["A", "B", b.cannot] : ["B", "A", a.cannot];
  return `Take ${usable}: ${other} does not run here. ${why ?? ""}`;
}

/** Why the times of both are not divided by each other; null where they may be. */
export function ratioRefusal({ a, b }: Limits): string | null {
  const [side, why] = a.noRate === null ? ["B", b.noRate] : ["A", a.noRate];
  if (why === null) return null;
  const of = a.noRate === b.noRate ? "" : `on ${side}, `;
  return `How many times less is not said: ${of}${why}`;
}

export function fileSentence({ a, b }: Pick<Comparison, "a" | "b">): string | null {
  if (a.file === null || b.file === null || a.file.bytes === b.file.bytes) return null;
  const [less, more] = a.file.bytes < b.file.bytes ? [a.file, b.file] : [b.file, a.file];
  const smaller = less === a.file ? "A" : "B";
  return `${smaller} is the smaller file, ${bytesFigure(less.bytes)} instead of ${bytesFigure(more.bytes)}.`;
}
