/** Tokens per second over threads, with intervals, and the knee where more threads no longer help. */
import type { ReactNode } from "react";
import { significant } from "../../ui/format.ts";
import { Note } from "../../ui/Card.tsx";
import { useSize } from "../../ui/useSize.ts";
import type { BenchResult } from "./slice.ts";
import type { SweepCurve } from "./sweep.ts";
import { SWEEP_MARGIN, sweepPlaces, sweepsOf } from "./sweep.ts";
import styles from "./Bench.module.css";

export function Sweeps({ result }: { readonly result: BenchResult }): ReactNode {
  const curves = sweepsOf(result);
  if (curves.length === 0) return null;
  return (
    <>
      <div className={styles["sweeps"]}>
        {curves.map((curve) => (
          <Sweep key={curve.name} curve={curve} />
        ))}
      </div>
      {curves.some(({ knee }) => knee === null) ? (
        <Note>A knee is named where six repeats or more, in quiet conditions, show that threads differ.</Note>
      ) : null}
    </>
  );
}

const HEIGHT = 140;

function Sweep({ curve: { name, points, knee } }: { readonly curve: SweepCurve }): ReactNode {
  const [room, { width }] = useSize<HTMLDivElement>();
  const { x, y, most } = sweepPlaces(points, { width, height: HEIGHT });
  const label = points.map(({ threads, rate }) => `${threads}: ${significant(rate)}`).join(", ");
  const base = HEIGHT - SWEEP_MARGIN.bottom;
  return (
    <section aria-label={`${name}, by threads`}>
      <h4>{name}: t/s by threads</h4>
      <div ref={room}>
        <svg
          width={width}
          height={HEIGHT}
          style={{ display: "block" }}
          role="img"
          aria-label={`Tokens per second by threads: ${label}`}
        >
          <path d={`M${SWEEP_MARGIN.left} ${base}H${width - SWEEP_MARGIN.right}`} stroke="var(--line-strong)" />
          {[most, most / 2].map((value) => (
            <g key={value}>
              <path d={`M${SWEEP_MARGIN.left} ${y(value)}H${width - SWEEP_MARGIN.right}`} stroke="var(--line)" />
              <text x={SWEEP_MARGIN.left - 6} y={y(value) + 4} textAnchor="end" fontSize="11" fill="var(--ink-2)">
                {significant(value, 2)}
              </text>
            </g>
          ))}
          {knee === null ? null : (
            <path
              d={`M${x(knee.threads)} ${SWEEP_MARGIN.top}V${base}`}
              stroke="var(--select)"
              strokeWidth="2"
              strokeDasharray="3 3"
            />
          )}
          <path
            d={points.map(({ threads, rate }, i) => `${i === 0 ? "M" : "L"}${x(threads)} ${y(rate)}`).join("")}
            fill="none"
            stroke="var(--ink)"
            strokeWidth="1.6"
          />
          {points.map(({ threads, rate, low, high }) => (
            <g key={threads}>
              <path d={`M${x(threads)} ${y(low)}V${y(high)}`} stroke="var(--ink-2)" />
              <circle cx={x(threads)} cy={y(rate)} r="3.5" fill="var(--ink)" />
              <text x={x(threads)} y={HEIGHT - 5} textAnchor="middle" fontSize="11" fill="var(--ink-2)">
                {threads}
              </text>
            </g>
          ))}
        </svg>
      </div>
      {knee === null ? null : <Note>{knee.sentence}</Note>}
    </section>
  );
}
