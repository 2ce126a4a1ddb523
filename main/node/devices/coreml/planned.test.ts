// The join of a compute plan with a route: by output names, whatever a single function is called, with what is missing named.
import { describe, expect, it } from "vitest";
import type { Route } from "../../../backends/coreml/hybrid/route.ts";
import { GraphBuilder } from "../../../ir/builder.ts";
import { tensor } from "../../../ir/type.ts";
import { opTable } from "../../../ops/index.ts";
import { routeFor } from "../../../testing/routes.ts";
import type { CoremlPlan, CoremlPlannedOp } from "./native.ts";
import { joinPlan } from "./planned.ts";

function route(): Route {
  const builder = new GraphBuilder(opTable, "planned");
  const x = builder.input("x", tensor("f32", [4, 64]));
  const [sum] = builder.apply("add", [x, x]);
  const [positive] = builder.apply("relu", sum === undefined ? [] : [sum]);
  const [grown] = builder.apply("exp", positive === undefined ? [] : [positive]);
  if (grown !== undefined) builder.output("y", grown);
  return routeFor(builder.finish(), { units: "all", profile: "gpu", context: 1 });
}

/** A plan that says of every operator what `place` says. */
function planOf(from: Route, place: (i: number) => Partial<CoremlPlannedOp> | undefined, name = "other"): CoremlPlan {
  const [mil] = from.lowered?.functions ?? [];
  const ops = (mil?.mil.operations ?? []).flatMap((operation, i): CoremlPlannedOp[] => {
    const placed = place(i);
    const output = operation.outputs[0]?.name;
    if (placed === undefined || output === undefined) return [];
    const silent = {
      function: name,
      op: operation.type,
      output,
      preferred: "",
      supported: [],
      cost: -1,
      depth: 0,
    } as const;
    return [{ ...silent, ...(operation.type === "const" ? {} : placed) }];
  });
  return { hasUsage: true, refusal: "", ops };
}

describe("joinPlan", () => {
  const own = route();
  const predicted = [...own.plans.values()][0]?.ops ?? [];

  it("joins every operator by its output, and agrees with itself", () => {
    const at = new Map([...(own.plans.values().next().value?.operations ?? [])].map((operation, k) => [operation, k]));
    const same = joinPlan(
      own,
      planOf(own, (i) => ({ preferred: predicted[at.get(i) ?? -1]?.preferred ?? "", cost: 0.25 })),
    );
    expect(same.ops).toHaveLength(predicted.length);
    expect(predicted.length).toBeGreaterThanOrEqual(3);
    expect(same.missing).toEqual([]);
    expect(same.agreeing).toBe(predicted.length);
    expect(same.firstDifference).toBeUndefined();
    // Casts and the naming of an output are plumbing and stand for no node.
    const nodes = same.ops.filter((op) => op.node >= 0).map((op) => own.graph.nodes[op.node]?.op);
    expect(nodes).toEqual(["add", "relu", "exp"]);
  });

  it("names the first difference and shares by cost", () => {
    let seen = 0;
    const plan = planOf(own, (i) => {
      const isConst = own.lowered?.functions[0]?.mil.operations[i]?.type === "const";
      return { preferred: isConst || seen++ > 0 ? "cpu" : "ane", cost: seen === 1 ? 0.7 : 0.1 };
    });
    const joined = joinPlan(own, plan);
    const first = joined.ops.find((op) => op.planned !== op.predicted);
    expect(joined.firstDifference).toEqual(first);
    expect(joined.shares.ane).toBeCloseTo(0.7 / (0.7 + 0.1 * (joined.ops.length - 1)), 6);
  });

  it("counts operators when the plan has no costs, and says what it does not have", () => {
    const none = joinPlan(
      own,
      planOf(own, () => ({ preferred: "cpu" })),
    );
    expect(none.shares).toEqual({ ane: 0, gpu: 0, cpu: 1 });
    const empty = joinPlan(own, { hasUsage: false, refusal: "no plan", ops: [] });
    expect(empty.missing).toHaveLength(predicted.length);
    expect(empty.shares).toEqual({ ane: 0, gpu: 0, cpu: 0 });
  });
});
