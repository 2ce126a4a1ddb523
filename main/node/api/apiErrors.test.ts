// Which status an error of the engine has: what stays so is no 503, and sentences end once.
import { expect, it } from "vitest";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { apiErrorOf } from "./apiErrors.ts";

it.each(["ENV_NO_DEVICE", "ENV_NO_ADDON", "ENV_NO_RUNTIME"] as const)(
  "%s stays so: nobody is told to come again",
  (code) => {
    const { status, headers } = apiErrorOf(new WorkbenchError(code, "[device] it is not here"));
    expect([status, headers]).toEqual([500, {}]);
  },
);

it.each(["ENV_NO_MEMORY", "HANDLE_BUSY", "ENGINE_LOST"] as const)("%s may be over soon", (code) => {
  const { status, headers } = apiErrorOf(new WorkbenchError(code, "[device] not now"));
  expect([status, headers]).toEqual([503, { "retry-after": "1" }]);
});

it.each(["[device] It is not here", "[device] It is not here."])("%j and its hint have one full stop each", (said) => {
  expect(apiErrorOf(new WorkbenchError("ENV_NO_DEVICE", said, { hint: "Choose another." })).message).toBe(
    "[device] It is not here. Choose another.",
  );
});
