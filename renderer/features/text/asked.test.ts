import { expect, it } from "vitest";
import { askedOf } from "./asked.ts";

const array = { name: "x.npy", bytes: new Uint8Array(1) };
const FORM = { devices: ["cpu"], seed: 7, symbols: { N: 3, M: 5 }, inputs: { x: array, gone: array } };
const typed = (name: string, type: string) => ({ name, type });

it("leaves out inputs and symbols that the text no longer has", () => {
  const graph = {
    ...{ name: "g", hash: "", operations: 1, params: [], states: [] },
    ...{ inputs: [typed("x", "f32[N,4]")], outputs: [typed("y", "f32[2 * N]")] },
  };
  expect(askedOf(FORM, graph)).toEqual({ seed: 7, symbols: { N: 3 }, inputs: { x: array } });
  expect(askedOf(FORM, null)).toEqual({ seed: 7, symbols: FORM.symbols, inputs: FORM.inputs });
});
