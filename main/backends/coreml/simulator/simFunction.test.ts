// Branches and loops of a program that another one wrote, run as they are: conditions that are none, and loops of nothing.
import { describe, expect, it } from "vitest";
import type { MilBlock, MilFunction, MilOperation } from "../mil/types.ts";
import { tensorType } from "../mil/types.ts";
import { Constants } from "./constants.ts";
import { SimFunction } from "./simFunction.ts";
import { packageTensor } from "../package/packageTensor.ts";

const FLAG = tensorType("bool", []);
const x = packageTensor("bool", [], [1]);

function functionOf(type: "cond" | "while_loop", blocks: readonly MilBlock[]): SimFunction {
  const argument = type === "cond" ? "pred" : "loop_vars";
  const op: MilOperation = {
    type,
    name: "y",
    inputs: [[argument, [{ kind: "name", name: "x" }]]],
    outputs: [{ name: "y", type: FLAG }],
    blocks,
    origins: [],
  };
  const mil: MilFunction = {
    name: "main",
    opset: "CoreML7",
    inputs: [{ name: "x", type: FLAG }],
    operations: [op],
    outputs: ["y"],
  };
  return new SimFunction(mil, new Constants(undefined));
}
/** Gives what it is handed. */
const same = (name: string): MilBlock => ({ inputs: [{ name, type: FLAG }], operations: [], outputs: [name] });

describe("loops in the simulator", () => {
  it("are cancelled also where no operator runs in them", async () => {
    const stop = new AbortController();
    const running = functionOf("while_loop", [same("a"), same("b")]).predict({ x }, { signal: stop.signal });
    setTimeout(() => stop.abort(), 5);
    await expect(running).rejects.toMatchObject({ code: "CANCELLED" });
  });

  it("end at once where the condition does not hold", async () => {
    const made = await functionOf("while_loop", [same("a"), same("b")]).predict({ x: packageTensor("bool", [], [0]) });
    expect([...(made["y"]?.data ?? [])]).toEqual([0]);
  });

  it("are refused where the condition gives nothing", async () => {
    const nothing: MilBlock = { inputs: [{ name: "a", type: FLAG }], operations: [], outputs: [] };
    await expect(functionOf("while_loop", [nothing, same("b")]).predict({ x })).rejects.toThrow(
      "no condition of one element",
    );
  });
});

describe("branches in the simulator", () => {
  const gives: MilBlock = { inputs: [], operations: [], outputs: ["x"] };

  it("take the first block where the condition holds, and the second where it does not", async () => {
    const fails: MilBlock = { inputs: [], operations: [], outputs: [] };
    const yes = packageTensor("bool", [], [1]);
    const no = packageTensor("bool", [], [0]);
    expect([...((await functionOf("cond", [gives, fails]).predict({ x: yes }))["y"]?.data ?? [])]).toEqual([1]);
    expect([...((await functionOf("cond", [fails, gives]).predict({ x: no }))["y"]?.data ?? [])]).toEqual([0]);
    await expect(functionOf("cond", [fails, gives]).predict({ x: yes })).rejects.toThrow("was not made");
  });
});
