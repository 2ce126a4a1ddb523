// Factors of rotary angles stay fp32 in every profile: rounded to half, the angle at position 131072 is off by a hundredth.
import { describe, expect, it } from "vitest";
import { legalise } from "../../../compiler/legalise.ts";
import type { Graph } from "../../../ir/graph.ts";
import { GraphBuilder } from "../../../ir/builder.ts";
import { specialize } from "../../../ir/specialize.ts";
import { tensor } from "../../../ir/type.ts";
import { opOf, opTable, typedBuilder } from "../../../ops/index.ts";
import { tinyArchitecture, tinyGraph, tinyHyper } from "../../../testing/tinyModels.ts";
import { rulesFrom } from "../hybrid/loweredGraph.ts";
import type { WeightProfile } from "../weights/forms.ts";
import { floatOf, formText, WEIGHT_PROFILES } from "../weights/forms.ts";
import { lowerProgram } from "./lower.ts";

const FACTORS = "rope_freqs.weight";
const rules = rulesFrom((op) => opOf(op)?.backends.coreml);

/** The stored form of each weight of the functions' one program. */
function formsOf(graphs: readonly Graph[], profile: WeightProfile): ReadonlyMap<string, string> {
  const sources = graphs.map((graph, i) => ({ name: `f${i}`, graph: legalise(graph, "coreml").graph }));
  const { plan } = lowerProgram(sources, { rules, profile, opset: "CoreML8" });
  return new Map(plan.weights.map(({ name, form }) => [name, formText(form)]));
}

function llama(count: number): Graph {
  const rope = { ...tinyHyper("llama").rope, factorsTensor: FACTORS };
  const graph = tinyGraph(tinyArchitecture("llama", { rope }));
  return specialize(opTable, graph, { T: count, R: 1 });
}

/** The angles of factors, and, where asked for, the factors themselves twice over. */
function angles(isReadElsewhere: boolean): Graph {
  const builder = new GraphBuilder(opTable, "angles");
  const g = typedBuilder(builder);
  const positions = builder.input("positions", tensor("i32", [3]));
  const factors = builder.param("factors", tensor("f32", [16]), { file: "f", tensor: FACTORS });
  const [cos] = g.rope_table([positions, factors], {
    ...{ dims: 32, base: 500_000, scaling: "none", factor: 1, originalContext: 0 },
    ...{ attentionFactor: 1, betaFast: 32, betaSlow: 1 },
  });
  if (cos !== undefined) builder.output("cos", cos);
  if (isReadElsewhere) builder.output("twice", g.add([factors, factors]));
  return builder.finish();
}

describe.each(WEIGHT_PROFILES)("a package of the profile %s", (profile) => {
  it("holds rope factors in fp32, and other vectors as the profile says", () => {
    const forms = formsOf([llama(3), llama(1)], profile);
    expect(forms.get(FACTORS)).toBe("fp32");
    expect(forms.get("output_norm.weight")).toBe(floatOf(profile));
    expect(forms.get("token_embd.weight")).toBe(floatOf(profile));
  });

  it("holds what is read in its own floats, too, in these", () => {
    expect(formsOf([angles(false)], profile).get(FACTORS)).toBe("fp32");
    expect(formsOf([angles(true)], profile).get(FACTORS)).toBe(floatOf(profile));
    // In another function of the program: it is one record.
    expect(formsOf([angles(false), angles(true)], profile).get(FACTORS)).toBe(floatOf(profile));
  });
});
