/** Costs that only compare: as multiples of the least. */
import { significant, THIN } from "../../ui/format.ts";

/** "1.0 ×", "3.1 ×", "12 ×". */
export function relativeText(cost: number, least: number): string {
  const times = cost / least;
  return Number.isFinite(times) && least > 0 ? `${significant(times, 2)}${THIN}×` : "–";
}
