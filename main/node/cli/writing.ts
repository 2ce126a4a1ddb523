/** What commands that write a model, or read all of it, have in common. */
import type { Ability } from "../../contract/views/common.ts";
import { isErrorCode, WorkbenchError } from "../../diagnostics/errors.ts";

/** Throws where a plan cannot be carried out. */
export function requireAble(can: Ability, command: string): void {
  if (can.ok) return;
  const { code, sentence, hint } = can;
  throw new WorkbenchError(isErrorCode(code) ? code : "INPUT_ARGUMENT", `[rlx ${command}] ${sentence}`, {
    ...(hint === null ? {} : { hint }),
  });
}

/** " 42 %" */
export const percentDone = ({
  doneBytes,
  totalBytes,
}: {
  readonly doneBytes: number;
  readonly totalBytes: number;
}): string => `${((100 * doneBytes) / Math.max(1, totalBytes)).toFixed(0).padStart(3)} %`;
