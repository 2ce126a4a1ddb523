/** Lists and ranges of numbers as people write them: "128, 512", "1-4", "2-8+2" (every second one). */
export type NumberList =
  { readonly ok: true; readonly values: readonly number[] } | { readonly ok: false; readonly problem: string };

const MOST_VALUES = 64;

export function readNumberList(text: string, least: number, most: number): NumberList {
  const values: number[] = [];
  for (const part of text.split(",").map((each) => each.trim())) {
    const [, first, last, step] = /^(\d{1,9})(?:\s*-\s*(\d{1,9})(?:\+([1-9]\d{0,8}))?)?$/u.exec(part) ?? [];
    if (first === undefined) return bad(part, least, most);
    const [low, high, by] = [Number(first), Number(last ?? first), Number(step ?? 1)];
    if (low < least || high > most || high < low) return bad(part, least, most);
    for (let value = low; value <= high; value += by) {
      if (!values.includes(value)) values.push(value);
      if (values.length > MOST_VALUES) return { ok: false, problem: `expected at most ${MOST_VALUES} numbers` };
    }
  }
  return { ok: true, values };
}

const bad = (part: string, least: number, most: number): NumberList => ({
  ok: false,
  problem: `got ${part === "" ? "nothing" : part}, expected whole numbers from ${least} to ${most}, such as 4, 1,2,8 or 1-4`,
});
