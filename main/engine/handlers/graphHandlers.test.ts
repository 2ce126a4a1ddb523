// The steps that the window shows are those of the session: compiled by the rules that it was told to use.
import { expect, it } from "vitest";
import type { DispatchPolicy } from "../../compiler/support.ts";
import type { Backend } from "../../contract/views/graph.ts";
import type { CostAccess } from "../models/costs.ts";
import { OpenModel } from "../models/openModel.ts";
import { graphHandlers } from "./graphHandlers.ts";

const TARGET = { chip: "m4", os: "macos15", units: "all", profile: "auto", context: 64 } as const;

const NO_COSTS: CostAccess = {
  dispatch: "prefer-native",
  machineOf: () => Promise.reject(new Error("no costs here")),
  of: () => Promise.reject(new Error("no costs here")),
};

async function takenApart(backend: Backend, dispatch: DispatchPolicy): Promise<number | undefined> {
  const init = { kind: "demo-graph", data: { kind: "none" }, argument: null, openedInSeconds: 0 } as const;
  const model = new OpenModel("m", { ...init, file: undefined, offer: undefined });
  const calls = graphHandlers({ get: () => model }, TARGET, dispatch, NO_COSTS);
  const asked = { model: "m", backend, phase: "decode", target: TARGET, precision: "f32" } as const;
  const context = { signal: new AbortController().signal, onLeave: () => undefined };
  const { passes } = await calls["passes.list"](asked, context);
  await model.dispose();
  return passes.find(({ name }) => name === "legal")?.hits;
}

it.each(["cpu", "mlx"] as const)("%s: more ops become their parts where common rules are forced", async (backend) => {
  const plain = await takenApart(backend, "prefer-native");
  expect(plain).toBeTypeOf("number");
  expect(await takenApart(backend, "force-common")).toBeGreaterThan(plain ?? Infinity);
});

it("Core ML keeps native rules whatever is chosen, as packages do", async () => {
  expect(await takenApart("coreml", "force-common")).toBe(await takenApart("coreml", "prefer-native"));
});
