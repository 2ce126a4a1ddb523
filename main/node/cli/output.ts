/** How the command line speaks: tables, numbers and progress for people, JSON for programs, and errors that say what to do next. */
import type { Figure } from "../../contract/views/common.ts";
import type { WireError } from "../../diagnostics/errors.ts";

export interface Output {
  readonly json: boolean;
  /** Results, on stdout. */
  line(text?: string): void;
  /** A piece of a result without a line end: streamed tokens. */
  write(text: string): void;
  /** The one JSON value of a command. */
  value(value: unknown): void;
  /** What is going on, on stderr: one line that is rewritten on a terminal, plain lines elsewhere, nothing with --json. */
  progress(text: string): void;
  endProgress(): void;
}

export function createOutput(
  json: boolean,
  out: NodeJS.WritableStream & { isTTY?: boolean } = process.stdout,
  err: NodeJS.WritableStream & { isTTY?: boolean } = process.stderr,
): Output {
  let progressWidth = 0;
  let last = "";
  const endProgress = (): void => {
    if (progressWidth > 0) err.write("\r" + " ".repeat(progressWidth) + "\r");
    progressWidth = 0;
    last = "";
  };
  return {
    json,
    line(text = "") {
      endProgress();
      if (!json) out.write(`${text}\n`);
    },
    write(text) {
      if (!json) out.write(text);
    },
    value(value) {
      endProgress();
      if (json) out.write(`${JSON.stringify(value, plainArrays, 2)}\n`);
    },
    progress(text) {
      if (json || text === last) return;
      last = text;
      if (err.isTTY === true) {
        err.write(`\r${text.padEnd(progressWidth)}`);
        progressWidth = Math.max(progressWidth, text.length);
      } else err.write(`${text}\n`);
    },
    endProgress,
  };
}

/** Typed arrays as JSON arrays, not as objects with numbered keys. */
function plainArrays(_key: string, value: unknown): unknown {
  return ArrayBuffer.isView(value) && !(value instanceof DataView)
    ? Array.from(value as unknown as ArrayLike<number>)
    : value;
}

/** Columns: text to the left, numbers to the right. */
export function table(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  right: ReadonlySet<number> = new Set(),
): string {
  const widths = header.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]?.length ?? 0)));
  const render = (row: readonly string[]): string =>
    widths
      .map((width, i) => (right.has(i) ? (row[i] ?? "").padStart(width) : (row[i] ?? "").padEnd(width)))
      .join("  ")
      .trimEnd();
  return [render(header), widths.map((width) => "─".repeat(width)).join("  "), ...rows.map(render)].join("\n");
}

const scaled = (value: number, steps: readonly (readonly [number, string])[], digits = 3): string => {
  const [factor, unit] = steps.find(([limit]) => Math.abs(value) >= limit) ?? steps.at(-1) ?? [1, ""];
  return `${Number((value / factor).toPrecision(digits))} ${unit}`.trimEnd();
};

/** 3 significant figures and a unit; `~` in front of what is not measured or exact. */
export function figureText(figure: Figure): string {
  const about = figure.truth === "exact" || figure.truth === "measured" ? "" : "~";
  const one = (value: number): string => {
    switch (figure.unit) {
      case "bytes":
        return scaled(value, [
          [1e9, "GB"],
          [1e6, "MB"],
          [1e3, "kB"],
          [1, "B"],
        ]);
      case "bytes/s":
        return scaled(value, [
          [1e9, "GB/s"],
          [1e6, "MB/s"],
          [1, "B/s"],
        ]);
      case "seconds":
        return scaled(value, [
          [1, "s"],
          [1e-3, "ms"],
          [1e-6, "µs"],
        ]);
      case "flops":
        return scaled(value, [
          [1e12, "TFLOP"],
          [1e9, "GFLOP"],
          [1, "FLOP"],
        ]);
      case "flops/s":
        return scaled(value, [
          [1e12, "TFLOP/s"],
          [1e9, "GFLOP/s"],
          [1, "FLOP/s"],
        ]);
      case "share":
        return `${Number((value * 100).toPrecision(3))} %`;
      case "tokens/s":
        return `${Number(value.toPrecision(3))} tok/s`;
      case "bits":
        return `${Number(value.toPrecision(3))} bits`;
      case "ratio":
        return `${Number(value.toPrecision(3))} ×`;
      case "count":
        return String(value);
    }
  };
  return figure.low !== null && figure.high !== null && figure.low !== figure.high
    ? `${about}${one(figure.low)} – ${one(figure.high)}`
    : `${about}${one(figure.value)}`;
}

/** What a person reads when something went wrong. */
export function errorText(error: WireError): string {
  const lines = [`error ${error.code}: ${error.message}`];
  if (error.hint !== undefined) lines.push(`  → ${error.hint}`);
  return lines.join("\n");
}

/** 0 done · 1 it did not work · 2 the command was wrong · 130 stopped by the user. */
export function exitCode(error: WireError): number {
  if (error.code === "CANCELLED") return 130;
  return error.code === "INPUT_ARGUMENT" ? 2 : 1;
}
