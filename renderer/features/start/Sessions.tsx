/** Sessions that are kept: what was open in them, and when. */
import type { ReactNode } from "react";
import { useEffect, useState } from "react";
import type { SessionRow } from "../../../main/contract/views/session.ts";
import { current } from "../../session/async.ts";
import { sliceHook } from "../../session/context.tsx";
import type { MemorySlice } from "../../session/memory.ts";
import { IconButton } from "../../ui/Button.tsx";
import { deviceLook } from "../../ui/devices.ts";
import { plural } from "../../ui/format.ts";
import { Item } from "./Item.tsx";
import styles from "./Start.module.css";

const useMemory = sliceHook<MemorySlice>();
const SHOWN = 2;

/** "today 14:03", or with the day. */
export function whenSaved(at: number, now: number): string {
  const time = new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false });
  const day = (ms: number): string => new Date(ms).toDateString();
  if (day(at) === day(now)) return `today ${time}`;
  if (day(at) === day(now - 86_400_000)) return `yesterday ${time}`;
  return `${new Date(at).toLocaleDateString([], { day: "numeric", month: "short", year: "numeric" })} ${time}`;
}

export function Sessions(): ReactNode {
  const sessions = useMemory((state) => current(state.sessions));
  const mine = useMemory((state) => state.sessionId);
  const connected = useMemory((state) => state.connection === "connected");
  const load = useMemory((state) => state.loadSessions);
  useEffect(() => {
    if (connected) void load();
  }, [connected, load]);
  // The current one has nothing that is not on the screen, once its model is closed.
  const shown = (sessions ?? []).filter(({ session, models }) => session !== mine && models.length > 0).slice(0, SHOWN);
  if (shown.length === 0) return null;
  return (
    <section className={styles["group"]} aria-labelledby="start-sessions">
      <h2 id="start-sessions">Go on with</h2>
      {shown.map((row) => (
        <SessionItem key={row.session} row={row} />
      ))}
    </section>
  );
}

function SessionItem({ row: { session, models, savedAt } }: { readonly row: SessionRow }): ReactNode {
  const goOn = useMemory((state) => state.continueSession);
  const remove = useMemory((state) => state.removeSession);
  const [title = "", ...others] = models;
  const [now] = useState(() => Date.now());
  const when = whenSaved(savedAt, now);
  return (
    <div className={styles["recent"]}>
      <button type="button" className={styles["item"]} title={models.join(", ")} onClick={() => void goOn(session)}>
        <Item
          glyph={deviceLook("host").glyph}
          kind="A session"
          title={title}
          sentence={others.length === 0 ? "Session" : `Session, and ${plural(others.length, "more model")}`}
          aside={when}
        />
      </button>
      <span className={styles["forget"]}>
        <IconButton label={`Remove the session of ${when}`} onClick={() => void remove(session)}>
          ×
        </IconButton>
      </span>
    </div>
  );
}
