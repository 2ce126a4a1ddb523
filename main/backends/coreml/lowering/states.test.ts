// The states of a package start from zeros, not from values of their own.
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

it("a variable is refused, with what to do", () => {
  const options = { rewind: "positions", initial: { kind: "constant", value: 1 } } as const;
  expect(() => routeFor(counting(options), TARGET)).toThrow(
    expect.objectContaining({
      code: "UNSUPPORTED_OP",
      message: expect.stringContaining("[coreml] state sum: got a variable, expected a state") as string,
      hint: "Run this graph on the CPU.",
    }),
  );
});
