/** Layers × experts as a picture: a cell for each expert, as warm as the share of tokens that it took. */
import type { ExpertsDone } from "../../../main/contract/views/score.ts";
import { plural, share } from "../../ui/format.ts";

/** Cells of one shade are one path: a large mixture has more than ten thousand. */
export const SHADES = 24;

export interface HeatMap {
  readonly columns: number;
  readonly rows: number;
  /** For each shade its cells as a path; "" without any. */
  readonly paths: readonly string[];
  /** Tokens that the busiest cell took. */
  readonly most: number;
}

export function heatMap({ layers }: ExpertsDone): HeatMap {
  const columns = layers.reduce((all, { counts }) => Math.max(all, counts.length), 0);
  const most = layers.reduce((all, { counts }) => counts.reduce((a, b) => Math.max(a, b), all), 1);
  const paths = new Array<string>(SHADES).fill("");
  layers.forEach(({ counts }, row) =>
    counts.forEach((count, expert) => {
      const shade = Math.round((count / most) * (SHADES - 1));
      paths[shade] = `${paths[shade] ?? ""}M${expert} ${row}h1v1h-1z`;
    }),
  );
  return { columns, rows: layers.length, paths, most };
}

/** "Layer 3, expert 17: 12 of 64 tokens (19 %)"; "" outside of the picture. x and y: from 0 to 1. */
export function cellWords({ layers, tokens }: ExpertsDone, map: HeatMap, x: number, y: number): string {
  const [row, expert] = [Math.floor(y * map.rows), Math.floor(x * map.columns)];
  const at = layers[row];
  const count = at?.counts[expert];
  if (at === undefined || count === undefined) return "";
  return `Layer ${at.layer}, expert ${expert}: ${count} of ${tokens} tokens (${share(count / tokens)})`;
}

/** What the picture shows, in a sentence. */
export function mapWords({ layers, tokens }: ExpertsDone, { most }: Pick<HeatMap, "most">): string {
  const idle = layers.reduce((sum, { counts }) => sum + counts.filter((count) => count === 0).length, 0);
  const all = layers.reduce((sum, { counts }) => sum + counts.length, 0);
  const [first] = layers;
  const used = first === undefined || tokens === 0 ? 0 : first.counts.reduce((a, b) => a + b, 0) / tokens;
  return `${plural(tokens, "token")}, ${plural(used, "expert")} each. ${all - idle} of ${all} experts took at least one, the busiest ${most}.`;
}
