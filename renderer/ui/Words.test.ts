import { expect, it } from "vitest";
import { withoutMark } from "./Words.tsx";

it("takes the mark for logs off a sentence, and leaves others alone", () => {
  expect(withoutMark("[mlx] the engine is not built.")).toBe("The engine is not built.");
  expect(withoutMark("avx512, [2] cores")).toBe("avx512, [2] cores");
});
