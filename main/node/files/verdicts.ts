/** What measurements of advice said on this machine, in one small JSON file of the user's data folder, the newest first. */
import { join } from "node:path";
import { z } from "zod";
import { adviceVerdict } from "../../contract/views/advice.ts";
import type { AdviceVerdict } from "../../contract/views/advice.ts";
import type { VerdictStore } from "../../engine/services.ts";
import { oneAtATime, readList, writeAtomically } from "./smallFile.ts";

const schema = z.object({
  version: z.literal(1),
  verdicts: z.array(z.object({ key: z.string(), verdict: adviceVerdict })),
});
type Entry = z.output<typeof schema>["verdicts"][number];
const MOST = 500;

export function createVerdicts(folder: string): VerdictStore {
  const file = join(folder, "verdicts.json");
  const serially = oneAtATime();
  const read = (): Promise<readonly Entry[]> => readList(file, (json) => schema.parse(json).verdicts);
  return {
    get: (key) => serially(async () => (await read()).find((entry) => entry.key === key)?.verdict),
    put: (key, verdict: AdviceVerdict) =>
      serially(async () => {
        const others = (await read()).filter((entry) => entry.key !== key);
        const verdicts = [{ key, verdict }, ...others].slice(0, MOST);
        await writeAtomically(file, JSON.stringify({ version: 1, verdicts }, undefined, 1));
      }),
  };
}
