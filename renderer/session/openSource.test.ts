import { describe, expect, it } from "vitest";
import { notOpened, titleOf, typedPath } from "./openSource.ts";

describe("a typed path", () => {
  it("is taken as it is, without what a terminal or a link puts around it", () => {
    expect(typedPath("  /m/a.gguf\n")).toBe("/m/a.gguf");
    expect(typedPath("'/m/my model.gguf'")).toBe("/m/my model.gguf");
    expect(typedPath("/m/my\\ model\\(1\\).gguf")).toBe("/m/my model(1).gguf");
    expect(typedPath("file:///m/my%20model.gguf")).toBe("/m/my model.gguf");
    expect(typedPath("'file:///m/a.gguf'")).toBe("/m/a.gguf");
    expect(typedPath("file:///C:/m/a.gguf")).toBe("C:/m/a.gguf");
    expect(typedPath("file:///m/100%.gguf")).toBe("file:///m/100%.gguf");
    expect(typedPath("C:\\m\\_a.gguf")).toBe("C:\\m\\_a.gguf");
    expect(typedPath("~/m/a.gguf")).toBe("~/m/a.gguf");
  });
});

describe("the name of a source", () => {
  it("is never empty, and a path that failed is named whole", () => {
    expect(titleOf({ kind: "path", path: "/models/dir/" })).toBe("dir");
    expect(titleOf({ kind: "path", path: "/" })).toBe("/");
    expect(notOpened({ kind: "path", path: "/models/dir/" })).toBe("/models/dir/ could not be opened");
    expect(notOpened({ kind: "offer", id: "x" })).toBe("the example could not be opened");
  });
});
