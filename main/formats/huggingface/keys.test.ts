/** Numbers of a config.json that lists would be made by. */
import { expect, it } from "vitest";
import { Json } from "../json.ts";
import { layersOf, ropeKeys } from "./keys.ts";

const config = (value: Readonly<Record<string, unknown>>) => ({ name: "config.json", json: new Json(value) });

it.each([1e9, -1, 1.5, 1e300])("%s layers are refused", (count) => {
  expect(() => layersOf(config({ num_hidden_layers: count }))).toThrow(/number of layers: got .*, expected a whole/u);
});

it("layers have three other names", () => {
  for (const key of ["n_layer", "num_layers", "n_layers"]) expect(layersOf(config({ [key]: 12 }))).toBe(12);
});

it.each([1e9, Infinity, NaN])("rope of %s dimensions is refused", (turned) => {
  const scaling = { rope_scaling: { rope_type: "llama3" }, max_position_embeddings: 64 };
  expect(() => ropeKeys(config(scaling), turned)).toThrow(/turned part of a head: got .*, expected a whole/u);
});
