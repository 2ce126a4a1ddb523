/** A session document from what a window holds, within the size that is kept. */
import type { SessionDocument, SessionModel } from "../../main/contract/views/session.ts";
import { LARGEST_DOCUMENT, MOST_MODELS } from "../../main/contract/views/session.ts";

/** Bytes that a part may take before the whole is too large: those above it are left out first. */
const LARGE_PART = 1_000_000;

export interface FittedText {
  readonly text: string;
  /** What was left out because there is no room for it, in words; empty: nothing. */
  readonly leftOut: readonly string[];
}

/** The newest models first; of a document that is too large, models that were open longest ago go, then large parts. */
export function fittedText(document: SessionDocument): FittedText {
  const models = document.models.toSorted((a, b) => b.usedAt - a.usedAt);
  const leftOut: string[] = models.slice(MOST_MODELS).map(({ title }) => title);
  let kept: readonly SessionModel[] = models.slice(0, MOST_MODELS);
  const textOf = (): string => JSON.stringify({ ...document, models: kept });
  let text = textOf();
  while (text.length > LARGEST_DOCUMENT && kept.length > 1) {
    leftOut.push(kept.at(-1)?.title ?? "");
    kept = kept.slice(0, -1);
    text = textOf();
  }
  if (text.length <= LARGEST_DOCUMENT) return { text, leftOut };
  kept = kept.map((model) => {
    const parts = Object.entries(model.parts);
    const fitting = parts.filter(([, value]) => JSON.stringify(value).length <= LARGE_PART);
    leftOut.push(...parts.filter((part) => !fitting.includes(part)).map(([name]) => `${name} of ${model.title}`));
    return { ...model, parts: Object.fromEntries(fitting) };
  });
  return { text: textOf(), leftOut };
}
