/**
 * Looks for words in the text that a view shows, as a browser's own search would, and marks them without touching the page: ranges in
 * the registry of highlights. Text that is hidden, and that of fields, is left out.
 */

/** Of the highlights, as Shell.module.css styles them. */
const ALL = "found";
const CURRENT = "found-current";
/** More are not marked: a word of one letter in a long table. */
const MOST = 2000;

export interface FoundText {
  readonly ranges: readonly Range[];
  /** There were more than are marked. */
  readonly more: boolean;
}

export const NOTHING_FOUND: FoundText = { ranges: [], more: false };

/** Where the words stand in a text, without regard to case; `[]` for no words. */
export function placesOf(text: string, words: string): readonly number[] {
  const wanted = words.toLowerCase();
  if (wanted === "") return [];
  const within = text.toLowerCase();
  const places: number[] = [];
  // Letters that grow in lower case would move what follows them: such a text is compared as it is.
  const place = within.length === text.length ? within : text;
  for (let at = place.indexOf(wanted); at >= 0; at = place.indexOf(wanted, at + wanted.length)) places.push(at);
  return places;
}

const isShown = (element: Element | null): boolean =>
  element !== null &&
  element.closest("script, style, textarea, option, .visually-hidden") === null &&
  element.checkVisibility({ visibilityProperty: true });

export function findIn(view: Element, words: string): FoundText {
  const ranges: Range[] = [];
  if (words === "") return NOTHING_FOUND;
  const walker = document.createTreeWalker(view, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const places = placesOf(node.textContent ?? "", words);
    if (places.length === 0 || !isShown(node.parentElement)) continue;
    for (const at of places) {
      if (ranges.length >= MOST) return { ranges, more: true };
      const range = new Range();
      range.setStart(node, at);
      range.setEnd(node, at + words.length);
      ranges.push(range);
    }
  }
  return { ranges, more: false };
}

/** Marks them, the current one more strongly. */
export function markFound(found: FoundText, current: number): void {
  const now = found.ranges[current];
  CSS.highlights.set(ALL, new Highlight(...found.ranges));
  if (now === undefined) {
    CSS.highlights.delete(CURRENT);
    return;
  }
  const strong = new Highlight(now);
  strong.priority = 1;
  CSS.highlights.set(CURRENT, strong);
}

/** Brings the current one in sight. */
export function showCurrent(): void {
  for (const range of CSS.highlights.get(CURRENT) ?? [])
    if (range instanceof Range) range.startContainer.parentElement?.scrollIntoView({ block: "nearest" });
}

export function unmarkFound(): void {
  CSS.highlights.delete(ALL);
  CSS.highlights.delete(CURRENT);
}
