/** Patterns for the names of tensors: `*` stands for anything, a pattern without it for a part of the name. */

/** Each part of a pattern is taken at its first place: that is enough, and costs no more than the name is long. */
export function matchesName(name: string, pattern: string): boolean {
  const [first = "", ...inner] = pattern.split("*");
  const last = inner.pop();
  if (last === undefined) return name.includes(pattern);
  const end = name.length - last.length;
  if (!name.startsWith(first) || !name.endsWith(last) || first.length > end) return false;
  let at = first.length;
  for (const part of inner) {
    const found = name.indexOf(part, at);
    if (found < 0 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}
