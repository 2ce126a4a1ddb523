/** Names of files in a list: where two are the same, each with its folder. */
import { fileName } from "../../main/contract/views/session.ts";

const folderOf = (path: string): string => path.slice(0, Math.max(0, path.length - fileName(path).length - 1)) || "/";

export function fileTitles(paths: readonly string[]): ReadonlyMap<string, string> {
  const times = new Map<string, number>();
  const unique = [...new Set(paths)];
  for (const path of unique) times.set(fileName(path), (times.get(fileName(path)) ?? 0) + 1);
  return new Map(
    unique.map((path) => {
      const name = fileName(path);
      return [path, (times.get(name) ?? 0) > 1 ? `${name} in ${folderOf(path)}` : name];
    }),
  );
}
