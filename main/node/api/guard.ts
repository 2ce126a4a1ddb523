/**
 * Who may ask: programs that name this server by one of its own names (a foreign name that resolves here is DNS rebinding),
 * that are no page of another origin, and that have the key.
 */
import type { IncomingHttpHeaders } from "node:http";
import { isIPv6 } from "node:net";
import { hostname, networkInterfaces } from "node:os";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { SHORTEST_KEY } from "../../contract/views/server.ts";
import { newSecret, sameSecret } from "../serve/tickets.ts";
import type { ServerInput } from "../../contract/views/server.ts";
import { ApiError } from "./apiErrors.ts";

export const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || /^127(?:\.\d{1,3}){3}$/u.test(host);

const inAddress = (host: string): string => (isIPv6(host) ? `[${host}]` : host);
export const urlOf = (host: string, port: number): string => `http://${inAddress(host)}:${port}`;

/** The key of a new server; null: none. Beyond loopback others can reach it, so that a key has to be chosen. */
export function keyOf({ host, key }: Pick<ServerInput, "host" | "key">): string | null {
  if (typeof key === "object") return key.given;
  if (isLoopback(host)) return key === "none" ? null : newSecret();
  throw new WorkbenchError(
    "INPUT_ARGUMENT",
    `[server] host ${host}: got no key of yours, expected one, because other machines reach this address`,
    { hint: `Give a key of at least ${SHORTEST_KEY} characters: --api-key, or RLX_API_KEY.` },
  );
}

/** Names that requests may call the server by, in lower case. */
function namesOf(host: string): readonly string[] {
  if (isLoopback(host)) return ["127.0.0.1", "localhost", "[::1]", inAddress(host)];
  const all = host === "0.0.0.0" || host === "::";
  const own = all ? Object.values(networkInterfaces()).flatMap((each) => each ?? []) : [];
  const addresses = own.map(({ address }) => inAddress(address.replace(/%.*$/u, "")));
  const machine = hostname().toLowerCase();
  return ["127.0.0.1", "localhost", inAddress(host).toLowerCase(), machine, `${machine}.local`, ...addresses];
}

export interface Guard {
  /** Throws what the request is refused with. */
  readonly check: (headers: IncomingHttpHeaders, port: number, isPublic: boolean) => void;
}

export function createGuard(host: string, key: string | null): Guard {
  const names = new Set(namesOf(host));
  return {
    check({ host: called = "", origin, authorization = "" }, port, isPublic) {
      const [, name = "", at] = /^(.*?)(?::(\d+))?$/u.exec(called.toLowerCase()) ?? [];
      if (!names.has(name) || Number(at ?? 80) !== port)
        throw new ApiError(421, "The Host header does not name this server.", { code: "wrong_host" });
      if (origin !== undefined && origin !== `http://${called}`)
        throw new ApiError(403, "Pages of other origins are not served.", { code: "foreign_origin" });
      if (isPublic || key === null) return;
      const given = /^Bearer +(.+)$/iu.exec(authorization)?.[1]?.trim() ?? "";
      if (!sameSecret(given, key))
        throw new ApiError(401, given === "" ? "The key is missing." : "The key is wrong.", {
          code: "invalid_api_key",
          headers: { "www-authenticate": "Bearer" },
        });
    },
  };
}
