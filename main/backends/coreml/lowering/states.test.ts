// A package keeps caches. Other states would be wrong after a reused prefix, or would start from zeros instead of their values.
import { expect, it } from "vitest";
import { GraphBuilder } from "../../../ir/builder.ts";
import type { Graph } from "../../../ir/graph.ts";
import type { StateOptions } from "../../../ir/builder.ts";
import { tensor } from "../../../ir/type.ts";
import { opTable, typedBuilder } from "../../../ops/index.ts";
import { routeFor } from "../../../testing/routes.ts";

const TARGET = { units: "all", profile: "gpu", context: 16 } as const;

function counting(options: StateOptions): Graph {
  const builder = new GraphBuilder(opTable, "counting");
  const x = builder.input("x", tensor("f32", [1, 4]));
  const sum = typedBuilder(builder).add([builder.state("sum", tensor("f32", [1, 4]), options), x]);
  builder.setState("sum", sum);
  builder.output("y", sum);
  return builder.finish();
}

it.each([
  ["a recurrent state", { rewind: "checkpoint" }, 'got rewind "checkpoint", expected a cache'],
  ["a state that cannot go back", { rewind: "none" }, 'got rewind "none", expected a cache'],
  ["a variable", { rewind: "positions", initial: { kind: "constant", value: 1 } }, "got a variable, expected a state"],
] as const)("%s is refused, with what to do", (_what, options, message) => {
  expect(() => routeFor(counting(options), TARGET)).toThrow(
    expect.objectContaining({
      code: "UNSUPPORTED_OP",
      message: expect.stringContaining(`[coreml] state sum: ${message}`) as string,
      hint: "Run this graph on the CPU.",
    }),
  );
});
