/** The first screen: drop a file, open one, or try something that comes with the program. */
import { Download } from "lucide-react";
import type { ReactNode } from "react";
import type { Offer } from "../../../main/contract/views/engine.ts";
import type { Recent } from "../../../main/contract/views/model.ts";
import { current } from "../../session/async.ts";
import { useSession } from "../../session/context.tsx";
import { notOpened } from "../../session/openSource.ts";
import { cx } from "../../ui/cx.ts";
import { Button, IconButton } from "../../ui/Button.tsx";
import { deviceLook } from "../../ui/devices.ts";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { bytes } from "../../ui/format.ts";
import { Item } from "./Item.tsx";
import { Sessions } from "./Sessions.tsx";
import styles from "./Start.module.css";

export interface StartProps {
  readonly dragging: boolean;
  readonly onOpen: () => void;
  readonly onOpenPath: () => void;
}

export function Start({ dragging, onOpen, onOpenPath }: StartProps): ReactNode {
  return (
    <main className={styles["start"]}>
      <h1 className="visually-hidden">RLX Workbench</h1>
      <div className={styles["columns"]}>
        <div className={styles["left"]}>
          <div className={styles["drop"]} data-dragging={dragging}>
            <Download size={40} strokeWidth={1.2} aria-hidden="true" className={styles["arrow"]} />
            <strong>Drop a GGUF here</strong>
            <p>Or the folder of a Hugging Face model. It is read in place and nothing leaves this machine.</p>
            <div className={styles["actions"]}>
              <Button look="primary" onClick={onOpen}>
                Open…
              </Button>
              <Button onClick={onOpenPath}>Paste a path</Button>
            </div>
          </div>
          <Failure />
        </div>
        <div className={styles["right"]}>
          <Offers />
          <Sessions />
          <Recents />
        </div>
      </div>
    </main>
  );
}

function Failure(): ReactNode {
  const error = useSession((state) => (state.model.kind === "failed" ? state.model.error : null));
  const source = useSession((state) => state.source);
  const open = useSession((state) => state.open);
  if (error === null || source === null) return null;
  return <ErrorNote title={notOpened(source)} error={error} onRetry={() => void open(source)} />;
}

/** Glyphs only, in ink: the colours belong to devices. */
const GLYPHS: { readonly [K in Offer["kind"]]: string } = {
  sample: deviceLook("ane").glyph,
  "header-only": deviceLook("gpu").glyph,
  "demo-graph": deviceLook("host").glyph,
};

/** Its size, or why it has none: "0 B" would look like a fault. */
export function offerSize({ bytes: size, kind }: Pick<Offer, "bytes" | "kind">): string {
  return size > 0 ? bytes(size) : kind === "demo-graph" ? "made here" : "no weights";
}

/** As many as will come, so that nothing moves when they do. */
const USUAL_OFFERS = ["sample", "1b", "400", "demo"] as const;

function Offers(): ReactNode {
  const offers = useSession((state) => current(state.info)?.offers ?? null);
  const open = useSession((state) => state.open);
  return (
    <section className={styles["group"]} aria-labelledby="start-offers">
      <h2 id="start-offers">Try it now</h2>
      {offers === null
        ? USUAL_OFFERS.map((id) => <div key={id} className={cx(styles["item"], styles["coming"])} aria-hidden="true" />)
        : offers.map((offer) => (
            <button
              key={offer.id}
              type="button"
              className={styles["item"]}
              onClick={() => void open({ kind: "offer", id: offer.id })}
            >
              <Item glyph={GLYPHS[offer.kind]} title={offer.title} sentence={offer.sentence} aside={offerSize(offer)} />
            </button>
          ))}
    </section>
  );
}

function Recents(): ReactNode {
  const recents = useSession((state) => current(state.recents));
  if (recents === null || recents.length === 0) return null;
  return (
    <section className={styles["group"]} aria-labelledby="start-recents">
      <h2 id="start-recents">Recent</h2>
      {recents.slice(0, 4).map((recent) => (
        <RecentItem key={recent.path} recent={recent} />
      ))}
    </section>
  );
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
        onClick={() => void open({ kind: "path", path: recent.path })}
      >
        <Item
          glyph={deviceLook("cpu").glyph}
          title={recent.name}
          sentence={recent.exists ? recent.folder : "No longer there"}
          aside={bytes(recent.bytes)}
        />
      </button>
      <span className={styles["forget"]}>
        <IconButton label={`Forget ${recent.name}`} onClick={() => void forget(recent.path)}>
          ×
        </IconButton>
      </span>
    </div>
  );
}
