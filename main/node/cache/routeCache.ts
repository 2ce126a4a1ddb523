/**
 * Predicted routes kept on disk, as the columns that the window draws. A route follows from the header of the file, the target, the
 * phase and our own sources (docs/decisions/0009): a hit lowers nothing. A question about one
 * operation lowers the program then.
 */
import { createHash } from "node:crypto";
import { cached } from "../../compiler/compileCache.ts";
import { decodeFrame, encodeFrame } from "../../contract/codec.ts";
import type { RouteView } from "../../contract/views/route.ts";
import { routeView } from "../../contract/views/route.ts";
import type { RouteCache } from "../../engine/services.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
import type { PlanCache } from "./planCache.ts";
import { headerFacts } from "./planCache.ts";

/** A graph without a file has no key. It is small, so it is routed each time. */
export type RouteRequest = Parameters<RouteCache["get"]>[0];

export function routeKey(
  { file, target, phase, machine }: RouteRequest & { readonly file: GgufFile },
  build: string,
): string {
  const parts = ["route", build, phase, target, machine, headerFacts(file)];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}

export async function cachedRouteView(
  cache: Pick<PlanCache, "store" | "build"> | undefined,
  request: RouteRequest,
  make: () => Promise<RouteView>,
): Promise<RouteView> {
  const { file, model } = request;
  if (cache === undefined || file === undefined) return make();
  const { value } = await cached(cache.store, routeKey({ ...request, file }, cache.build), {
    read: (content) => readView(content),
    make: async () => {
      const view = await make();
      return { value: view, content: encodeFrame(view) };
    },
  });
  // The number in an entry is another process's: models are numbered as they are opened.
  return { ...value, key: { ...value.key, model } };
}

/** Undefined unless all columns have one length and every text they name exists. */
function readView(content: Uint8Array): RouteView | undefined {
  const parsed = routeView.safeParse(decodeFrame(content));
  if (!parsed.success) return undefined;
  const { nodes, strings } = parsed.data;
  const isWhole = Object.values(nodes).every((column) => column.length === nodes.device.length);
  const isNamed = [nodes.rule, nodes.reason].every((column) => column.every((text) => text < strings.length));
  return isWhole && isNamed ? parsed.data : undefined;
}
