/** What comes with the program: one row of small cards. */
import type { ReactNode } from "react";
import type { Offer } from "../../../main/contract/views/engine.ts";
import { current } from "../../session/async.ts";
import { useSession } from "../../session/context.tsx";
import { cx } from "../../ui/cx.ts";
import { deviceLook } from "../../ui/devices.ts";
import { bytes } from "../../ui/format.ts";
import styles from "./Start.module.css";

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

export function Offers(): ReactNode {
  const offers = useSession((state) => current(state.info)?.offers ?? null);
  const open = useSession((state) => state.open);
  return (
    <section className={styles["offers"]} aria-labelledby="start-offers">
      <h2 id="start-offers">Try it now</h2>
      <div className={styles["cards"]}>
        {offers === null
          ? USUAL_OFFERS.map((id) => (
              <div key={id} className={cx(styles["card"], styles["coming"])} aria-hidden="true" />
            ))
          : offers.map((offer) => (
              <button
                key={offer.id}
                type="button"
                className={styles["card"]}
                onClick={() => void open({ kind: "offer", id: offer.id })}
              >
                <svg width="14" height="14" viewBox="0 0 10 10" aria-hidden="true">
                  <path d={GLYPHS[offer.kind]} />
                </svg>
                <b>{offer.title}</b>
                <em>{offerSize(offer)}</em>
                <span>{offer.sentence}</span>
              </button>
            ))}
      </div>
    </section>
  );
}
