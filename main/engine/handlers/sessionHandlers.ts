/** What windows keep: session documents and histories. A write that has begun goes on when its window closes. */
import type { EngineHandlers } from "../../contract/contract.ts";
import type { EngineServices } from "../services.ts";

type SessionCalls =
  | "sessions.list"
  | "sessions.read"
  | "sessions.load"
  | "sessions.save"
  | "sessions.remove"
  | "history.append"
  | "history.list";

const OK = { ok: true } as const;

export function sessionHandlers({
  sessions,
  histories,
}: Pick<EngineServices, "sessions" | "histories">): Pick<EngineHandlers["calls"], SessionCalls> {
  return {
    "sessions.list": async ({ limit }) => ({ sessions: await sessions.list(limit) }),
    "sessions.read": async ({ path }) => ({ text: await sessions.read(path) }),
    "sessions.load": async ({ session }) => ({ text: await sessions.load(session) }),
    "sessions.save": async ({ session, text }) => {
      await sessions.save(session, text);
      return OK;
    },
    "sessions.remove": async ({ session }) => {
      await sessions.remove(session);
      return OK;
    },
    "history.append": async ({ kind, entry }) => {
      await histories.append(kind, entry);
      return OK;
    },
    "history.list": ({ kind, identity, limit }) => histories.list(kind, { identity, limit }),
  };
}
