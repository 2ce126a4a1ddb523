/** The parts of a report about one model: identity, verdict, route, advice, measurements, and what its reader chose to add. */
import { NO_OPERATION_TITLE, opsWithoutOperation } from "../../contract/routeCounts.ts";
import { testName } from "../../contract/benchText.ts";
import type { AdviceList } from "../../contract/views/advice.ts";
import { intervalName } from "../../contract/views/bench.ts";
import type { BenchRecord } from "../../contract/views/bench.ts";
import type { Verdict, VerdictRow } from "../../contract/views/cost.ts";
import type { Overview } from "../../contract/views/model.ts";
import type { ReportedAnswer, ReportedProfile, ReportPage } from "../../contract/views/report.ts";
import type { RouteView } from "../../contract/views/route.ts";
import { secondsText } from "../measure/advice.ts";
import { bytesFigure, grouped } from "../measure/forecast.ts";
import { briefOf } from "../compare/compare.ts";
import { counted } from "../words.ts";
import type { Html } from "./html.ts";
import { html, paragraph, section, table } from "./html.ts";
import { ribbonKey, ribbonSvg } from "./ribbonSvg.ts";
import { DEVICE_TITLES, figureText, rangeText, shareText } from "./text.ts";

/** Rows of a list; what is left out is counted. */
const MOST_ROWS = 60;

const left = (all: number): Html => (all > MOST_ROWS ? paragraph(`And ${grouped(all - MOST_ROWS)} more.`) : html``);

export function identityRows(overview: Overview, isWhole: boolean): readonly (readonly [string, string])[] {
  const { file, architecture, parameters, bitsPerWeight } = overview;
  return [
    ...(file === null
      ? []
      : [
          ["file", isWhole ? (file.path ?? file.name) : file.name] as const,
          [
            "size",
            `${bytesFigure(file.bytes)}, ${grouped(file.bytes)} bytes${file.parts > 1 ? `, ${counted(file.parts, "part")}` : ""}`,
          ] as const,
          ["header hash", file.headerHash] as const,
          ["in it", `${counted(file.tensorCount, "tensor")}, ${counted(file.metadataCount, "key")}`] as const,
        ]),
    ["architecture", architecture],
    ["parameters", grouped(parameters)],
    ...(bitsPerWeight === null ? [] : [["bits per weight", bitsPerWeight.toFixed(2)] as const]),
  ];
}

export function modelSection(overview: Overview, isWhole: boolean): Html {
  const rows = [
    ...identityRows(overview, isWhole),
    ...overview.facts
      .filter(({ label }) => label !== "architecture")
      .map(({ label, value }) => [label, value] as const),
  ];
  const facts = html`<dl>
    ${rows.map(
      ([label, value]) =>
        html`<dt>${label}</dt>
          <dd>${value}</dd> `,
    )}
  </dl> `;
  const mix = table(
    "Types of its weights",
    ["type", "tensors", "parameters", "bytes", "share"],
    overview.mix.map(({ type, tensors, parameters, bytes, share }) => [
      ...[type, String(tensors), grouped(parameters), bytesFigure(bytes)],
      shareText(share),
    ]),
    [1, 2, 3, 4],
  );
  return section("Model", [
    paragraph(overview.sentence),
    facts,
    overview.mix.length === 0 ? html`` : mix,
    ...overview.warnings.map(paragraph),
  ]);
}

/** Of a graph without a model there are a run's time and its devices: it has no tokens, and no memory that is forecast. */
export const verdictHead = (isGraph: boolean): readonly string[] =>
  isGraph
    ? ["runs on", "a run", "Neural Engine", "hops"]
    : ["runs on", "decode", "first token", "memory", "fits", "Neural Engine", "hops"];

export function verdictCells(row: VerdictRow, isGraph: boolean): readonly string[] {
  const [, ...others] = verdictHead(isGraph);
  if (!row.ok) return [`${row.title}: ${row.sentence}`, ...others.map(() => "–")];
  const { title, speed, fit, aneShare, hops } = row;
  const devices = [aneShare === null ? "–" : shareText(aneShare), String(hops)];
  if (isGraph) return [title, figureText(speed.token), ...devices];
  return [
    title,
    speed.generate === null ? `${figureText(speed.token)} a step` : rangeText(speed.generate),
    speed.prompt === null ? "–" : `${figureText(speed.prompt)} for ${grouped(speed.promptTokens)} tokens`,
    figureText(fit?.total ?? null),
    fit === null ? "–" : fit.verdict === "fits" ? "yes" : fit.verdict === "tight" ? "just" : "no",
    ...devices,
  ];
}

export function verdictSection(verdict: Verdict, machine: string, isGraph: boolean): Html {
  const { own, rows } = verdict;
  const sums =
    own.ok && own.speed.rows.length > 0
      ? table(
          `What the time of a ${isGraph ? "run" : "token"} is made of, on the subject of this report`,
          ["part", "of", "time"],
          own.speed.rows.map(({ label, arithmetic, value }) => [label, arithmetic ?? "", figureText(value)]),
          [2],
        )
      : html``;
  return section("How fast", [
    table(
      `Predicted for ${machine}`,
      verdictHead(isGraph),
      (rows.length === 0 ? [own] : rows).map((row) => verdictCells(row, isGraph)),
      isGraph ? [1, 2, 3] : [1, 2, 3, 5, 6],
    ),
    sums,
    own.ok ? paragraph(own.speed.sentence) : html``,
  ]);
}

export function routeSection(route: RouteView): Html {
  const { segments, devices, sentence, targetTitle } = route;
  const none = opsWithoutOperation(route);
  const of = table(
    "Devices",
    ["device", "ops", "time", "share"],
    [
      ...devices.map(({ device, ops, seconds, workShare }) => [
        ...[DEVICE_TITLES[device], String(ops), figureText(seconds)],
        shareText(workShare),
      ]),
      ...(none === 0 ? [] : [[NO_OPERATION_TITLE, String(none), "–", "–"]]),
    ],
    [1, 2, 3],
  );
  const rows = table(
    "Segments, in the order they run",
    ["", "device", "ops", "time", "in", "out", "why it begins there"],
    segments
      .slice(0, MOST_ROWS)
      .map((segment) => [
        ...[String(segment.index + 1), DEVICE_TITLES[segment.device], String(segment.ops), figureText(segment.seconds)],
        ...[bytesFigure(segment.bytesIn), bytesFigure(segment.bytesOut), segment.why],
      ]),
    [0, 2, 3, 4, 5],
  );
  return section("What runs where", [
    paragraph(`${targetTitle} (${route.truth}). ${sentence}`),
    ribbonSvg(briefOf(route), "route", "Route"),
    ribbonKey(),
    of,
    segments.length > 1 ? rows : html``,
    left(segments.length),
  ]);
}

export function adviceSection({ advices, sentence }: AdviceList): Html {
  const rows = advices.map(({ title, claim, gain, before, after, applies, risk, verdict }) => [
    html`<strong>${title}</strong><br />${claim}`,
    `${figureText(before)} → ${figureText(after)}`,
    rangeText(gain),
    verdict === null ? `${applies} ${risk}` : `Measured on ${verdict.machine}: ${verdict.sentence}`,
  ]);
  return section("What would make it faster", [
    paragraph(sentence),
    rows.length === 0 ? html`` : table("Advice", ["advice", "a step", "gain", "how, and the risk"], rows, [1, 2]),
  ]);
}

export function benchSection(benches: readonly { readonly name: string; readonly record: BenchRecord }[]): Html {
  return section(
    "Measured",
    benches.map(({ name, record }) => {
      const { tests, subjects, machine, system, version, red, stopped, conditions } = record;
      const rows = tests.map((test) => {
        const { rate, samples, firstToken } = test;
        const subject = subjects[test.subject];
        return [
          ...[subject?.title ?? "", subject?.device ?? "", String(subject?.threads ?? ""), testName(test)],
          figureText(rate),
          rate.low === null || rate.high === null
            ? ""
            : `${rate.low.toPrecision(3)} to ${rate.high.toPrecision(3)} (${intervalName(samples.length)})`,
          figureText(firstToken),
          String(samples.length),
        ];
      });
      const states = conditions.after.readings.flatMap(({ title, value }) =>
        value === null ? [] : [`${title}: ${value}`],
      );
      return html`<h3>${name}</h3>
        ${table(
          `${machine}, ${system}, rlx ${version}`,
          ["model", "device", "threads", "test", "rate", "interval", "first token", "repeats"],
          rows,
          [2, 4, 5, 6, 7],
        )}${red.length === 0 ? html`` : paragraph(`Not comparable because of the conditions: ${red.join("; ")}.`)}${
          stopped === null ? html`` : paragraph(stopped)
        }${states.length === 0 ? html`` : html`<p class="quiet">Conditions at its end: ${states.join("; ")}.</p> `}`;
    }),
  );
}

/** Of single answers: they say how fast it was, and carry no interval. */
export const answersSection = (answers: readonly ReportedAnswer[]): Html =>
  section("Measured while answering", [
    table(
      "Each line is one answer: what was cached is not counted as read",
      ["answer", "model and device", "read", "reading", "first token", "written", "writing"],
      answers.map(({ name, what, promptTokens, promptRate, firstToken, generated, rate }) => [
        ...[name, what, grouped(promptTokens), figureText(promptRate), figureText(firstToken)],
        ...[grouped(generated), figureText(rate)],
      ]),
      [2, 3, 4, 5, 6],
    ),
  ]);

export const profileSection = ({ sentence, what, ops }: ReportedProfile): Html =>
  section("Profile", [
    paragraph(sentence),
    table(
      `Ops that took longest: ${what}`,
      ["op", "time", "share"],
      ops.map(({ name, seconds, share }) => [name, secondsText(seconds), shareText(share)]),
      [1, 2],
    ),
  ]);

export const conversationSection = (turns: readonly { readonly role: string; readonly text: string }[]): Html =>
  section(
    "Conversation",
    turns.map(
      ({ role, text }) =>
        html`<h3>${role}</h3>
          <pre>${text}</pre> `,
    ),
  );

export const notesSection = (notes: string): Html => section("Notes", [html`<pre>${notes}</pre> `]);

/** Letters of a name that every system takes. */
export const reportName = (parts: readonly string[], ending: "report" | "diff"): ReportPage["name"] => {
  const slug = parts
    .join("-")
    .toLowerCase()
    .replaceAll(/[^a-z0-9.]+/gu, "-")
    .replaceAll(/^[-.]+|[-.]+$/gu, "")
    .slice(0, 80);
  return `${slug === "" ? "model" : slug}-${ending}.html`;
};
