/** Files that were opened before, newest first, with what is known of each: type, size, measured speed, Neural Engine share. */
import type { ReactNode } from "react";
import { useState } from "react";
import type { Recent } from "../../../main/contract/views/model.ts";
import { current } from "../../session/async.ts";
import { useSession } from "../../session/context.tsx";
import { Button, IconButton } from "../../ui/Button.tsx";
import { deviceLook } from "../../ui/devices.ts";
import { bytes, rate, share } from "../../ui/format.ts";
import { Item } from "./Item.tsx";
import styles from "./Start.module.css";

const SHOWN = 4;

export function Recents(): ReactNode {
  const recents = useSession((state) => current(state.recents));
  const [all, setAll] = useState(false);
  if (recents === null || recents.length === 0) return null;
  const shown = all ? recents : recents.slice(0, SHOWN);
  return (
    <section className={styles["group"]} aria-labelledby="start-recents">
      <h2 id="start-recents">Recent</h2>
      {shown.map((recent) => (
        <RecentItem key={recent.path} recent={recent} />
      ))}
      {recents.length > SHOWN ? (
        <Button look="ghost" small onClick={() => setAll(!all)}>
          {all ? "Show fewer" : `Show all ${recents.length}`}
        </Button>
      ) : null}
    </section>
  );
}

/** "Q4_K_M · 395 MB". */
export const sizeText = (variant: string | null, size: number): string =>
  [variant, size > 0 ? bytes(size) : null].filter((part) => part !== null).join(" · ");

/** What was measured and predicted last, in a few words; empty before that. */
export function resultText({ speed, aneShare }: Pick<Recent, "speed" | "aneShare">): string {
  return [
    speed === null ? null : rate(speed.rate),
    aneShare === null || aneShare.share === 0 ? null : `ANE ~${share(aneShare.share)}`,
  ]
    .filter((part) => part !== null)
    .join(" · ");
}

/** How each is known. */
export function resultHint({ speed, aneShare }: Pick<Recent, "speed" | "aneShare">): string {
  return [
    speed === null
      ? null
      : `Measured on ${speed.device}, ${new Date(speed.at).toLocaleDateString([], { day: "numeric", month: "short", year: "numeric" })}.`,
    aneShare === null
      ? null
      : `${share(aneShare.share)} of a token's work is predicted for the Neural Engine (${aneShare.target}).`,
  ]
    .filter((part) => part !== null)
    .join(" ");
}

function RecentItem({ recent }: { readonly recent: Recent }): ReactNode {
  const open = useSession((state) => state.open);
  const forget = useSession((state) => state.forgetRecent);
  return (
    <div className={styles["recent"]}>
      <button
        type="button"
        className={styles["item"]}
        disabled={!recent.exists}
        title={[recent.path, resultHint(recent)].filter((part) => part !== "").join("\n")}
        onClick={() => void open({ kind: "path", path: recent.path })}
      >
        <Item
          glyph={deviceLook("cpu").glyph}
          kind="A file opened before"
          title={recent.name}
          sentence={recent.exists ? recent.folder : `No longer in ${recent.folder}`}
          aside={recent.exists ? sizeText(recent.variant, recent.bytes) : ""}
          below={recent.exists ? resultText(recent) : ""}
        />
      </button>
      <span className={styles["forget"]} data-gone={!recent.exists}>
        {recent.exists ? (
          <IconButton label={`Forget ${recent.name}`} onClick={() => void forget(recent.path)}>
            ×
          </IconButton>
        ) : (
          <Button small aria-label={`Remove ${recent.name}`} onClick={() => void forget(recent.path)}>
            Remove
          </Button>
        )}
      </span>
    </div>
  );
}
