/** How the command line speaks: tables, numbers and progress for people, JSON for programs, and errors that say what to do next. */
import type { Figure, PhaseItem, ReferenceNotice } from "../../contract/views/common.ts";
import type { WireError } from "../../diagnostics/errors.ts";
import type { OutStream } from "./surroundings.ts";
import type { TableStyle } from "./table.ts";
import { formatTable } from "./table.ts";

export interface Output {
  readonly json: boolean;
  /** Results, on stdout. */
  line(text?: string): void;
  /** A piece of a result without a line end: streamed tokens. */
  write(text: string): void;
  /** Rows of a result, fitted to the terminal. */
  table(header: readonly string[], rows: readonly (readonly string[])[], style?: TableStyle): void;
  /** A note beside the result, on stderr. Silent with --json. */
  note(text: string): void;
  /** The one JSON value of a command. */
  value(value: unknown): void;
  /** One of many, each on a line of its own (JSON Lines). */
  item(value: unknown): void;
  /**
   * Progress on stderr: one rewritten line on a terminal, elsewhere a line per new `step`. Silent with
   * --json.
   */
  progress(text: string, step?: string): void;
  endProgress(): void;
}

/**
 * Texts of a file or a model may hold control characters and marks of writing direction. A terminal would obey them,
 * so it is shown pictures of the former (␛) and � for the latter. Through a pipe every byte goes as it is.
 */
export const harmless = (text: string): string =>
  text.replace(CONTROLS, (c) => {
    const code = c.charCodeAt(0);
    if (c === "\n" || c === "\t") return c;
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? "\u2421" : "\ufffd";
  });

/** Control characters, and marks that change the direction of text. */
const CONTROLS = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** As JSON. For a terminal, control characters are escaped, which means the same to a program. */
export function jsonText(value: unknown, stream: OutStream, indent = 2): string {
  const text = JSON.stringify(value, plainArrays, indent);
  if (stream.isTTY !== true) return text;
  return text.replace(CONTROLS, (c) => (c === "\n" ? c : `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`));
}

/** Columns of the terminal; 0 where it does not know. */
const columnsOf = (stream: OutStream): number =>
  stream.columns === undefined || stream.columns === 0 ? 80 : stream.columns;

export function createOutput(json: boolean, out: OutStream, err: OutStream): Output {
  const forOut = out.isTTY === true ? harmless : String;
  const forErr = err.isTTY === true ? harmless : String;
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
      if (!json) out.write(`${forOut(text)}\n`);
    },
    table(header, rows, style) {
      endProgress();
      if (json) return;
      const { text, isCut } = formatTable(header, rows, style, out.isTTY === true ? columnsOf(out) : Infinity);
      out.write(`${forOut(text)}\n`);
      if (isCut) out.write("(… fitted to this terminal; through a pipe, or with --json, it is whole)\n");
    },
    write(text) {
      if (!json) out.write(forOut(text));
    },
    note(text) {
      endProgress();
      if (!json) err.write(`${forErr(text)}\n`);
    },
    value(value) {
      endProgress();
      if (json) out.write(`${jsonText(value, out)}\n`);
    },
    item(value) {
      if (json) out.write(`${jsonText(value, out, 0)}\n`);
    },
    progress(text, step = text) {
      if (json) return;
      if (err.isTTY === true) {
        // A line that wraps cannot be rewritten.
        const shown = harmless(text).slice(0, columnsOf(err) - 1);
        err.write(`\r${shown.padEnd(progressWidth)}`);
        progressWidth = Math.max(progressWidth, shown.length);
      } else if (step !== last) err.write(`${text}\n`);
      last = step;
    },
    endProgress,
  };
}

/** The progress text with the elapsed time: a phase may take minutes. */
export const phaseText = ({ sentence, elapsedSeconds }: PhaseItem): string =>
  elapsedSeconds < 1 ? sentence : `${sentence}, ${Math.round(elapsedSeconds)} s`;

/** Typed arrays as JSON arrays, not as objects with numbered keys. */
function plainArrays(_key: string, value: unknown): unknown {
  return ArrayBuffer.isView(value) && !(value instanceof DataView)
    ? Array.from(value as unknown as ArrayLike<number>)
    : value;
}

/** Significant figures, thousands apart from five digits on. */
const plain = (value: number, digits = 3): string => {
  const text = String(Number(value.toPrecision(digits)));
  return Math.abs(value) < 1e4 || text.includes("e") ? text : text.replace(/\B(?=(\d{3})+$)/g, "\u202f");
};

/** The scales of a unit, the largest first. */
const SCALES = {
  bytes: { GB: 1e9, MB: 1e6, KB: 1e3, B: 1 },
  "bytes/s": { "GB/s": 1e9, "MB/s": 1e6, "B/s": 1 },
  seconds: { s: 1, ms: 1e-3, µs: 1e-6 },
  flops: { TFLOP: 1e12, GFLOP: 1e9, FLOP: 1 },
  "flops/s": { "TFLOP/s": 1e12, "GFLOP/s": 1e9, "FLOP/s": 1 },
  share: { "%": 0.01 },
  "tokens/s": { "tok/s": 1 },
  bits: { bits: 1 },
  ratio: { "×": 1 },
  joules: { J: 1, mJ: 1e-3 },
  watts: { W: 1, mW: 1e-3 },
} as const satisfies { readonly [unit in Exclude<Figure["unit"], "count">]: { readonly [name: string]: number } };

function scaled(value: number, unit: Figure["unit"]): string {
  if (unit === "count") return String(value);
  const steps = Object.entries(SCALES[unit]);
  const [name, factor] = steps.find(([, least]) => Math.abs(value) >= least) ?? steps.at(-1) ?? ["", 1];
  return `${plain(value / factor)} ${name}`;
}

/** 3 significant figures and a unit; `~` in front of what is not measured or exact. */
export function figureText(figure: Figure): string {
  const about = figure.truth === "exact" || figure.truth === "measured" ? "" : "~";
  const one = (value: number): string => scaled(value, figure.unit);
  if (figure.low === null || figure.high === null || figure.low === figure.high) return `${about}${one(figure.value)}`;
  const [low, high] = [one(figure.low), one(figure.high)];
  const unit = / \S+$/.exec(high)?.[0] ?? "";
  return `${about}${low.endsWith(unit) ? low.slice(0, low.length - unit.length) : low} – ${high}`;
}

export const bytesText = (bytes: number): string =>
  figureText({ value: bytes, low: null, high: null, unit: "bytes", truth: "exact", basis: "" });

/** An error as text for people. */
export function errorText(error: WireError): string {
  if (error.code === "CANCELLED") return "Stopped.";
  const lines = [`error ${error.code}: ${error.message}`];
  if (error.hint !== undefined) lines.push(`  → ${error.hint}`);
  return lines.join("\n");
}

/** The shell's exit code for ^C. A command returns it for any signal. */
export const INTERRUPTED = 130;

/** 0 success · 1 failure · 2 wrong usage · 130 stopped. */
export function exitCode(error: WireError): number {
  if (error.code === "CANCELLED") return INTERRUPTED;
  return isMisuse(error) ? 2 : 1;
}

/** True if the command line was wrong: refused by the command, or by the contract. */
export const isMisuse = (error: WireError): boolean =>
  error.code === "INPUT_ARGUMENT" || error.code === "CONTRACT_INPUT";

/** Printed for people only. Programs find it in the JSON value. */
export function noteReference(output: Pick<Output, "note">, reference: ReferenceNotice | null): void {
  if (reference !== null) output.note(`${reference.sentence} A token takes ${figureText(reference.secondsPerToken)}.`);
}
