import { mkdtempSync, readdirSync } from "node:fs";
import { expect, it } from "vitest";
import { toWireError, WorkbenchError } from "./errors.ts";

function thrown(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  return undefined;
}

it.each([
  ["ENOSPC", "ENV_IO", "Free some space"],
  ["EMFILE", "ENV_IO", "ulimit -n"],
  ["ENOMEM", "ENV_NO_MEMORY", "ulimit -v"],
  ["EROFS", "ENV_IO", "another folder"],
  ["ENOENT", "ENV_IO", "TMPDIR"],
])("%s of a system call is %s and says what to do", (code, expected, hint) => {
  const error = Object.assign(new Error(`${code}: told so, open '/x'`), { code, syscall: "open" });
  expect(toWireError(error)).toMatchObject({ code: expected, message: expect.stringContaining("/x") as string });
  expect(toWireError(error).hint).toContain(hint);
});

it("any other error is a fault of ours, and an error with a code keeps it", () => {
  expect(toWireError(new TypeError("boom"))).toEqual({ code: "BUG_UNEXPECTED", message: "boom" });
  expect(toWireError(new WorkbenchError("INPUT_LIMIT", "[x] y"))).toMatchObject({ code: "INPUT_LIMIT" });
  for (const work of [() => readdirSync("/no/such"), () => mkdtempSync("/no/such/x-")])
    expect(toWireError(thrown(work))).toMatchObject({ code: "ENV_IO" });
});
