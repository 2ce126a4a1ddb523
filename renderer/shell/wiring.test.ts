// The store only composes: what a feature does about another's news goes through actions, never through its fields.
import { expect, it } from "vitest";

const sources = import.meta.glob<string>("./store.ts", { query: "?raw", import: "default", eager: true });

it("writes no field of a slice", () => {
  const store = sources["./store.ts"];
  expect(store).toContain("createStore<WorkbenchState>");
  expect(store).not.toMatch(/\.setState\(/);
});
