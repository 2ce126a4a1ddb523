/** The store as components see it: each asks for the slice it knows, with a narrow selector. */
import type { ReactNode } from "react";
import { createContext, useContext } from "react";
import type { StoreApi } from "zustand";
import { useStore } from "zustand";
import { invariant } from "../../main/diagnostics/errors.ts";
import type { SessionState } from "./sessionSlice.ts";

const StoreContext = createContext<StoreApi<SessionState> | null>(null);

export function StoreProvider({
  store,
  children,
}: {
  readonly store: StoreApi<SessionState>;
  readonly children: ReactNode;
}): ReactNode {
  return <StoreContext value={store}>{children}</StoreContext>;
}

export function useStoreApi<S extends SessionState = SessionState>(): StoreApi<S> {
  const store = useContext(StoreContext);
  invariant(store, "a component outside of the store's provider");
  // The shell puts every slice into the one store; a feature may name its own beside the session's.
  return store as unknown as StoreApi<S>;
}

export function useSession<T>(selector: (state: SessionState) => T): T {
  return useStore(useStoreApi(), selector);
}

/** The hook of a feature: the session and its own slice. */
export function sliceHook<Slice>(): <T>(selector: (state: SessionState & Slice) => T) => T {
  return function useSlice<T>(selector: (state: SessionState & Slice) => T): T {
    return useStore(useStoreApi<SessionState & Slice>(), selector);
  };
}
