/** Which pass changed a result: found where one is wrong, and not where passes only move rounding. */
import { describe, expect, it } from "vitest";
import { GraphBuilder } from "../../ir/builder.ts";
import type { Graph } from "../../ir/graph.ts";
import type { Pass } from "../../ir/pass.ts";
import { parseType } from "../../ir/type.ts";
import { opTable, typedBuilder } from "../../ops/index.ts";
import { commonSubexpressions } from "../../passes/commonSubexpressions.ts";
import { deadCode } from "../../passes/deadCode.ts";
import { referenceDevice } from "../../runtime/devices/reference.ts";
import type { EngineDevice } from "../devices.ts";
import { bisectText } from "./bisectText.ts";
import type { TextRunParts } from "./runText.ts";

const device = {
  ...{ id: "reference", title: "Reference", capabilities: { graphs: true } },
  device: () => referenceDevice(),
} as unknown as EngineDevice;
const none = (): Promise<never> => Promise.reject(new Error("no file is named"));
const arrays = { files: { open: none }, inflate: none };
const parts = { device, arrays, threads: 1 } as unknown as TextRunParts;

/** y = eˣ + eˣ, and a sine that is not read. */
function graph(): Graph {
  const builder = new GraphBuilder(opTable, "twice");
  const g = typedBuilder(builder);
  const x = builder.input("x", parseType("f32[3]"));
  g.sin([x]);
  builder.output("y", g.add([g.exp([x]), g.exp([x])]));
  return builder.finish();
}

/** A pass that takes one op for another. */
const wrong = (from: string, to: string): Pass => ({
  name: `${from} for ${to}`,
  reason: "It is wrong.",
  run: (given) => ({
    graph: { ...given, nodes: given.nodes.map((node) => (node.op === from ? { ...node, op: to } : node)) },
    moved: Int32Array.from(given.nodes.keys()),
    hits: 1,
    misses: [],
  }),
});

const bisect = (passes: readonly Pass[], symbols: Readonly<Record<string, number>> = {}) => {
  const inputs = { x: { numbers: [0, 1, 2] } };
  const asked = { inputs, symbols, seed: 1, precision: "f32", tolerance: 1e-5 } as const;
  return bisectText(parts, graph(), asked, new AbortController().signal, passes);
};

describe("bisect of a result", () => {
  it("refuses a size of a symbol that the graph does not have", async () => {
    await expect(bisect([deadCode], { Q: 4 })).rejects.toMatchObject({
      code: "INPUT_ARGUMENT",
      message: "[bisect] symbol: got Q, expected none: the graph has no symbols",
    });
  });

  it("says that sound passes keep every bit, with what each did", async () => {
    const found = await bisect([deadCode, commonSubexpressions]);
    expect(found.step).toBeNull();
    expect(found.sentence).toBe("No pass changes the result: every bit is the same. 3 steps looked at.");
    expect(found.steps.map(({ name, nodes, hits, change }) => [name, nodes, hits, change])).toEqual([
      ["built", 5, 0, 0],
      [deadCode.name, 4, 1, 0],
      [commonSubexpressions.name, 3, 1, 0],
    ]);
    // Results are rounded to f32.
    expect(Math.max(...found.steps.map(({ error }) => Number(error)))).toBeLessThan(1e-7);
  });

  it("names the pass that is wrong, though one behind puts it right", async () => {
    const found = await bisect([deadCode, wrong("add", "sub"), commonSubexpressions, wrong("sub", "add")]);
    expect(found.step).toBe("add for sub");
    expect(found.sentence).toContain("changes after “add for sub”");
    expect(found.steps.map(({ error }) => Number(error) > 1e-6)).toEqual([false, false, true, true, false]);
  });

  it("has no number where a NaN comes", async () => {
    const found = await bisect([wrong("exp", "acosh")]);
    expect(found.step).toBe("exp for acosh");
    expect(found.steps.at(-1)).toMatchObject({ change: "Infinity", error: "Infinity" });
    expect(found.sentence).toContain("by NaN or ∞");
  });
});
