/** For tests: what is wrong with a page of HTML, by a strict reading: balanced tags, quoted attributes, escaped text, one of each id. */
const VOID = new Set(["meta", "br", "hr", "img", "input", "link"]);
/** What a paragraph may hold. */
const PHRASES = new Set(["strong", "small", "em", "br", "span", "code"]);
const TAG = /<(?:(\/)([a-z][a-z0-9]*)|([a-z][a-z0-9]*)((?:\s+[a-zA-Z-]+(?:="[^"<]*")?)*)\s*(\/)?)>/gu;

export function htmlProblems(page: string): readonly string[] {
  const problems: string[] = [];
  if (!page.startsWith("<!doctype html>\n")) problems.push("no doctype");
  const body = page.slice(page.indexOf("\n") + 1);
  const open: string[] = [];
  const ids = new Set<string>();
  let at = 0;
  const text = (piece: string, inside: string | undefined): void => {
    if (inside === "style") return;
    if (/[<>]/u.test(piece)) problems.push(`bare sign in ${JSON.stringify(piece.slice(0, 60))}`);
    if (/&(?!(?:amp|lt|gt|quot|#39);)/u.test(piece)) problems.push(`bare & in ${JSON.stringify(piece.slice(0, 60))}`);
  };
  for (const match of body.matchAll(TAG)) {
    const [whole, closes, closed = "", opened = "", attributes = "", isEmpty] = match;
    text(body.slice(at, match.index), open.at(-1));
    at = match.index + whole.length;
    if (closes !== undefined) {
      const last = open.pop();
      if (last !== closed) problems.push(`</${closed}> closes <${last ?? ""}>`);
      continue;
    }
    if (open.includes("p") && !PHRASES.has(opened)) problems.push(`<${opened}> in a paragraph`);
    const names = [...attributes.matchAll(/\s([a-zA-Z-]+)(?:="([^"]*)")?/gu)];
    if (new Set(names.map(([, name]) => name)).size !== names.length) problems.push(`an attribute twice: ${whole}`);
    for (const [, name, value = ""] of names) {
      text(value, undefined);
      if (name !== "id") continue;
      if (ids.has(value)) problems.push(`id ${value} twice`);
      ids.add(value);
    }
    if (isEmpty === undefined && !VOID.has(opened)) open.push(opened);
  }
  text(body.slice(at), undefined);
  if (open.length > 0) problems.push(`not closed: ${open.join(" ")}`);
  for (const needed of ['<html lang="', '<meta charset="utf-8"', "<title>", "<h1>"])
    if (!page.includes(needed)) problems.push(`no ${needed}`);
  return problems;
}
