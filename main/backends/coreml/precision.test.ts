// A program computes in what the policy of its profile says of each op, as the pass types the same graph for other readers.
import { finish } from "../../ir/steps.ts";
import { describe, expect, it } from "vitest";
import { legalise } from "../../compiler/legalise.ts";
import { applyPrecision } from "../../compiler/precision.ts";
import { isFloat } from "../../ir/dtype.ts";
import type { Graph, Node } from "../../ir/graph.ts";
import { isLeaf } from "../../ir/graph.ts";
import { specialize } from "../../ir/specialize.ts";
import { opOf, opTable } from "../../ops/index.ts";
import { tinyModel } from "../../testing/tinyModels.ts";
import type { EntryOf } from "./hybrid/loweredGraph.ts";
import { rulesFrom } from "./hybrid/loweredGraph.ts";
import { lowerProgram } from "./lowering/lower.ts";
import { nestedOperations } from "./mil/types.ts";
import type { WeightProfile } from "./weights/forms.ts";
import { PROFILE_PRECISION, WEIGHT_PROFILES } from "./weights/forms.ts";

const entries: EntryOf = (op) => opOf(op)?.backends.coreml;
const ROUNDING = new Set(["cast", "const"]);

/** Of each op with float results the types that it computes in. */
type Types = ReadonlyMap<string, ReadonlySet<string>>;

function gathered(pairs: Iterable<readonly [string, string]>): Types {
  const types = new Map<string, Set<string>>();
  for (const [op, dtype] of pairs) types.set(op, (types.get(op) ?? new Set()).add(dtype));
  return types;
}

function byPolicy(graph: Graph, profile: WeightProfile): Types {
  const typed = finish(applyPrecision(graph, PROFILE_PRECISION[profile]));
  // A policy leaves weights and caches alone, and with them the rows of a table: in a program their types follow the profile.
  const isStored = ({ op, inputs }: Node): boolean =>
    op === "kv_append" || (op === "gather" && typed.nodes[inputs[0]?.node ?? -1]?.op === "param");
  const computing = typed.nodes.filter((node) => !isLeaf(node) && node.op !== "cast" && !isStored(node));
  return gathered(
    computing.flatMap(({ op, outputs }) =>
      outputs
        .filter(({ dtype }) => isFloat(dtype))
        .map(({ dtype }) => [op, dtype === "f16" ? "fp16" : "fp32"] as const),
    ),
  );
}

function byProgram(graph: Graph, profile: WeightProfile): Types {
  const { program } = finish(
    lowerProgram([{ name: "main", graph }], { rules: rulesFrom(entries), profile, opset: "CoreML8" }),
  );
  const all = program.functions.flatMap(({ operations }) =>
    operations.flatMap((operation) => [operation, ...nestedOperations(operation)]),
  );
  return gathered(
    all.flatMap(({ type, origins, outputs }) =>
      ROUNDING.has(type)
        ? []
        : origins.flatMap((id) =>
            outputs.flatMap((output) => {
              const op = graph.nodes[id]?.op ?? "?";
              const dtype = output.type.kind === "tensor" ? output.type.dtype : "";
              return dtype === "fp16" || dtype === "fp32" ? [[op, dtype] as const] : [];
            }),
          ),
    ),
  );
}

describe.each(WEIGHT_PROFILES)("a program of the profile %s", (profile) => {
  for (const family of ["llama", "qwen2", "qwen3"] as const)
    it(`computes each op of ${family} in the type of its policy`, () => {
      const bound = finish(specialize(opTable, tinyModel(family, 2), { T: 3, R: 1, C: 8 }));
      const { graph } = finish(legalise(bound, "coreml"));
      const [want, got] = [byPolicy(graph, profile), byProgram(graph, profile)];
      for (const [op, types] of want) expect([op, got.get(op)]).toEqual([op, types]);
      expect(want.get("linear")).toEqual(new Set([PROFILE_PRECISION[profile] === "f32" ? "fp32" : "fp16"]));
      // Rotary angles reach thousands.
      expect(want.get("rope_table")).toEqual(new Set(["fp32"]));
    });
});
