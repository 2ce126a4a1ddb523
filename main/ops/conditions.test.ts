/**
 * The conditions (`when`) of the backends' entries, both ways. What a condition can say is found by
 * search: every sample with its element types replaced and with more dimensions, as far as the op
 * itself accepts that. Whatever is found so has to be said of one of the op's own samples, because
 * those are what every backend's tests run.
 */
import { describe, expect, it } from "vitest";
import type { AttrRecord } from "../ir/attributes.ts";
import type { ElementType } from "../ir/dtype.ts";
import { isFloat } from "../ir/dtype.ts";
import type { Graph } from "../ir/graph.ts";
import { tensor } from "../ir/type.ts";
import type { AnyOp, Backend, NodeInfo, Sample, SampleInput } from "./defineOp.ts";
import { nodeInfo } from "./expand.ts";
import { OPS } from "./index.ts";
import { sampleGraph } from "./sampleData.ts";

const BACKENDS: readonly Backend[] = ["cpu", "coreml", "mlx"];
const TYPES: readonly ElementType[] = ["f64", "c64", "i32", "i64", "u32", "u8", "bool"];
/** One dimension more than Core ML has. */
const MANY_DIMENSIONS = 6;

type When = (node: NodeInfo<AttrRecord>) => true | string;

const entries = (Object.values(OPS) as unknown as readonly AnyOp[]).flatMap((op) =>
  BACKENDS.flatMap((backend) => {
    const entry = op.backends[backend];
    const when = entry === undefined || entry.kind === "unsupported" ? undefined : entry.when;
    return when === undefined ? [] : [{ name: `${op.name} on ${backend}`, op, backend, when }];
  }),
);

function nodeOf(graph: Graph, op: AnyOp): NodeInfo<AttrRecord> {
  const node = graph.nodes.find(({ op: name }) => name === op.name);
  if (!node) throw new Error(`no node of ${op.name}`);
  return nodeInfo(graph, node);
}

const retyped = (sample: Sample<AttrRecord>, dtype: ElementType): Sample<AttrRecord> => ({
  ...sample,
  inputs: sample.inputs.map((input): SampleInput => ({
    ...input,
    type: isFloat(input.type.dtype) ? tensor(dtype, input.type.shape) : input.type,
  })),
});
const lifted = (sample: Sample<AttrRecord>): Sample<AttrRecord> => ({
  ...sample,
  inputs: sample.inputs.map(({ type, fill }): SampleInput => {
    const ones = Array<number>(Math.max(0, MANY_DIMENSIONS - type.shape.length)).fill(1);
    return { fill, type: tensor(type.dtype, [...ones, ...type.shape]) };
  }),
});

/** Why a sample is refused; undefined when it is not, or when the op itself does not take it. */
function refusal(op: AnyOp, when: When, sample: Sample<AttrRecord>): string | undefined {
  let node: NodeInfo<AttrRecord>;
  try {
    node = nodeOf(sampleGraph(op, sample), op);
  } catch {
    return undefined;
  }
  const answer = when(node);
  return answer === true ? undefined : answer;
}

const refusals = (op: AnyOp, when: When, samples: readonly Sample<AttrRecord>[]): string[] =>
  samples.map((sample) => refusal(op, when, sample)).filter((reason) => reason !== undefined);

const searched = (op: AnyOp): Sample<AttrRecord>[] =>
  op.samples.flatMap((sample) => [sample, ...TYPES.map((dtype) => retyped(sample, dtype)), lifted(sample)]);

/** A reason without what differs from node to node: the name of the kernel, element types, counts. */
const wording = (reason: string): string =>
  reason
    .replace(/(CPU kernel|MLX's|Core ML's|^)( ?)\w+ (takes|is used|computes|numbers)/, "$1$2OP $3")
    .replace(/\b(f16|bf16|f32|f64|c64|i8|i16|i32|i64|u8|u16|u32|bool|q\d_\w)\b/g, "TYPE")
    .replace(/TYPE(, TYPE)+/g, "TYPES")
    .replace(/\d+/g, "N");

describe("conditions of backend entries", () => {
  it.each(entries)("$name: a sample that it takes, and one that it refuses where it refuses any", ({ op, when }) => {
    const found = refusals(op, when, searched(op));
    const own = refusals(op, when, op.samples);
    expect(own.length).toBeLessThan(op.samples.length);
    expect(own.length > 0 || found.length === 0, `no sample is refused, although: ${found[0]}`).toBe(true);
  });

  it("say nothing that no sample makes them say", () => {
    const said = (samples: (op: AnyOp) => readonly Sample<AttrRecord>[]): Set<string> =>
      new Set(
        entries.flatMap(({ op, backend, when }) =>
          refusals(op, when, samples(op)).map((reason) => `${backend}: ${wording(reason)}`),
        ),
      );
    const own = said((op) => op.samples);
    expect([...said(searched)].filter((reason) => !own.has(reason))).toEqual([]);
    expect(own.size).toBeGreaterThan(0);
  });
});
