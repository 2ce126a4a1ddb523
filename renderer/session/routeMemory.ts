/**
 * A cache of the open model's routes: shown ones and prefetched ones, the last few of each. A
 * prefetched route never evicts a shown one.
 */
import type { Phase, TargetSpec } from "../../main/contract/views/common.ts";
import type { RouteView } from "../../main/contract/views/route.ts";

const MOST_SHOWN = 16;
const MOST_AHEAD = 16;

export interface RouteMemory {
  has(target: TargetSpec, phase: Phase): boolean;
  /** The route, which counts as shown from now on. */
  take(target: TargetSpec, phase: Phase): RouteView | undefined;
  show(target: TargetSpec, phase: Phase, route: RouteView): void;
  keepAhead(target: TargetSpec, phase: Phase, route: RouteView): void;
  clear(): void;
}

const keyOf = (target: TargetSpec, phase: Phase): string => JSON.stringify([target, phase]);

export function createRouteMemory(): RouteMemory {
  const shown = new Map<string, RouteView>();
  const ahead = new Map<string, RouteView>();
  const show = (key: string, route: RouteView): void => {
    ahead.delete(key);
    putLast(shown, key, route, MOST_SHOWN);
  };
  return {
    has(target, phase) {
      const key = keyOf(target, phase);
      return shown.has(key) || ahead.has(key);
    },
    take(target, phase) {
      const key = keyOf(target, phase);
      const route = shown.get(key) ?? ahead.get(key);
      if (route !== undefined) show(key, route);
      return route;
    },
    show: (target, phase, route) => show(keyOf(target, phase), route),
    keepAhead(target, phase, route) {
      const key = keyOf(target, phase);
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
