/**
 * Serves the built window from one folder with strict headers: CSP, no sniffing, no framing, isolated.
 * Paths are checked against the exact folder.
 */
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { extname, isAbsolute, join, normalize, relative } from "node:path";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".txt": "text/plain; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".mjs": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ttf": "font/ttf",
  ".woff2": "font/woff2",
  ".wasm": "application/wasm",
  ".ico": "image/x-icon",
};

/** Monaco sets element styles, hence 'unsafe-inline' for styles. All else is our own files. */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "worker-src 'self' blob:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": CONTENT_SECURITY_POLICY,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-embedder-policy": "require-corp",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), microphone=(), geolocation=()",
};

export const mimeType = (extension: string): string => TYPES[extension] ?? "application/octet-stream";

/** The file of a URL path inside `folder`; undefined if it points elsewhere. */
export function fileWithin(folder: string, urlPath: string): string | undefined {
  let decoded: string;
  try {
    decoded = decodeURIComponent(urlPath);
  } catch {
    return undefined;
  }
  if (decoded.includes("\0") || decoded.includes("\\")) return undefined;
  const file = normalize(join(folder, decoded === "/" ? "index.html" : decoded));
  const inside = relative(folder, file);
  return inside === "" || inside.startsWith("..") || isAbsolute(inside) ? undefined : file;
}

export async function serveStatic(
  folder: string,
  urlPath: string,
  head: boolean,
  response: ServerResponse,
): Promise<void> {
  const file = fileWithin(folder, urlPath);
  const found = file === undefined ? undefined : await stat(file).catch(() => undefined);
  if (file === undefined || !found?.isFile()) {
    response.writeHead(404, { ...SECURITY_HEADERS, "content-type": "text/plain; charset=utf-8" });
    response.end("Not found.\n");
    return;
  }
  response.writeHead(200, {
    ...SECURITY_HEADERS,
    "content-type": mimeType(extname(file)),
    "content-length": found.size,
    // Built assets have a hash in their name. The page itself must be fresh.
    "cache-control": file.includes("assets") ? "public, max-age=31536000, immutable" : "no-cache",
  });
  if (head) {
    response.end();
    return;
  }
  // `pipeline` closes the file when the reader leaves in the middle.
  await pipeline(createReadStream(file), response);
}
