/**
 * Where the values of a text are defined and used, by its words alone, so that it works while the text is wrong. A value
 * belongs to the graph that it stands in; graphs behind a node see nothing of those around them.
 */

export interface ValueWord {
  /** Without the sign and the number of a result: "x" of "%x.1". */
  readonly name: string;
  /** Offset of the sign. */
  readonly start: number;
  /** Behind the name, before the number of a result. */
  readonly end: number;
  /** Behind all of it. */
  readonly wholeEnd: number;
  readonly isDefinition: boolean;
  /** Of the graph that it stands in. */
  readonly graph: number;
}

/** Comments and strings hold no words; the others are what tells graphs and values apart. */
const WORDS = /\/\/[^\n]*|"(?:[^"\\\n]|\\.)*"|%(\w+)(\.\d+)?|\bgraph\b|[{}]/gu;
const DEFINES = /\s*=/uy;

export function valueWords(text: string): readonly ValueWord[] {
  const found: ValueWord[] = [];
  /** Open braces: the number of the graph, or null for attributes. */
  const open: (number | null)[] = [];
  let graphs = 0;
  let graphIsNext = false;
  for (const match of text.matchAll(WORDS)) {
    const [word, name, result = ""] = match;
    const start = match.index;
    if (word === "graph") graphIsNext = true;
    else if (word === "{") {
      open.push(graphIsNext ? graphs++ : null);
      graphIsNext = false;
    } else if (word === "}") open.pop();
    else if (name !== undefined) {
      DEFINES.lastIndex = start + word.length;
      const graph = open.findLast((each) => each !== null) ?? 0;
      const end = start + 1 + name.length;
      const isDefinition = result === "" && DEFINES.test(text);
      found.push({ name, start, end, wholeEnd: end + result.length, isDefinition, graph });
    }
  }
  return found;
}

export const wordAt = (words: readonly ValueWord[], offset: number): ValueWord | undefined =>
  words.find(({ start, wholeEnd }) => start <= offset && offset <= wholeEnd);

/** All that stand for the same value. */
export const sameValue = (words: readonly ValueWord[], { name, graph }: ValueWord): readonly ValueWord[] =>
  words.filter((word) => word.name === name && word.graph === graph);

export const definitionOf = (words: readonly ValueWord[], word: ValueWord): ValueWord | undefined =>
  sameValue(words, word).find(({ isDefinition }) => isDefinition);

/** Why a value cannot have this name; undefined where it can. */
export function nameRefusal(words: readonly ValueWord[], word: ValueWord, name: string): string | undefined {
  if (!/^\w+$/u.test(name)) return "A name has letters, digits and _.";
  if (name === word.name) return undefined;
  const isTaken = words.some((each) => each.name === name && each.graph === word.graph);
  return isTaken ? `%${name} is there already.` : undefined;
}
