/** The overview: the file, whether it fits, its speed, its route, its contents. */
import { isGraphAlone } from "../../../main/contract/views/model.ts";
import type { ReactNode } from "react";
import { useState } from "react";
import type { Ability, CacheType } from "../../../main/contract/views/common.ts";
import type { Overview as OverviewView } from "../../../main/contract/views/model.ts";
import { ROUTED } from "../../../main/contract/views/graph.ts";
import { FileBlocks } from "../../graph/FileBlocks.tsx";
import { current } from "../../session/async.ts";
import { useSession } from "../../session/context.tsx";
import { Button } from "../../ui/Button.tsx";
import { CopyButton } from "../../ui/CopyButton.tsx";
import { AbilityCard } from "./AbilityCard.tsx";
import type { MeasuredSpeed } from "./forecastCards.tsx";
import { Forecasts } from "./forecastCards.tsx";
import { FactsCard, MixCard } from "./fileCards.tsx";
import { ProfilesCard } from "./ProfilesCard.tsx";
import { MetadataCard } from "./MetadataCard.tsx";
import { RouteCard } from "./RouteCard.tsx";
import { useSubject, useVerdict } from "./useVerdict.ts";
import { VerdictCard } from "./VerdictCard.tsx";
import styles from "./Overview.module.css";

export interface OverviewProps {
  /** Measurements of other tabs for this model. */
  readonly measured: MeasuredSpeed | null;
  readonly onReport: () => void;
  /** Cards of another feature, below where it runs. */
  readonly children?: ReactNode;
}

export function Overview({ measured, onReport, children }: OverviewProps): ReactNode {
  const overview = useSession((state) => current(state.model));
  const subject = useSubject();
  const [cacheType, setCacheType] = useState<CacheType | null>(null);
  const verdicts = useVerdict("all", cacheType);
  // The others have one device and one form of weights: there is nothing to compare.
  const placed = useSession((state) => state.backend === ROUTED.backend);
  if (overview === null) return null;
  return (
    <div className={styles["scroll"]}>
      <div className={styles["overview"]}>
        <Head overview={overview} onReport={onReport} />
        {overview.canGraph.ok ? <VerdictCard verdicts={verdicts} subject={subject} measured={measured} /> : null}
        <Problems overview={overview} />
        <Forecasts
          forecasts={overview.forecasts}
          own={overview.canGraph.ok ? (current(verdicts.own)?.own ?? null) : null}
          chunk={verdicts.chunk}
          measured={measured}
          runs={overview.canRun.ok}
          cache={{ type: cacheType, choose: setCacheType, all: current(verdicts.all) }}
        />
        {overview.canGraph.ok ? <RouteCard wide={overview.mix.length === 0} /> : null}
        {overview.canGraph.ok || overview.file === null ? null : (
          <FileBlocks key={`blocks ${overview.model}`} model={overview.model} className={styles["wide"]} />
        )}
        {overview.mix.length === 0 ? null : <MixCard overview={overview} />}
        {overview.canGraph.ok ? children : null}
        {overview.profiles.length === 0 || !overview.canGraph.ok || !placed ? null : (
          <ProfilesCard overview={overview} />
        )}
        <FactsCard overview={overview} />
        {overview.file === null ? null : <MetadataCard key={overview.model} model={overview.model} />}
      </div>
    </div>
  );
}

function Head({ overview, onReport }: { readonly overview: OverviewView; readonly onReport: () => void }): ReactNode {
  const setTab = useSession((state) => state.setTab);
  const command = overview.argument === null ? null : `rlx inspect ${overview.argument}`;
  return (
    <header className={styles["head"]}>
      <div>
        <h2 title={overview.title}>{overview.title}</h2>
        <p>{overview.sentence}</p>
      </div>
      <div className={styles["actions"]}>
        <Button small onClick={onReport}>
          Report…
        </Button>
        {command === null ? null : <CopyButton label="Copy as command" text={() => command} />}
        {overview.canRun.ok ? (
          <Button look="primary" small onClick={() => setTab("run")}>
            {isGraphAlone(overview.kind) ? "Run it" : overview.hasChatTemplate ? "Chat with it" : "Complete with it"}
          </Button>
        ) : overview.canGraph.ok ? (
          <Button look="primary" small onClick={() => setTab("graph")}>
            See its graph
          </Button>
        ) : null}
      </div>
    </header>
  );
}

/** Actions that are not possible, grouped by their way out. */
function Problems({ overview }: { readonly overview: OverviewView }): ReactNode {
  const groups = new Map<string, Exclude<Ability, { ok: true }>[]>();
  for (const ability of [overview.canGraph, overview.canRun, overview.canExport]) {
    if (ability.ok) continue;
    const key = `${ability.code} ${ability.hint ?? ""} ${ability.offer}`;
    const known = groups.get(key) ?? [];
    if (!known.some(({ sentence }) => sentence === ability.sentence)) groups.set(key, [...known, ability]);
  }
  // A card has said it with the same way out, or in its own words.
  const said = [...groups.values()].flat().map(({ sentence }) => sentence.replace(/\.$/u, "").toLowerCase());
  const isNew = (warning: string): boolean => !said.some((sentence) => warning.toLowerCase().includes(sentence));
  return (
    <>
      {[...groups].map(([key, abilities]) => (
        <AbilityCard key={key} abilities={abilities} above={overview.sentence} />
      ))}
      {overview.warnings.filter(isNew).map((warning) => (
        <p key={warning} className={styles["warning"]} role="note">
          {warning}
        </p>
      ))}
    </>
  );
}
