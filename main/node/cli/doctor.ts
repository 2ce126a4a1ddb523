/** `rlx doctor`: what this machine has, what is missing and how to get it. */
import type { Command } from "./client.ts";

const MARKS = { ok: "✓", info: "·", warning: "!", missing: "✗" } as const;

export async function doctor({ client, output }: Command): Promise<number> {
  const report = await client.call("doctor.run", {});
  output.value(report);
  for (const check of report.checks) {
    output.line(`${MARKS[check.state]} ${check.title}: ${check.sentence}`);
    if (check.hint !== null) output.line(`  → ${check.hint}`);
  }
  return report.checks.some((check) => check.state === "missing") ? 1 : 0;
}
