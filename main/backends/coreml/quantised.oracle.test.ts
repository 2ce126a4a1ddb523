// Codes of eight bits whose scales are constants: MIL's own quantize and dequantize, with int8 between them. Written, validated by
// coremltools, read back and simulated, against the float64 reference. (Computed scales are in the samples of the ops.)
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { legalise } from "../../compiler/legalise.ts";
import { dequantize } from "../../formats/quant/dequantize.ts";
import { GraphBuilder } from "../../ir/builder.ts";
import type { Graph } from "../../ir/graph.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { finish } from "../../ir/steps.ts";
import { tensor } from "../../ir/type.ts";
import { packageReader } from "../../node/files/packageDirectory.ts";
import { evaluate } from "../../ops/evaluate.ts";
import { opOf, opTable, typedBuilder } from "../../ops/index.ts";
import { oracleMissing } from "../../testing/oracle.ts";
import { writeValidPackage } from "../../testing/validPackage.ts";
import { rulesFrom } from "./hybrid/loweredGraph.ts";
import { lowerProgram } from "./lowering/lower.ts";
import { openPackage } from "./package.ts";
import { packageTensor } from "./package/packageTensor.ts";
import { Simulator } from "./simulator/simulator.ts";

const folder = mkdtempSync(join(tmpdir(), "rlx-quantised-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const rules = rulesFrom((op) => opOf(op)?.backends.coreml);

interface Asked {
  readonly channels: number;
  /** Of each channel. */
  readonly scale: (channel: number) => number;
  readonly axis?: number;
  readonly zeros: boolean;
}

/** Quantised and back, and the codes themselves, as whole numbers. */
function thereAndBack({ channels, scale, axis, zeros }: Asked): Graph {
  const builder = new GraphBuilder(opTable, "quantised");
  const g = typedBuilder(builder);
  const x = builder.input("x", tensor("f32", [2, channels, 3]));
  const [shape, count] = axis === undefined ? [[], 1] : [[channels], channels];
  const steps = builder.constant(
    hostTensor(
      "f32",
      shape,
      Array.from({ length: count }, (_, i) => scale(i)),
    ),
  );
  const centre = zeros
    ? [
        builder.constant(
          hostTensor(
            "i8",
            shape,
            Array.from({ length: count }, (_, i) => (i % 5) - 2),
          ),
        ),
      ]
    : [];
  const attrs = axis === undefined ? {} : { axis };
  const codes = g.quantize([x, steps, ...centre] as never, attrs);
  builder.output("y", g.dequantize_affine([codes, steps, ...centre] as never, attrs));
  builder.output("codes", g.cast([codes], { to: "i32" }));
  return builder.finish();
}

const OWN = ["quantize", "cast", "dequantize"];
const CASES: readonly (readonly [title: string, asked: Asked, wanted: readonly string[]])[] = [
  ["one scale", { channels: 3, scale: () => 0.0625, zeros: false }, OWN],
  ["one scale and zero", { channels: 3, scale: () => 0.0625, zeros: true }, OWN],
  ["a scale for each channel", { channels: 3, scale: (i) => 2 ** -(i + 2), axis: 1, zeros: true }, OWN],
  ["more scales than a program writes", { channels: 40, scale: (i) => 2 ** -(i % 6), axis: -2, zeros: true }, OWN],
  // What MIL's own operators refuse is written out.
  [
    "a scale below 0",
    { channels: 3, scale: (i) => (i === 1 ? -0.25 : 0.25), axis: 1, zeros: true },
    ["real_div", "round"],
  ],
];

const missing = oracleMissing();
describe.skipIf(missing)(`codes of eight bits on Core ML ${missing ?? ""}`, () => {
  const cases = CASES.flatMap(([title, asked, wanted]) =>
    (["exact", "ane"] as const).map((profile) => [title, profile, asked, wanted] as const),
  );
  it.each(cases)("%s, %s profile", async (title, profile, asked, wanted) => {
    const graph = thereAndBack(asked);
    const { graph: legal, blocked } = finish(legalise(graph, "coreml"));
    expect([...blocked.values()]).toEqual([]);
    const lowered = finish(
      lowerProgram([{ name: "main", graph: legal }], { rules, profile, opset: "CoreML8", small: new Map() }),
    );
    const types = lowered.program.functions[0]!.operations.map(({ type }) => type);
    for (const type of wanted) expect(types).toContain(type);
    expect(types.includes("quantize")).toBe(wanted === OWN);
    // The codes come back from int32 to int8 without an operator.
    const casts = types.filter((type) => type === "cast").length;
    if (wanted === OWN && profile === "exact") expect(casts).toBe(1);

    const path = join(folder, `${title.replaceAll(" ", "-")}-${profile}.mlpackage`);
    await writeValidPackage(path, lowered, { read: () => Promise.resolve(new Uint8Array()), dequantize });

    // Numbers that halves hold, between codes and beyond the last of them.
    const data = Float64Array.from({ length: 6 * asked.channels }, (_, i) => ((i * 37) % 200) / 8 - 11.9375);
    const inputs = { x: hostTensor("f32", [2, asked.channels, 3], data) };
    const want = finish(evaluate(graph, { inputs })).outputs;
    const reader = packageReader(path);
    const simulator = new Simulator(await openPackage(reader));
    const { bindings } = lowered.functions[0]!;
    const input = bindings.find(({ kind }) => kind === "input")!;
    const made = await simulator.function().predict({ [input.feature]: packageTensor(input.dtype, input.shape, data) });
    await reader.close();
    for (const { feature, name } of bindings.filter(({ kind }) => kind === "output"))
      expect([...made[feature]!.data], name).toEqual([...want[name]!.data]);
  });
});
