/**
 * A cache of the open model's routes: shown ones and prefetched ones, the last few of each. A
 * prefetched route never evicts a shown one.
 */
import type { Phase, TargetSpec } from "../../main/contract/views/common.ts";
import type { Backend } from "../../main/contract/views/graph.ts";
import type { RouteView } from "../../main/contract/views/route.ts";

const MOST_SHOWN = 16;
const MOST_AHEAD = 16;

/** What a route is for. */
export interface RouteOf {
  readonly backend: Backend;
  readonly target: TargetSpec;
  readonly phase: Phase;
}

export interface RouteMemory {
  has(of: RouteOf): boolean;
  /** The route, which counts as shown from now on. */
  take(of: RouteOf): RouteView | undefined;
  show(of: RouteOf, route: RouteView): void;
  keepAhead(of: RouteOf, route: RouteView): void;
  clear(): void;
}

const keyOf = ({ backend, target, phase }: RouteOf): string => JSON.stringify([backend, target, phase]);

export function createRouteMemory(): RouteMemory {
  const shown = new Map<string, RouteView>();
  const ahead = new Map<string, RouteView>();
  const show = (key: string, route: RouteView): void => {
    ahead.delete(key);
    putLast(shown, key, route, MOST_SHOWN);
  };
  return {
    has(of) {
      const key = keyOf(of);
      return shown.has(key) || ahead.has(key);
    },
    take(of) {
      const key = keyOf(of);
      const route = shown.get(key) ?? ahead.get(key);
      if (route !== undefined) show(key, route);
      return route;
    },
    show: (of, route) => show(keyOf(of), route),
    keepAhead(of, route) {
      const key = keyOf(of);
      if (!shown.has(key)) putLast(ahead, key, route, MOST_AHEAD);
    },
    clear() {
      shown.clear();
      ahead.clear();
    },
  };
}

/** As the newest of at most `most`. */
function putLast(routes: Map<string, RouteView>, key: string, route: RouteView, most: number): void {
  routes.delete(key);
  routes.set(key, route);
  const [oldest] = routes.keys();
  if (routes.size > most && oldest !== undefined) routes.delete(oldest);
}
