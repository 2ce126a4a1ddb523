/** Sentences that begin alike are said once: "… nothing to run." and "… nothing to export." are one sentence with two ends. */

/** A shared beginning shorter than this is chance. */
const LEAST_SHARED = 16;

export function joinSentences(sentences: readonly string[]): string {
  const [first, ...rest] = [...new Set(sentences)];
  if (first === undefined) return "";
  let shared = first.length;
  for (const other of rest) {
    let i = 0;
    while (i < shared && first[i] === other[i]) i++;
    shared = i;
  }
  // Whole words only.
  shared = first.lastIndexOf(" ", shared - 1) + 1;
  if (rest.length === 0 || shared < LEAST_SHARED) return [first, ...rest].join(" ");
  const ends = [first, ...rest].map((sentence) => sentence.slice(shared).replace(/\.$/, ""));
  // An end that holds a sentence of its own cannot be strung together.
  if (ends.some((end) => end === "" || /[.!?]/.test(end))) return [first, ...rest].join(" ");
  return `${first.slice(0, shared)}${ends.slice(0, -1).join(", ")} or ${ends.at(-1) ?? ""}.`;
}
