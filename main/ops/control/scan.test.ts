// What the samples of `scan` do not show: how much a gradient keeps, graphs that do not grow with the turns, refusals, and
// what passes leave of a scan.
import { describe, expect, it } from "vitest";
import { gradientGraph } from "../../autodiff/vjp.ts";
import { GraphBuilder } from "../../ir/builder.ts";
import type { Dim } from "../../ir/dim.ts";
import type { Graph } from "../../ir/graph.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { finish } from "../../ir/steps.ts";
import { tensor } from "../../ir/type.ts";
import { verify } from "../../ir/verify.ts";
import { GENERAL_PASSES, runPipeline } from "../../passes/pipeline.ts";
import { evaluate } from "../evaluate.ts";
import { scanOver } from "../families/turns.ts";
import { opTable, typedBuilder } from "../index.ts";

const WIDTH = 3;
const row = tensor("f64", [WIDTH]);

/** state ← tanh(state · w + x) over the rows x; gives the last state, and all of them. */
function recurrence(length: Dim, checkpoints?: number): Graph {
  const b = new GraphBuilder(opTable, "recurrence");
  const g = typedBuilder(b);
  const [start, w, x] = [b.input("start", row), b.input("w", row), b.input("x", tensor("f64", [length, WIDTH]))];
  const more = checkpoints === undefined ? {} : { checkpoints };
  const made = scanOver(g, { carry: [start], fixed: [w], rows: [x], ...more }, (h, turn) => {
    const next = h.tanh([h.add([h.mul([turn.carry[0]!, turn.fixed[0]!]), turn.rows[0]!])]);
    return { carry: [next], rows: [next] };
  });
  b.output("last", made.carry[0]!);
  b.output("all", made.rows[0]!);
  return b.finish();
}

const wrt = ["start", "w", "x"];
const numbers = (shape: readonly number[], salt: number) =>
  hostTensor(
    "f64",
    shape,
    Array.from({ length: shape.reduce((a, n) => a * n, 1) }, (_, i) => Math.sin(salt + 2.3 * i)),
  );

/** Rows of carried values that stand between the way there and the way back: what the scans of the graph itself read. */
function keptRows(graph: Graph): number {
  const kept = new Set<string>();
  for (const node of graph.nodes)
    if (node.op === "scan" && node.attrs["reverse"] === true)
      for (const { node: from, output } of node.inputs) {
        const maker = graph.nodes[from]!;
        if (maker.op === "scan" && maker.attrs["reverse"] === false && output > 0) kept.add(`${from} ${output}`);
      }
  return [...kept].reduce((sum, key) => {
    const [node, output] = key.split(" ").map(Number);
    return sum + Number(graph.nodes[node!]!.outputs[output!]!.shape[0]);
  }, 0);
}

const optimised = (graph: Graph): Graph => finish(runPipeline(graph, { passes: GENERAL_PASSES, verify: true })).graph;

describe("the gradient of a scan", () => {
  it("keeps what is carried at its checkpoints only, and is the same", () => {
    const length = 23;
    const inputs = {
      ...{ start: numbers([WIDTH], 1), w: numbers([WIDTH], 2), x: numbers([length, WIDTH], 3) },
      "cotangent.last": numbers([WIDTH], 4),
    };
    const outcomes = [undefined, 1, 5, 7, 23, 99].map((checkpoints) => {
      const graph = optimised(gradientGraph(recurrence(length, checkpoints), { of: ["last"], wrt }));
      expect(verify(opTable, graph)).toEqual([]);
      return { kept: keptRows(graph), outputs: finish(evaluate(graph, { inputs })).outputs };
    });
    expect(outcomes.map(({ kept }) => kept)).toEqual([23, 1, 5, 6, 23, 23]);
    for (const { outputs } of outcomes)
      for (const name of wrt)
        outputs[`gradient.${name}`]!.data.forEach((value, i) =>
          expect(value).toBeCloseTo(outcomes[0]!.outputs[`gradient.${name}`]!.data[i]!, 12),
        );
  });

  it("is as large for any number of turns, and needs none to be known", () => {
    const sizes = [10, 100_000, "T"].map((length) => gradientGraph(recurrence(length), { of: ["last", "all"], wrt }));
    expect(new Set(sizes.map(({ nodes }) => nodes.length)).size).toBe(1);
    const of = { of: ["all"], wrt };
    const again = gradientGraph(gradientGraph(recurrence(10_000), of), {
      of: ["gradient.w"],
      wrt: ["x"],
      prefix: "second",
    });
    expect(again.nodes.length).toBeLessThan(100);
  });
});

describe("a scan after the passes", () => {
  const opsIn = (graph: Graph): readonly string[] => graph.nodes.map(({ op }) => op);

  function squares(read: readonly number[]): Graph {
    const b = new GraphBuilder(opTable, "squares");
    const g = typedBuilder(b);
    const [start, x, y] = [
      b.input("start", row),
      b.input("x", tensor("f64", [4, WIDTH])),
      b.input("y", tensor("f64", [4, WIDTH])),
    ];
    const two = g.constant(hostTensor("f64", [], [2]));
    const made = scanOver(g, { carry: [start], fixed: [two], rows: [x, y] }, (h, turn) => {
      const [c, f, a, d] = [turn.carry[0]!, turn.fixed[0]!, turn.rows[0]!, turn.rows[1]!];
      return { carry: [h.add([h.mul([c, f]), a])], rows: [h.mul([c, c]), h.sin([d])] };
    });
    read.forEach((i) => b.output(`y${i}`, i === 0 ? made.carry[0]! : made.rows[i - 1]!));
    return b.finish();
  }
  const inputs = { start: numbers([WIDTH], 1), x: numbers([4, WIDTH], 2), y: numbers([4, WIDTH], 3) };

  it.each([[[0]], [[0, 1]], [[2]], [[0, 1, 2]]])("gives what is read, %j, and reads what that needs", (read) => {
    const [graph, after] = [squares(read), optimised(squares(read))];
    const made = after.nodes.find(({ op }) => op === "scan")!;
    expect(made.outputs).toHaveLength(1 + read.filter((i) => i > 0).length);
    // The constant is inside, and so is what makes of the second rows what nothing reads.
    expect(made.inputs).toHaveLength(read.includes(2) ? 3 : 2);
    expect(made.attrs["scanned"]).toBe(made.inputs.length - 1);
    const [want, got] = [graph, after].map((each) => finish(evaluate(each, { inputs })).outputs);
    expect(got).toEqual(want);
  });

  it("is gone where it has no turn and gives what it carries", () => {
    const b = new GraphBuilder(opTable, "none");
    const g = typedBuilder(b);
    const x = b.input("x", row);
    const { carry } = scanOver(g, { carry: [x], length: 0 }, (h, turn) => ({
      carry: [h.exp([turn.carry[0]!])],
      rows: [],
    }));
    b.output("y", carry[0]!);
    expect(opsIn(optimised(b.finish()))).not.toContain("scan");
  });
});

it("refuses what does not fit, and says what would", () => {
  const b = new GraphBuilder(opTable, "wrong");
  const g = typedBuilder(b);
  const [x, short] = [b.input("x", tensor("f64", [4, WIDTH])), b.input("short", row)];
  const body = g.region("body", [row, row], (h, c, r) => [h.add([c, r])]);
  const attrs = { carried: 1, scanned: 1, length: 4, reverse: false };
  const refused = (make: () => unknown, message: RegExp): void => {
    expect(make).toThrow(
      expect.objectContaining({ code: expect.stringMatching(/^IR_/), message: expect.stringMatching(message) }),
    );
  };
  refused(
    () => g.scan([short, x], { ...attrs, length: 5 }, "", [body]),
    /scanned operand: got f64\[4,3\], expected 5 rows/,
  );
  refused(() => g.scan([short, x], { ...attrs, scanned: 2 }, "", [body]), /1 \+ 2, expected at most 2 operands/);
  refused(
    () => g.scan([x, x], attrs, "", [body]),
    /inputs of body: got f64\[3\], f64\[3\], expected f64\[4,3\], f64\[3\]/,
  );
  const wide = g.region("body", [row, row], (h, c, r) => [h.concat([c, r], { axis: 0 })]);
  refused(() => g.scan([short, x], attrs, "", [wide]), /the carried ones: got f64\[6\], expected f64\[3\]/);
});
