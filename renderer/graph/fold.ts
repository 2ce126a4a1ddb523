/**
 * What a group shows: its items, with stretches of equal blocks as one stack, and open groups as frames. Blocks of
 * different kinds whose order repeats are one stack, too.
 * A stack opens by splitting its first block off; any block can be split out of the middle the same way.
 */
import type { GraphModel } from "./graphModel.ts";
import { childrenOf, groupKind, groupWords, isGroup, nodeName, nodeWeight, opName } from "./graphModel.ts";
import { patternWords, repeatingPart } from "./periods.ts";

export type Shown =
  | { readonly kind: "op"; readonly node: number }
  | { readonly kind: "group"; readonly group: number }
  /** Equal blocks, or blocks whose order repeats, in the order of the program. */
  | { readonly kind: "stack"; readonly groups: readonly number[] }
  | { readonly kind: "frame"; readonly group: number; readonly items: readonly Shown[] };

export interface FoldState {
  readonly open: ReadonlySet<number>;
  /** Per group: groups of equal class look alike and may be stacked. */
  readonly classes: Uint32Array;
  /** The same without the types of weights, for a repeat that would fall into too many stacks. */
  readonly rough?: Uint32Array | undefined;
}

/** Mixed quantisation makes every third block another one: beyond this many pieces a repeat is stacked by `rough`. */
const MOST_STACKS = 6;

/** Everything that is shown, from the model down. A `repeat` group has no frame of its own: its blocks stand in line. */
export function foldGraph(model: GraphModel, state: FoldState): readonly Shown[] {
  return foldItems(model, 0, state);
}

function foldItems(model: GraphModel, group: number, state: FoldState): readonly Shown[] {
  const shown: Shown[] = [];
  for (const code of childrenOf(model, group)) {
    if (!isGroup(code)) {
      if (model.hidden[code] === 0) shown.push({ kind: "op", node: code });
      continue;
    }
    const child = ~code;
    if (groupKind(model.view, child) === "repeat") shown.push(...foldRepeat(model, child, state));
    else if (state.open.has(child)) shown.push({ kind: "frame", group: child, items: foldItems(model, child, state) });
    else shown.push({ kind: "group", group: child });
  }
  return shown;
}

function foldRepeat(model: GraphModel, repeat: number, state: FoldState): readonly Shown[] {
  const pieces = stackBlocks(model, repeat, state, state.classes);
  if (state.rough === undefined) return pieces;
  const closed = pieces.filter(({ kind }) => kind === "stack" || kind === "group").length;
  const rough = closed > MOST_STACKS ? stackBlocks(model, repeat, state, state.rough) : pieces;
  return rough.length < pieces.length ? rough : pieces;
}

function stackBlocks(model: GraphModel, repeat: number, state: FoldState, classes: Uint32Array): readonly Shown[] {
  const shown: Shown[] = [];
  let closed: number[] = [];
  const flush = (): void => {
    shown.push(...stacksOf(model, closed, classes));
    closed = [];
  };
  for (const code of childrenOf(model, repeat)) {
    if (!isGroup(code)) {
      flush();
      if (model.hidden[code] === 0) shown.push({ kind: "op", node: code });
      continue;
    }
    const block = ~code;
    if (state.open.has(block)) {
      flush();
      shown.push({ kind: "frame", group: block, items: foldItems(model, block, state) });
      continue;
    }
    closed.push(block);
  }
  flush();
  return shown;
}

/** Closed blocks in a row: one stack of those whose kinds repeat in order, and a stack for each run of equal others. */
function stacksOf(model: GraphModel, blocks: readonly number[], classes: Uint32Array): readonly Shown[] {
  const stacks: number[][] = [];
  const kinds = new Set(blocks.map((block) => groupWords(model.view, block)));
  const found = kinds.size > 1 ? repeatingPart(blocks.map((block) => classes[block])) : undefined;
  const { start, end } = found ?? { start: 0, end: 0 };
  blocks.forEach((block, i) => {
    const isRepeating = i >= start && i < end;
    const goesOn = isRepeating ? i > start : i !== end && classes[blocks[i - 1] ?? -1] === classes[block];
    if (goesOn) stacks.at(-1)?.push(block);
    else stacks.push([block]);
  });
  return stacks.map((groups) =>
    groups.length === 1 ? { kind: "group", group: groups[0] ?? 0 } : { kind: "stack", groups },
  );
}

/**
 * Classes by structure and by what a column says of each node (the device): a block whose attention runs elsewhere must
 * not hide in a stack. Linear in nodes and groups.
 */
export function classify(model: GraphModel, column: ArrayLike<number> | null): Uint32Array {
  const { view } = model;
  const groupCount = view.groups.parent.length;
  const hashes = new Uint32Array(groupCount);
  if (column !== null)
    for (let node = 0; node < view.nodeCount; node++)
      if (model.hidden[node] === 0) addTo(hashes, view, view.nodes.group[node] ?? 0, column[node] ?? 0);
  const numbers = new Map<string, number>();
  return Uint32Array.from({ length: groupCount }, (_, group) => {
    const key = `${view.groups.structure[group] ?? 0}/${hashes[group] ?? 0}`;
    const known = numbers.get(key) ?? numbers.size;
    numbers.set(key, known);
    return known;
  });
}

/** Classes by ops, their result types and what the column says, whatever the weights are packed as. */
export function classifyRoughly(model: GraphModel, column: ArrayLike<number> | null): Uint32Array {
  const { view } = model;
  const hashes = new Uint32Array(view.groups.parent.length);
  for (let node = 0; node < view.nodeCount; node++) {
    if (model.hidden[node] === 1) continue;
    const group = view.nodes.group[node] ?? 0;
    addTo(hashes, view, group, view.nodes.op[node] ?? 0);
    addTo(hashes, view, group, view.nodes.type[node] ?? 0);
    if (column !== null) addTo(hashes, view, group, column[node] ?? 0);
  }
  return hashes;
}

/** Mixes a value into a group and those around it; order matters, so equal mixes mean equal sequences (up to a hash). */
function addTo(hashes: Uint32Array, view: GraphModel["view"], group: number, value: number): void {
  for (let at = group, depth = 0; at >= 0 && depth < 64; at = view.groups.parent[at] ?? -1, depth++)
    hashes[at] = Math.imul((hashes[at] ?? 0) ^ (value + 1), 0x01000193) + 0x9e3779b9;
}

/** The class that most blocks of a repeat have: the others are the odd ones out. */
export function usualClass(model: GraphModel, repeat: number, classes: Uint32Array): number | null {
  const counts = new Map<number, number>();
  for (const code of childrenOf(model, repeat)) {
    if (!isGroup(code)) continue;
    const of = classes[~code] ?? 0;
    counts.set(of, (counts.get(of) ?? 0) + 1);
  }
  let best: number | null = null;
  for (const [of, n] of counts) if (best === null || n > (counts.get(best) ?? 0)) best = of;
  return best;
}

/** All groups that can be opened, for "show everything". */
export function allGroups(model: GraphModel): ReadonlySet<number> {
  return new Set(Array.from(model.view.groups.parent.keys()).slice(1));
}

/**
 * What makes a block differ from its siblings, in words: the engine's own note (other types, other ops), or the first ops
 * that the column (the device) puts elsewhere: "attention on GPU". Empty for those that are like most.
 */
export function oddNote(
  model: GraphModel,
  block: number,
  classes: Uint32Array,
  column: ArrayLike<number> | null,
  nameOf: (code: number) => string,
): string {
  const { view } = model;
  const parent = view.groups.parent[block] ?? -1;
  if (parent < 0 || groupKind(view, parent) !== "repeat") return "";
  const usual = usualClass(model, parent, classes);
  if (usual === null || classes[block] === usual) return "";
  const note = view.strings[view.groups.note[block] ?? 0] ?? "";
  if (note !== "") return note;
  const sibling = [...childrenOf(model, parent)].find((code) => isGroup(code) && classes[~code] === usual);
  // The ops of both stand at the same places, or there is no comparing them op by op.
  if (sibling === undefined || view.groups.nodeCount[~sibling] !== view.groups.nodeCount[block]) return "";
  const [from, like] = [view.groups.firstNode[block] ?? 0, view.groups.firstNode[~sibling] ?? 0];
  const found = new Set<string>();
  const shared = new Set<string>();
  const packed = new Map<string, string[]>();
  for (let i = 0; i < (view.groups.nodeCount[block] ?? 0); i++) {
    const [node, other] = [from + i, like + i];
    if (model.hidden[node] === 1) continue;
    if (view.nodes.op[node] !== view.nodes.op[other]) found.add(`${opName(view, node)} for ${opName(view, other)}`);
    else if (nodeWeight(view, node) !== nodeWeight(view, other))
      packed.set(nodeWeight(view, node), [...(packed.get(nodeWeight(view, node)) ?? []), nodeName(view, node)]);
    else if (column !== null && (column[node] ?? 0) !== (column[other] ?? 0)) {
      // What is placed on one side only runs nowhere else: equal operations of all blocks are made once.
      if (column[node] === 0) shared.add(`${opName(view, node)} taken from another block`);
      else if (column[other] === 0) shared.add(`${opName(view, node)} made once for all blocks`);
      else found.add(`${opName(view, node)} on ${nameOf(column[node] ?? 0)}`);
    }
  }
  for (const [type, names] of packed) found.add(`${names.join(", ")} in ${type}`);
  for (const text of shared) found.add(text);
  const [first, second, ...rest] = found;
  return [first, second, rest.length > 0 ? `${rest.length} more` : undefined]
    .filter((part) => part !== undefined)
    .join(", ");
}

/**
 * What a stack hides: the order of its kinds of blocks; or how many of its blocks are not like most, and in what. Empty
 * when all are equal.
 */
export function stackNote(
  model: GraphModel,
  first: number,
  last: number,
  classes: Uint32Array,
  noteOf: (block: number) => string,
): string {
  const parents = model.view.groups.parent;
  const words = wordsOf(model, first, last);
  const pattern = patternWords(words);
  if (pattern !== "") return pattern;
  const repeat = parents[first] ?? 0;
  const kind = hasOneKind(model, repeat) ? "" : `${words.length} × ${words[0] ?? ""}`;
  const usual = usualClass(model, repeat, classes);
  const odd: number[] = [];
  for (let group = first; group <= last; group++)
    if (parents[group] === parents[first] && classes[group] !== usual) odd.push(group);
  // Blocks of one kind may all be unlike the usual block, which is of another kind.
  const [example] = kind !== "" && odd.length === words.length ? [] : odd;
  const differing = example === undefined ? "" : `${odd.length} differ: ${noteOf(example)}`;
  return [kind, differing].filter((part) => part !== "").join(", ");
}

/** The words of each of the blocks from `first` to `last`. */
function wordsOf({ view }: GraphModel, first: number, last: number): readonly string[] {
  const words: string[] = [];
  for (let group = first; group <= last; group++)
    if (view.groups.parent[group] === view.groups.parent[first]) words.push(groupWords(view, group));
  return words;
}

function hasOneKind(model: GraphModel, repeat: number): boolean {
  const kinds = new Set<string>();
  for (const code of childrenOf(model, repeat)) if (isGroup(code)) kinds.add(groupWords(model.view, ~code));
  return kinds.size < 2;
}
