/** `workbench://app/…`: the built window from its exact folder, with the same headers as `rlx serve` sends. */
import { readFile } from "node:fs/promises";
import { extname } from "node:path";
import type { Protocol } from "electron";
import { fileWithin, mimeType, SECURITY_HEADERS } from "../../main/node/serve/staticFiles.ts";
import { APP_HOST, SCHEME } from "./security.ts";

/** Before the app is ready: a standard, secure scheme, so that workers, fetch and storage work as on https. */
export function registerScheme(protocol: Pick<Protocol, "registerSchemesAsPrivileged">): void {
  protocol.registerSchemesAsPrivileged([
    { scheme: SCHEME, privileges: { standard: true, secure: true, supportFetchAPI: true, codeCache: true } },
  ]);
}

export function handleProtocol(protocol: Pick<Protocol, "handle">, rendererFolder: string): void {
  protocol.handle(SCHEME, (request) => respond(request, rendererFolder));
}

export async function respond(request: Request, rendererFolder: string): Promise<Response> {
  const url = new URL(request.url);
  const refuse = (status: number): Response => new Response(null, { status, headers: SECURITY_HEADERS });
  if (url.host !== APP_HOST || request.method !== "GET") return refuse(403);
  const file = fileWithin(rendererFolder, url.pathname);
  if (file === undefined) return refuse(404);
  const bytes = await readFile(file).catch(() => undefined);
  if (!bytes) return refuse(404);
  return new Response(new Uint8Array(bytes), {
    headers: { ...SECURITY_HEADERS, "content-type": mimeType(extname(file)) },
  });
}
