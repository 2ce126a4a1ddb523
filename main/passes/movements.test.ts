// Each rule about movements: what it is given and what it makes, as graphs, and that both are the same numbers.
import { describe, expect, it } from "vitest";
import type { Bindings } from "../ir/dim.ts";
import type { Graph } from "../ir/graph.ts";
import { graphHash } from "../ir/hash.ts";
import { hostTensor, sizeOf } from "../ir/hostTensor.ts";
import { finish } from "../ir/steps.ts";
import { parseGraph } from "../ir/text/build.ts";
import { printGraph } from "../ir/text/print.ts";
import { bindType, staticShape } from "../ir/type.ts";
import { requireVerified } from "../ir/verify.ts";
import { evaluate } from "../ops/evaluate.ts";
import { opTable } from "../ops/index.ts";
import { RANGE_MOVEMENTS } from "./rangeMovements.ts";
import { simplify } from "./simplify.ts";
import { TURN_MOVEMENTS } from "./turnMovements.ts";

const graphOf = (lines: string): Graph => {
  const inputs = lines.startsWith("%x = input") ? lines : `%x = input : f32[6,T]\n${lines}`;
  return parseGraph(opTable, `graph "g" {\n${inputs}\nreturn "y" = %y\n}`);
};

/** Of a rule: given, result. `%x` is f32[6,T] where nothing else is said. */
type Pair = readonly [given: string, result: string];
/** Nothing is made of it. */
const stays = (given: string): Pair => [given, given];
const line = (op: string, attrs: string, y = "%y", x = "%x"): string => `${y} = ${op}(${x}) {${attrs}}`;
const narrow = (start: number | string, length: number | string, y = "%y", x = "%x", axis = 0): string =>
  line("narrow", `axis: ${axis}, start: ${JSON.stringify(start)}, length: ${JSON.stringify(length)}`, y, x);
const slice = (start: number, length: number, step: number, y = "%y", x = "%x"): string =>
  line("slice", `axis: 0, start: ${start}, length: ${length}, step: ${step}`, y, x);
const [ZEROS, THREES] = ['mode: "constant"', 'mode: "constant", value: 3'];
const [EDGE, MIRROR] = ['mode: "replicate"', 'mode: "reflect"'];
const pad = (before: string, after: string, mode: string, y = "%y", x = "%x"): string =>
  line("pad", `before: [${before}], after: [${after}], ${mode}`, y, x);
/** Three times as wide. */
const LONG = "%x = input : f32[2,3*T]";
const SAME = "%x = input : f32[6,T]\n%y = neg(%x)";
/** What stands behind is left as it is, so that a graph that is nothing but its input is one. */
const behind = (given: string): string => given.replaceAll("%y", "%z") + "\n%y = neg(%z)";

const PAIRS: Readonly<Record<string, readonly Pair[]>> = {
  "the whole axis": [
    [behind(narrow(0, 6)), SAME],
    [behind(narrow(0, "T", "%y", "%x", 1)), SAME],
    [behind(slice(0, 6, 1)), SAME],
    [behind("%y = split(%x) {axis: 0, sizes: [6]}"), SAME],
    stays(narrow(1, 5)),
    stays(slice(5, 6, -1)),
    stays(narrow(0, "S", "%y", "%x", 1)),
  ],
  "a range of a range": [
    [`${narrow(1, 4, "%a")}\n${narrow(2, 2, "%y", "%a")}`, narrow(3, 2)],
    [`${slice(5, 3, -2, "%a")}\n${slice(2, 3, -1, "%y", "%a")}`, slice(1, 3, 2)],
    [
      `${LONG}\n${narrow("T", "2*T", "%a", "%x", 1)}\n${narrow(0, "T", "%y", "%a", 1)}`,
      `${LONG}\n${narrow("T", "T", "%y", "%x", 1)}`,
    ],
    // Whether R is in S is not known, and along another axis it is another range.
    stays(`${narrow(0, "S", "%a", "%x", 1)}\n${narrow(0, "R", "%y", "%a", 1)}`),
    stays(`${narrow(1, 4, "%a")}\n${narrow(0, 1, "%y", "%a", 1)}`),
  ],
  "a range inside its borders": [
    [behind(`${pad("2,0", "3,0", ZEROS, "%a")}\n${narrow(2, 6, "%y", "%a")}`), SAME],
    [behind(`${pad("0,1", "0,2", ZEROS, "%a")}\n${narrow(1, "T", "%y", "%a", 1)}`), SAME],
    [
      `${pad("2,1", "3,0", EDGE, "%a")}\n${narrow(3, 2, "%y", "%a")}`,
      `${narrow(1, 2, "%a")}\n${pad("0,1", "0,0", EDGE, "%y", "%a")}`,
    ],
    [`${pad("1,0", "1,0", ZEROS, "%a")}\n${slice(5, 3, -2, "%y", "%a")}`, slice(4, 3, -2)],
    stays(`${pad("2,0", "3,0", ZEROS, "%a")}\n${narrow(1, 6, "%y", "%a")}`),
    stays(`${pad("2,0", "3,0", ZEROS, "%a")}\n${narrow(7, 2, "%y", "%a")}`),
  ],
  "a range of one part of a join": [
    [
      `%a = sin(%x)\n%b = concat(%x, %a) {axis: 0}\n${narrow(7, 2, "%y", "%b")}`,
      `%a = sin(%x)\n${narrow(1, 2, "%y", "%a")}`,
    ],
    [`%a = sin(%x)\n%b = concat(%x, %a) {axis: 1}\n${narrow("T", "T", "%y", "%b", 1)}`, "%y = sin(%x)"],
    stays(`%a = sin(%x)\n%b = concat(%x, %a) {axis: 0}\n${narrow(5, 2, "%y", "%b")}`),
    stays(`%a = sin(%x)\n%b = concat(%x, %a) {axis: 1}\n${narrow(2, 2, "%y", "%b")}`),
  ],
  "borders of no width": [[behind(pad("0,0", "0,0", MIRROR)), SAME], stays(pad("0,1", "0,0", ZEROS))],
  "borders around borders": [
    [`${pad("1,0", "0,2", THREES, "%a")}\n${pad("1,1", "1,1", THREES, "%y", "%a")}`, pad("2,1", "1,3", THREES)],
    [`${pad("1,0", "0,2", EDGE, "%a")}\n${pad("1,0", "0,1", EDGE, "%y", "%a")}`, pad("2,0", "0,3", EDGE)],
    stays(`${pad("1,0", "0,2", ZEROS, "%a")}\n${pad("1,1", "1,1", THREES, "%y", "%a")}`),
    stays(`${pad("1,0", "1,0", MIRROR, "%a")}\n${pad("1,0", "1,0", MIRROR, "%y", "%a")}`),
  ],
  "a join with nothing": [
    [behind("%y = concat(%x) {axis: 0}"), SAME],
    [
      `%a = sin(%x)\n%n = constant [] : f32[0]\n%m = reshape(%n) {shape: [0, "T"]}\n%y = concat(%x, %m, %a) {axis: 0}`,
      "%a = sin(%x)\n%y = concat(%x, %a) {axis: 0}",
    ],
    stays("%a = sin(%x)\n%y = concat(%x, %a) {axis: 0}"),
  ],
  "a join of a join": [
    [
      "%a = sin(%x)\n%b = concat(%x, %a) {axis: 0}\n%y = concat(%a, %b, %x) {axis: -2}",
      "%a = sin(%x)\n%y = concat(%a, %x, %a, %x) {axis: 0}",
    ],
    stays("%a = sin(%x)\n%b = concat(%x, %a) {axis: 1}\n%c = concat(%a, %x) {axis: 1}\n%y = concat(%b, %c) {axis: 0}"),
    stays("%a = sin(%x)\n%b = concat(%x, %a) {axis: 0}\n%y = concat(%b, %b) {axis: 0}"),
  ],
  "a join of neighbours": [
    [behind(`${narrow(0, 2, "%a")}\n${narrow(2, 4, "%b")}\n%y = concat(%a, %b) {axis: 0}`), SAME],
    [behind("%s = split(%x) {axis: 0, sizes: [1, 2, 3]}\n%y = concat(%s, %s.1, %s.2) {axis: 0}"), SAME],
    [
      `%a = sin(%x)\n${narrow(1, 2, "%b")}\n${narrow(3, 2, "%c")}\n%y = concat(%a, %b, %c) {axis: 0}`,
      `%a = sin(%x)\n${narrow(1, 4, "%b")}\n%y = concat(%a, %b) {axis: 0}`,
    ],
    [
      `${LONG}\n${narrow(0, "T", "%a", "%x", 1)}\n${narrow("T", "T", "%b", "%x", 1)}\n%y = concat(%a, %b) {axis: 1}`,
      `${LONG}\n${narrow(0, "2*T", "%y", "%x", 1)}`,
    ],
    stays(`${narrow(2, 4, "%a")}\n${narrow(0, 2, "%b")}\n%y = concat(%a, %b) {axis: 0}`),
    stays(`${narrow(0, 2, "%a")}\n${narrow(2, 2, "%b")}\n%y = concat(%a, %b) {axis: 1}`),
  ],
  "one copy": [[behind("%y = tile(%x) {reps: [1, 1]}"), SAME], stays("%y = tile(%x) {reps: [1, 2]}")],
  "copies of copies": [["%a = tile(%x) {reps: [2, 1]}\n%y = tile(%a) {reps: [3, 2]}", "%y = tile(%x) {reps: [6, 2]}"]],
  "a roll all the way round": [
    [behind("%y = roll(%x) {axis: 0, shift: -12}"), SAME],
    [behind("%y = roll(%x) {axis: 1, shift: 0}"), SAME],
    stays("%y = roll(%x) {axis: 1, shift: 6}"),
  ],
  "a roll of a roll": [
    ["%a = roll(%x) {axis: 1, shift: 2}\n%y = roll(%a) {axis: -1, shift: -3}", "%y = roll(%x) {axis: 1, shift: -1}"],
    stays("%a = roll(%x) {axis: 1, shift: 2}\n%y = roll(%a) {axis: 0, shift: 3}"),
  ],
  "a turn of one position": [
    ["%x = input : f32[1,T]\n%z = reverse(%x) {axes: [0]}\n%y = neg(%z)", "%x = input : f32[1,T]\n%y = neg(%x)"],
    ["%x = input : f32[1,T]\n%y = reverse(%x) {axes: [0, 1]}", "%x = input : f32[1,T]\n%y = reverse(%x) {axes: [1]}"],
    stays("%y = reverse(%x) {axes: [1]}"),
  ],
  "a turn of a turn": [
    ["%a = reverse(%x) {axes: [1]}\n%y = reverse(%a) {axes: [0, -1]}", "%y = reverse(%x) {axes: [0]}"],
    [behind("%a = reverse(%x) {axes: [0, 1]}\n%y = reverse(%a) {axes: [1, 0]}"), SAME],
  ],
  "picks one after the other": [
    [behind('%i = iota() {shape: ["T"], axis: 0}\n%y = gather(%x, %i) {axis: 1}'), SAME],
    ["%i = constant [2, 3, 4] : i32[3]\n%y = gather(%x, %i) {axis: 0}", narrow(2, 3)],
    stays("%i = constant [2, 4] : i32[2]\n%y = gather(%x, %i) {axis: 0}"),
    stays('%i = iota() {shape: ["S"], axis: 0}\n%y = gather(%x, %i) {axis: 1}'),
    stays("%i = constant 2 : i32[]\n%y = gather(%x, %i) {axis: 0}"),
  ],
  "stretched behind axes of one position": [
    [
      '%x = input : f32[1,1,T]\n%a = reshape(%x) {shape: ["T"]}\n%y = expand(%a) {shape: [2, 3, "T"]}',
      '%x = input : f32[1,1,T]\n%y = expand(%x) {shape: [2, 3, "T"]}',
    ],
    [
      '%x = input : f32[1,T]\n%a = reshape(%x) {shape: [1, 1, "T"]}\n%y = expand(%a) {shape: [2, 3, "T"]}',
      '%x = input : f32[1,T]\n%y = expand(%x) {shape: [2, 3, "T"]}',
    ],
    stays('%x = input : f32[T,1]\n%a = reshape(%x) {shape: ["T"]}\n%y = expand(%a) {shape: [2, "T"]}'),
    stays('%x = input : f32[1,1,T]\n%a = reshape(%x) {shape: ["T"]}\n%y = expand(%a) {shape: [2, "T"]}'),
  ],
};

const SIZES: Bindings = { T: 5, S: 3, R: 2 };

function valuesOf(graph: Graph): readonly number[] {
  const inputs = graph.inputs.map((id) => {
    const node = graph.nodes[id]!;
    const shape = staticShape(bindType(node.outputs[0]!, SIZES), "test");
    return [
      String(node.attrs["name"]),
      hostTensor(
        "f32",
        shape,
        new Float64Array(sizeOf(shape)).map((_, i) => i + 0.5),
      ),
    ];
  });
  const { outputs } = finish(evaluate(graph, { inputs: Object.fromEntries(inputs), bindings: SIZES }));
  return [...outputs["y"]!.data];
}

describe("movements", () => {
  const names = [...RANGE_MOVEMENTS, ...TURN_MOVEMENTS].map(({ name }) => name);
  it("have a graph each", () => {
    expect(Object.keys(PAIRS)).toEqual(names);
  });

  const cases = Object.entries(PAIRS).flatMap(([name, pairs]) => pairs.map((pair, i) => [name, i, ...pair] as const));
  it.each(cases)("%s, %i", (_, _i, given, result) => {
    const [graph, wanted] = [graphOf(given), graphOf(result)];
    const { graph: made } = simplify.run(graph);
    requireVerified(opTable, made, "after simplify");
    expect(plain(made)).toBe(plain(wanted));
    expect(graphHash(made)).toBe(graphHash(wanted));
    expect(valuesOf(made)).toEqual(valuesOf(graph));
  });
});

/** Without where nodes come from. */
const plain = (graph: Graph): string => printGraph(graph).replaceAll(/ @ .*$/gmu, "");
