/**
 * The title of a source, and the path in text that was typed, pasted from a terminal, or copied as
 * a link.
 */
import type { OpenSource } from "./types.ts";

export function titleOf(source: OpenSource): string {
  switch (source.kind) {
    case "path":
      return lastPart(source.path);
    case "offer":
      return "the example";
    case "text":
      return source.name;
    case "file":
      return source.dropped.folder ?? source.dropped.file.name;
  }
}

/** A path is named whole: what is wrong with it may be anywhere in it. */
export function notOpened(source: OpenSource): string {
  return `${source.kind === "path" ? source.path : titleOf(source)} could not be opened`;
}

const lastPart = (path: string): string => path.split(/[\\/]/).findLast((part) => part !== "") ?? path;

const WINDOWS = /^([A-Za-z]:|\\)\\/;

export function typedPath(text: string): string {
  const trimmed = text.trim();
  const quoted = /^(['"])(.*)\1$/.exec(trimmed)?.[2];
  const path = quoted ?? trimmed;
  if (/^file:/i.test(path)) return pathOfUrl(path);
  // In quotes, and on Windows, a backslash is itself.
  return quoted !== undefined || WINDOWS.test(path) ? path : path.replace(/\\([^A-Za-z0-9])/g, "$1");
}

function pathOfUrl(url: string): string {
  try {
    const { host, pathname } = new URL(url);
    const path = decodeURIComponent(pathname);
    if (host !== "" && host !== "localhost") return `//${host}${path}`;
    return path.replace(/^\/([A-Za-z]:)/, "$1");
  } catch {
    return url;
  }
}
