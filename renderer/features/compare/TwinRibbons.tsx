/** The routes of both sides one below the other, each as long as its step takes. */
import type { ReactNode } from "react";
import { useMemo } from "react";
import type { Comparison, RouteBrief } from "../../../main/contract/views/compare.ts";
import { deviceOf } from "../../../main/contract/views/common.ts";
import { ribbonNotches, ribbonParts, waitsOf } from "../../graph/ribbonGeometry.ts";
import { deviceLook } from "../../ui/devices.ts";
import { approximate, plural, seconds, share } from "../../ui/format.ts";
import { deviceFill, WaitSwatch, waitFill } from "../../ui/patterns.tsx";
import { useSize } from "../../ui/useSize.ts";
import styles from "./Compare.module.css";

const HEIGHT = 20;

export function TwinRibbons({
  routing: { a, b },
}: {
  readonly routing: NonNullable<Comparison["routing"]>;
}): ReactNode {
  const longest = Math.max(a.step, b.step);
  return (
    <div className={styles["ribbons"]}>
      <Band letter="A" route={a} long={longest === 0 ? 1 : a.step / longest} />
      <Band letter="B" route={b} long={longest === 0 ? 1 : b.step / longest} />
      <p className={styles["key"]}>
        <span>
          <WaitSwatch kind="hop" />
          hops
        </span>
        <span>
          <WaitSwatch kind="caches" />
          copying caches
        </span>
      </p>
    </div>
  );
}

function Band({
  letter,
  route,
  long,
}: {
  readonly letter: string;
  readonly route: RouteBrief;
  readonly long: number;
}): ReactNode {
  const [ref, { width }] = useSize<HTMLDivElement>();
  const { rects, gaps } = useMemo(
    () => ribbonParts(route.runs, width * long, "work", waitsOf(route.handing, route.cacheSeconds, route.step)),
    [route, width, long],
  );
  const handing = route.handing.reduce((sum, hop) => sum + hop.seconds, 0);
  const words = [
    approximate(seconds(route.step)),
    ...route.devices.map((row) => `${deviceLook(row.device).short} ${share(row.share)}`),
    plural(route.segments.length, "segment"),
    `${plural(route.hops, "hop")}${handing > 0 ? ` ${share(handing / route.step)}` : ""}`,
    ...(route.cacheSeconds > 0 ? [`copying caches ${share(route.cacheSeconds / route.step)}`] : []),
  ].join(" · ");
  return (
    <div className={styles["band"]}>
      <strong>{letter}</strong>
      <div ref={ref} className={styles["track"]}>
        <svg width={width} height={HEIGHT + 6} role="img" aria-label={`Route of ${letter}: ${words}`}>
          {rects.map((rect) => {
            const device = deviceOf(rect.device);
            const host = device === "host";
            return (
              <rect
                key={`${rect.segment} ${rect.firstNode}`}
                x={rect.x + 0.5}
                y={host ? 3 : 0.5}
                width={Math.max(1.2, rect.width - 1)}
                height={host ? HEIGHT - 6 : HEIGHT - 1}
                rx={1.5}
                fill={deviceFill(device)}
                {...(host ? { stroke: "var(--host)", strokeDasharray: "2 2" } : {})}
              />
            );
          })}
          {gaps.map(({ kind, x, width: wide }) => (
            <rect
              key={`wait ${x}`}
              x={x + 0.5}
              y={0.5}
              width={Math.max(1.2, wide - 1)}
              height={HEIGHT - 1}
              rx={1.5}
              fill={waitFill(kind)}
            />
          ))}
          {ribbonNotches(rects).map((x) => (
            <path key={x} d={`M${x - 3} ${HEIGHT + 1}h6l-3 4z`} fill="var(--ink-2)" />
          ))}
        </svg>
      </div>
      <span className={styles["summary"]}>{words}</span>
    </div>
  );
}
