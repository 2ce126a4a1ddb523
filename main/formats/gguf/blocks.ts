/**
 * The picture that every file has, whatever its architecture: its tensors grouped by block
 * (`blk.N.…`), roles in the order of the file, runs of equal blocks as one.
 */
import type { GgufTensor } from "./file.ts";

export interface BlockRole {
  /** "attn_q.weight" of "blk.3.attn_q.weight". */
  readonly role: string;
  readonly shape: readonly number[];
  readonly type: string;
  readonly bytes: number;
}

export interface BlockRun {
  /** "blk.0 to blk.27", "v.blk.3", or "" for the tensors outside of blocks. */
  readonly name: string;
  /** Equal blocks in this run. */
  readonly blocks: number;
  /** Of one block. */
  readonly bytes: number;
  readonly roles: readonly BlockRole[];
}

const BLOCK = /^((?:.*\.)?blk)\.(\d{1,6})\.(.+)$/u;

interface Block {
  readonly stack: string;
  readonly index: number;
  readonly roles: BlockRole[];
}

export function blockRuns(tensors: readonly GgufTensor[]): readonly BlockRun[] {
  const outside: BlockRole[] = [];
  const stacks = new Map<string, Map<number, Block>>();
  for (const tensor of tensors) {
    const [, stack, number, role] = BLOCK.exec(tensor.name) ?? [];
    if (stack === undefined || role === undefined) outside.push(roleOf(tensor.name, tensor));
    else blockOf(stacks, stack, Number(number)).roles.push(roleOf(role, tensor));
  }
  const runs = [...stacks.values()].flatMap((blocks) => folded([...blocks.values()].sort((a, b) => a.index - b.index)));
  return outside.length === 0 ? runs : [{ name: "", blocks: 1, bytes: bytesOf(outside), roles: outside }, ...runs];
}

const roleOf = (role: string, { shape, type, byteLength }: GgufTensor): BlockRole => ({
  role,
  shape,
  type: type.name.toUpperCase(),
  bytes: byteLength,
});

function blockOf(stacks: Map<string, Map<number, Block>>, stack: string, index: number): Block {
  const blocks = stacks.get(stack) ?? new Map<number, Block>();
  stacks.set(stack, blocks);
  const block = blocks.get(index) ?? { stack, index, roles: [] };
  blocks.set(index, block);
  return block;
}

function folded(blocks: readonly Block[]): readonly BlockRun[] {
  const runs: { readonly first: Block; last: Block; readonly key: string }[] = [];
  for (const block of blocks) {
    const key = block.roles.map(({ role, shape, type }) => `${role} ${type} ${shape.join("×")}`).join("\n");
    const run = runs.at(-1);
    if (run?.key === key && run.last.index + 1 === block.index) run.last = block;
    else runs.push({ first: block, last: block, key });
  }
  return runs.map(({ first, last }) => ({
    name: [first, ...(last === first ? [] : [last])].map(({ stack, index }) => `${stack}.${index}`).join(" to "),
    blocks: last.index - first.index + 1,
    bytes: bytesOf(first.roles),
    roles: first.roles,
  }));
}

const bytesOf = (roles: readonly BlockRole[]): number => roles.reduce((sum, { bytes }) => sum + bytes, 0);
