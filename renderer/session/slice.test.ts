// No slice writes another's fields: the types forbid it, no two slices share a field, and nothing else writes the store.
import { createStore } from "zustand/vanilla";
import { expect, it } from "vitest";
import { createRecordedEngine } from "../engine/recorded/replay.ts";
import { IDLE } from "./async.ts";
import { createModelSlice, INITIAL_MODEL } from "./model.ts";
import { createPlansSlice } from "./plans.ts";
import type { ModelSlice, PlansSlice } from "./sessionSlice.ts";
import { createTools } from "./slice.ts";

type State = ModelSlice & PlansSlice;

function setUp() {
  const store = createStore<State>()(() => ({}) as State);
  const tools = createTools(createRecordedEngine().client, null, store);
  store.setState({ ...createModelSlice(tools()), ...createPlansSlice(tools()) });
  return { store, tools: tools<PlansSlice, State>() };
}

it("cannot write another slice's field", () => {
  const { store, tools } = setUp();
  tools.set({ onMlx: IDLE });
  // @ts-expect-error -- a field of the model's slice
  tools.set({ model: IDLE });
  // @ts-expect-error -- in a spread, too
  tools.set({ ...INITIAL_MODEL, onMlx: IDLE });
  expect(store.getState().onMlx).toBe(IDLE);
});

it("hears of the others by events, and of changed values once", () => {
  const { store, tools } = setUp();
  const { emit, watch, set } = tools;
  const seen: unknown[] = [];
  watch(
    ({ onMlx, profiled }) => [onMlx, profiled],
    () => seen.push(store.getState().onMlx.kind),
  );
  set({ onMlx: { kind: "loading", previous: null } });
  set({ planned: IDLE });
  expect(seen).toEqual(["loading"]);
  emit("devicesCalibrated", null);
  expect(seen).toEqual(["loading", "idle"]);
});

const slices = import.meta.glob<Record<string, unknown>>(
  ["../session/*.ts", "../devices/slice.ts", "../shell/windowSlice.ts", "../features/*/*lice.ts", "!**/*.test.ts"],
  { eager: true },
);
const sources = import.meta.glob<string>("../**/*.{ts,tsx}", { query: "?raw", import: "default", eager: true });

it("shares no field with another slice", () => {
  const store = createStore<object>()(() => ({}));
  const tools = createTools(createRecordedEngine().client, null, store)();
  const owners = new Map<string, string[]>();
  for (const module of Object.values(slices))
    for (const [name, create] of Object.entries(module)) {
      if (typeof create !== "function" || !/^create\w+Slice$/.test(name)) continue;
      for (const field of Object.keys((create as (each: typeof tools) => object)(tools)))
        owners.set(field, [...(owners.get(field) ?? []), name]);
    }
  expect(new Set([...owners.values()].flat()).size).toBeGreaterThan(14);
  expect([...owners].filter(([, names]) => names.length > 1)).toEqual([]);
});

it("is written through its tools only", () => {
  const writers = Object.entries(sources).filter(
    ([path, text]) => !path.includes(".test.") && /(?<!this)\.setState\(/.test(text),
  );
  expect(writers.map(([path]) => path)).toEqual(["./slice.ts"]);
});
