import { describe, expect, it } from "vitest";
import { opTable } from "../../ops/index.ts";
import { caches, nest } from "../../testing/controlGraphs.ts";
import { attackText, hostileTexts } from "../../testing/hostileText.ts";
import { randomCase } from "../../testing/randomGraphs.ts";
import { tinyModel } from "../../testing/tinyModels.ts";
import { GraphBuilder } from "../builder.ts";
import type { Graph } from "../graph.ts";
import { graphHash } from "../hash.ts";
import { hostTensor } from "../hostTensor.ts";
import { parseType } from "../type.ts";
import { parseGraph, readGraph } from "./build.ts";
import { formatText } from "./format.ts";
import { printGraph, printWhole } from "./print.ts";

function expectSame(graph: Graph): void {
  const text = printWhole(graph);
  const { graph: back, diagnostics } = readGraph(opTable, text);
  expect(diagnostics).toEqual([]);
  expect(back && graphHash(back)).toBe(graphHash(graph));
  expect(back?.name).toBe(graph.name);
  expect(back?.nodes).toEqual(graph.nodes);
  expect(back?.states).toEqual(graph.states);
  expect(printWhole(back!)).toBe(text);
  expect(formatText(text)).toEqual({ text });
}

describe("a graph printed and read back is the same", () => {
  it.each(["llama", "qwen3", "qwen2"] as const)("%s", (family) => expectSame(tinyModel(family)));

  it("with sub-graphs, states and caches", () => {
    expectSame(nest(2, 3));
    expectSame(caches());
  });

  it.each(Array.from({ length: 40 }, (_, seed) => seed))("random %i", (seed) => expectSame(randomCase(seed).graph));

  it("with every kind of leaf and number", () => {
    const b = new GraphBuilder(opTable, 'all "kinds"');
    b.limitSymbol("T", 512);
    const x = b.input("x", parseType("f32[2*T+past,3]"));
    b.param("w", parseType("q4_k[4,256]"), { file: "id", tensor: "blk.0.w" });
    b.param("m", parseType("f32[3]"), { memory: true, initial: { kind: "normal", scale: 0.5, seed: 7 } });
    b.state("s", parseType("f16[4]"), { rewind: "positions" });
    b.state("r", parseType("f16[2,9,4]"), { rewind: "ring", spare: 5 });
    b.variable("v", parseType("f32[2]"), { kind: "constant", value: -0 });
    b.constant(hostTensor("f64", [2, 3], [NaN, Infinity, -Infinity, -0, 1e-320, 0.1]));
    b.constant(hostTensor("c64", [1], [1, -2]));
    b.constant(hostTensor("i32", [0, 3], []));
    b.constant(hostTensor("i64", [4], [2 ** 62, -(2 ** 63), 2 ** 63 - 1024, 2 ** 53]));
    b.constant(hostTensor("f32", [300], new Float64Array(300).fill(0.25)));
    b.constant(hostTensor("f32", [], [2]));
    b.output("y", x);
    expectSame(b.finish());
  });

  it("with a large constant by its hash, where the data is at hand", () => {
    const b = new GraphBuilder(opTable, "g");
    b.output(
      "y",
      b.constant(
        hostTensor(
          "i32",
          [100],
          Array.from({ length: 100 }, (_, i) => i),
        ),
      ),
    );
    const graph = b.finish();
    const text = printGraph(graph);
    expect(text).toMatch(/constant #[0-9a-f]{32} : i32\[100\]/);
    expect(graphHash(parseGraph(opTable, text, { constants: graph.constants }))).toBe(graphHash(graph));
    expect(() => parseGraph(opTable, text, { name: "g.rlx" })).toThrow("[g.rlx:2:17] [constant] got #");
  });
});

const faultsOf = (text: string) =>
  readGraph(opTable, text).diagnostics.map(({ line, column, code, message, fix }) => ({
    at: `${line}:${column}`,
    code,
    message,
    ...(fix && { fix: fix.text }),
  }));

describe("what is wrong in a text", () => {
  it("is told all at once, with what to write instead", () => {
    const text = `graph "g" {
  %x = input : f32[2,3]
  %y = input : f32[4]
  %a = ad(%x, %x) : f32[2,3]
  %b = add(%x, %y)
  %c = add(%a, %z) : f32[2,3]
  %d = softmax(%x) {axes: 1}
  %e = exp(%x) : f32[3,2]
  %e = exp(%x)
  %f = constant [[1, 2], [3]] : f32[2,2]
  %g = constant [1, 2] : f32[3]
  %h = exp(%x.1)
  retrun "y" = %e
  return "y" = %c
}
`;
    expect(faultsOf(text)).toMatchInlineSnapshot(`
      [
        {
          "at": "4:8",
          "code": "IR_STRUCTURE",
          "fix": "add",
          "message": "[ad] no such op",
        },
        {
          "at": "5:8",
          "code": "IR_SHAPE",
          "message": "[add] shapes do not broadcast: got [2,3] and [4]",
        },
        {
          "at": "6:16",
          "code": "IR_STRUCTURE",
          "fix": "%x",
          "message": "no value %z is defined above",
        },
        {
          "at": "7:21",
          "code": "IR_ATTRIBUTE",
          "fix": "axis",
          "message": "[softmax] unknown attribute "axes": expected axis",
        },
        {
          "at": "8:18",
          "code": "IR_TYPE",
          "fix": "f32[2,3]",
          "message": "[exp] type: got f32[3,2], expected f32[2,3]",
        },
        {
          "at": "9:3",
          "code": "IR_STRUCTURE",
          "message": "%e is defined already: got a second definition, expected another name",
        },
        {
          "at": "10:26",
          "code": "IR_SHAPE",
          "message": "got a list of 1, expected 2 as its neighbours",
        },
        {
          "at": "11:17",
          "code": "IR_SHAPE",
          "message": "[constant] numbers: got a list of [2], expected [3] for f32[3]",
        },
        {
          "at": "12:12",
          "code": "IR_STRUCTURE",
          "message": "results of %x: got %x.1, expected %x",
        },
        {
          "at": "13:3",
          "code": "IR_STRUCTURE",
          "fix": "return",
          "message": "got "retrun", expected a statement: %value = op(…), limit, inputs, next, return",
        },
      ]
    `);
  });

  it("is told where a text has no end", () => {
    expect(faultsOf("")).toMatchInlineSnapshot(`
      [
        {
          "at": "1:1",
          "code": "IR_STRUCTURE",
          "message": "got the end of the text, expected graph "name" { … }",
        },
      ]
    `);
    expect(faultsOf('graph "g" {\n  %x = input : f32[2')).toMatchInlineSnapshot(`
      [
        {
          "at": "2:16",
          "code": "IR_TYPE",
          "message": "got "f32[2", expected a type such as f32[T,64]",
        },
        {
          "at": "2:21",
          "code": "IR_STRUCTURE",
          "message": "got the end of the text, expected } at the end of the graph",
        },
      ]
    `);
    expect(faultsOf('graph "g" { return "y" = %x } }')).toMatchInlineSnapshot(`
      [
        {
          "at": "1:26",
          "code": "IR_STRUCTURE",
          "message": "no value %x is defined above",
        },
        {
          "at": "1:31",
          "code": "IR_STRUCTURE",
          "message": "got "}", expected nothing behind the graph",
        },
      ]
    `);
  });

  it("may begin with the mark of byte order that some editors write, and only there", () => {
    const text = 'graph "g" {\n %x = input : f32[2]\n return "y" = %x\n}\n';
    expect(faultsOf(`\ufeff${text}`)).toEqual([]);
    expect(faultsOf(text.replace("%x =", "\ufeff%x ="))).not.toEqual([]);
  });

  it("names states, outputs and sizes as the text has them, each once", () => {
    const text = `graph "g" {
  %x = input : f32[2]
  %x = input : f32[2]
  %y = input : f32[100000000000000000000]
  return "y" = %x
  return "y" = %x
  next "k" = %x
}
`;
    expect(faultsOf(text).map(({ at, message }) => `${at} ${message}`)).toEqual([
      "3:3 %x is defined already: got a second definition, expected another name",
      "4:16 [dim] bad size: got 100000000000000000000, expected a whole number from 0 to 9007199254740991",
      '6:10 output "y" is returned twice: first on line 5',
      '7:3 [state] no state "k": the graph has none',
    ]);
    const state = 'graph "g" {\n %s = state : f32[2]\n %t = state : f32[2]\n next "k" = %s\n return "out:s" = %s\n}\n';
    expect(faultsOf(state).map(({ message }) => message)).toEqual(['[state] no state "k": expected s, t']);
  });

  it("leaves what is right alone: a fault is one fault", () => {
    const text = 'graph "g" {\n  %x = inptu : f32[2]\n  %y = exp(%x)\n  %z = add(%y, %y)\n  return "z" = %z\n}';
    expect(faultsOf(text).map(({ message }) => message)).toEqual([
      'got "inptu", expected an operation with its operands in ( ), or input, param, constant, state',
    ]);
  });
});

describe("a whole number that float64 does not have", () => {
  const constant = (data: string, type: string): string =>
    `graph "g" {\n  %x = constant ${data} : ${type}\n  return "y" = %x\n}\n`;

  it.each([
    ["9007199254740993", "[9007199254740993]", "2:18", "9007199254740992"],
    ["9223372036854775807", "[1, 9223372036854775807]", "2:21", "9223372036854774784"],
    ["-9007199254740993.0", "all -9007199254740993.0", "2:21", "-9007199254740992"],
    ["9007199254740992.5", "[9007199254740992.5]", "2:18", "9007199254740992"],
    ["9.007199254740993e15", "[9.007199254740993e15]", "2:18", "9007199254740992"],
    [`${"1".padEnd(40, "0")}`, `[${"1".padEnd(500, "0")}e-483, 1]`, "2:18", "10000000000000000"],
  ])("is a fault where %s is an i64, and is not written as another one", (word, data, at, fix) => {
    const message = `[constant] numbers: i64 numbers are held exactly up to 2^53: got ${word}`;
    const text = constant(data, `i64[${data.split(",").length}]`);
    expect(faultsOf(text)).toEqual([{ at, code: "IR_TYPE", message, fix }]);
    expect(formatText(text)).toMatchObject({ diagnostics: [{ message }] });
  });

  it("is a fault in an attribute", () => {
    const text = 'graph "g" {\n  %x = param {memory: true, value: 9007199254740993} : i64[1]\n  return "y" = %x\n}\n';
    const message = "whole numbers are held exactly up to 2^53: got 9007199254740993";
    expect(faultsOf(text)).toEqual([{ at: "2:36", code: "IR_ATTRIBUTE", message, fix: "9007199254740992" }]);
    expect(formatText(text)).toMatchObject({ diagnostics: [{ message }] });
  });

  it("is none in floats, nor where float64 has it", () => {
    for (const [data, type] of [
      ["[9007199254740993, 4611686018427388000]", "f32[2]"],
      ["[9007199254740992, 4611686018427387904, -9223372036854775808, 1e18, 90071992547409920e-1]", "i64[5]"],
    ] as const)
      expect(faultsOf(constant(data, type))).toEqual([]);
    const beyond = "[constant] numbers: got 9223372036854775808, expected what i64 holds";
    expect(faultsOf(constant("[9223372036854775808]", "i64[1]"))).toMatchObject([{ message: beyond }]);
  });
});

describe("a text that is made to harm", () => {
  const inGraph = (...lines: string[]): string => `graph "g" {\n${lines.join("\n")}\n}`;

  it("has no symbol or input whose name every object has", () => {
    const text = inGraph(
      "limit constructor = 4",
      "%a = input : f32[__proto__]",
      "%b = input : f32[2*toString]",
      '%c = input "__proto__" : f32[1]',
    );
    expect(faultsOf(text)).toMatchObject([
      { at: "2:7", message: expect.stringContaining('a symbol cannot have the name "constructor"') },
      { at: "3:14", message: expect.stringContaining('a symbol cannot have the name "__proto__"') },
      { at: "4:14", message: expect.stringContaining('a symbol cannot have the name "toString"') },
      { at: "5:1", message: '[graph] got "__proto__", expected another name' },
    ]);
  });

  it("has no number that its type of whole numbers would cut or wrap", () => {
    const text = inGraph(
      "%a = constant [255, 256] : u8[2]",
      "%b = constant all 1.5 : i64[2]",
      '%c = param {memory: true, initial: "constant", value: inf} : i64[1]',
      "%d = constant [-2147483648, 2147483647] : i32[2]",
      "%e = constant [0.5, nan] : f32[2]",
    );
    expect(faultsOf(text).map(({ at, message }) => `${at} ${message}`)).toEqual([
      "2:15 [constant] numbers: got 256, expected what u8 holds",
      "3:15 [constant] numbers: got 1.5, expected what i64 holds",
      "4:1 [param] value: got inf, expected what i64 holds",
    ]);
  });

  it("makes no more numbers of few letters than a limit, of all constants together", () => {
    const text = inGraph("%a = constant all 1 : f32[1024]", "%b = constant all 2 : f32[67108864]");
    expect(faultsOf(text)).toMatchObject([
      {
        at: "3:15",
        code: "INPUT_LIMIT",
        message: "[constant] numbers of all constants together: got 67109888, expected at most 67108864",
      },
    ]);
    const branch = (size: number): string =>
      `graph "b" { %z = constant all 1 : f32[${size}]\n%r = reduce(%z) {kind: "sum", axes: [0]}\nreturn "r" = %r }`;
    const within = inGraph("%c = constant 1 : bool[]", `%y = if(%c)\n${branch(1024)}\n${branch(67108864)}`);
    expect(faultsOf(within)).toMatchObject([
      { code: "INPUT_LIMIT", message: expect.stringContaining("together: got 67109888, expected at most 67108864") },
    ]);
  });
});

it("limits and signatures are wrong where they stand", () => {
  const text = `graph "g" {
  limit T = -4
  limit T = 8
  limit S = nan
  %x = input : f32[T]
  %y = exp(%x)
  inputs %y, %x, %x
}`;
  expect(faultsOf(text).map(({ at, message }) => `${at} ${message}`)).toEqual([
    "2:3 limit of T: got -4, expected a whole number from 0",
    "3:9 T has a limit already: got a second one, expected one",
    "4:3 limit of S: got nan, expected a whole number from 0",
    "7:10 inputs: got %y, expected the value of an input",
    "7:18 inputs: got %x twice, expected each input once",
  ]);
});

describe("a formatted text", () => {
  it("keeps names, comments and groups, in one layout", () => {
    const text = `// A sum.
graph "g"   {
  limit T=8
%left = input:f32[ T , 3 ] // the first
      %right=input "r" : f32[T,3]


  // both
  %sum=add( %left,%right ) // behind
  return "y"=%sum
  // the end
}
// after
`;
    const formatted = formatText(text);
    expect(formatted).toMatchInlineSnapshot(`
      {
        "text": "// A sum.
      graph "g" {
        limit T = 8
        %left = input : f32[T,3]  // the first
        %right = input "r" : f32[T,3]

        // both
        %sum = add(%left, %right)  // behind
        return "y" = %sum
        // the end
      }
      // after
      ",
      }
    `);
    expect(formatText("text" in formatted ? formatted.text : "")).toEqual(formatted);
  });

  it("says what keeps it from being read", () => {
    expect(formatText("graph {\n%x == 3\n}")).toMatchObject({ diagnostics: [{ line: 2, column: 5 }] });
  });
});

// Thousands more: hostile.slow.test.ts.
it("300 damaged texts are told about, or are graphs", () => {
  const texts = hostileTexts();
  for (let seed = 0; seed < 300; seed++) expect(attackText(opTable, texts, 1_000_000 + seed).fault).toBeUndefined();
});
