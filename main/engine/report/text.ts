/** Figures as a report writes them: `~` before what was not measured or counted, three digits, units spelled. */
import type { Device, Figure } from "../../contract/views/common.ts";
import { secondsText } from "../measure/advice.ts";
import { bytesFigure, grouped } from "../measure/forecast.ts";

const digits = (value: number): string =>
  Math.abs(value) >= 1000 ? grouped(value) : String(Number(value.toPrecision(3)));

function quantity({ unit }: Pick<Figure, "unit">, value: number): string {
  switch (unit) {
    case "bytes":
      return bytesFigure(value);
    case "bytes/s":
      return `${bytesFigure(value)}/s`;
    case "seconds":
      return secondsText(value);
    case "tokens/s":
      return `${digits(value)} t/s`;
    case "share":
      return shareText(value);
    case "count":
    case "flops":
    case "flops/s":
      return grouped(value);
    case "bits":
      return `${digits(value)} bits`;
    case "ratio":
      return `${digits(value)} ×`;
    case "joules":
      return `${digits(value)} J`;
    case "watts":
      return `${digits(value)} W`;
  }
}

export const figureText = (figure: Figure | null): string =>
  figure === null ? "–" : `${isExact(figure) ? "" : "~"}${quantity(figure, figure.value)}`;

const isExact = ({ truth }: Figure): boolean => truth === "exact" || truth === "measured";

/** With the range that it may lie in. */
export function rangeText(figure: Figure | null): string {
  if (figure === null || figure.low === null || figure.high === null) return figureText(figure);
  return `${figureText(figure)} (${quantity(figure, figure.low)} to ${quantity(figure, figure.high)})`;
}

export const shareText = (share: number): string =>
  share > 0 && share < 0.01 ? "< 1 %" : share > 0.99 && share < 1 ? "> 99 %" : `${Math.round(share * 100)} %`;

export const DEVICE_TITLES: Readonly<Record<Device, string>> = {
  none: "–",
  ane: "Neural Engine",
  gpu: "GPU",
  cpu: "CPU",
  host: "Host",
};

/** "1.2 ms → 0.9 ms" is a row; this is how far they are apart. */
export const deltaText = (a: number | null, b: number | null): string => {
  const delta = (b ?? 0) - (a ?? 0);
  return `${delta < 0 ? "−" : "+"}${secondsText(Math.abs(delta))}`;
};
