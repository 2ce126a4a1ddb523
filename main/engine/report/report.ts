/**
 * A report as one page of HTML that needs nothing else: no script, no request, styles of its own, light and dark. The head is
 * also there as Markdown for a bug tracker. Paths of this machine become names unless they are asked for.
 */
import type { AdviceList } from "../../contract/views/advice.ts";
import type { Comparison } from "../../contract/views/compare.ts";
import type { Verdict } from "../../contract/views/cost.ts";
import type { EngineInfo } from "../../contract/views/engine.ts";
import type { View } from "../../contract/define.ts";
import type { Overview } from "../../contract/views/model.ts";
import { isGraphAlone } from "../../contract/views/model.ts";
import type { reportInput, ReportPage } from "../../contract/views/report.ts";
import type { RouteView } from "../../contract/views/route.ts";
import { fileName } from "../../contract/views/session.ts";
import { bytesFigure } from "../measure/forecast.ts";
import { diffSections, wordsList } from "./diffSections.ts";
import { Html, html } from "./html.ts";
import {
  adviceSection,
  benchSection,
  answersSection,
  conversationSection,
  identityRows,
  modelSection,
  notesSection,
  profileSection,
  reportName,
  routeSection,
  verdictCells,
  verdictHead,
  verdictSection,
} from "./sections.ts";
import { STYLE } from "./style.ts";

export interface ReportFacts {
  readonly overview: Overview;
  readonly info: EngineInfo;
  readonly subjectTitle: string;
  /** Null where nothing can be predicted. */
  readonly verdict: Verdict | null;
  readonly route: RouteView | null;
  readonly advice: AdviceList | null;
  readonly comparison: Comparison | null;
  /** Why there is no route. */
  readonly refusal: string | null;
  readonly asked: View<typeof reportInput>;
  /** Milliseconds since 1970. */
  readonly at: number;
}

const nameOf = ({ title, variant }: Pick<Overview, "title" | "variant">): string =>
  [title, variant].filter((part) => part !== "").join(" ");

export function reportPage(facts: ReportFacts): ReportPage {
  const { comparison, overview, asked } = facts;
  const page = comparison === null ? modelPage(facts) : diffPage(facts, comparison);
  const clean = (text: string): string => (asked.paths ? text : withoutPath(text, overview.file?.path ?? null));
  return { name: page.name, html: clean(page.html.text), markdown: clean(page.markdown) };
}

/** A message may name the whole path of the file. */
const withoutPath = (text: string, path: string | null): string =>
  path === null || path.length < 2 ? text : text.replaceAll(path, fileName(path));

/** A graph without a model has no phases. */
const phaseText = ({ overview, asked }: ReportFacts): string => (isGraphAlone(overview.kind) ? "" : `, ${asked.phase}`);

interface Made {
  readonly name: string;
  readonly html: Html;
  readonly markdown: string;
}

function modelPage(facts: ReportFacts): Made {
  const { overview, verdict, route, advice, refusal, asked, subjectTitle } = facts;
  const title = nameOf(overview);
  const head = html`<h1>${title} <small>${subjectTitle}${phaseText(facts)}</small></h1>
    <p class="verdict">${verdict?.sentence ?? refusal ?? overview.sentence}</p> `;
  const parts = [
    verdict === null ? null : verdictSection(verdict, route?.machine ?? subjectTitle, isGraphAlone(overview.kind)),
    route === null ? null : routeSection(route),
    advice === null ? null : adviceSection(advice),
    asked.benches.length === 0 ? null : benchSection(asked.benches),
    asked.answers.length === 0 ? null : answersSection(asked.answers),
    asked.profile === null ? null : profileSection(asked.profile),
    modelSection(overview, asked.paths),
    asked.conversation.length === 0 ? null : conversationSection(asked.conversation),
    asked.notes.trim() === "" ? null : notesSection(asked.notes),
  ].filter((part) => part !== null);
  return {
    name: reportName([overview.title, overview.variant], "report"),
    html: documentOf(title, html`${head}${parts}${footer(facts)}`),
    markdown: markdownOf(facts, title),
  };
}

function diffPage(facts: ReportFacts, comparison: Comparison): Made {
  const { a, b } = comparison;
  const [one, two] = [nameOf(a), nameOf(b)];
  const isOne = one === two && a.subjectTitle !== b.subjectTitle;
  const [left, right] = isOne ? [`${one}, ${a.subjectTitle}`, b.subjectTitle] : [one, two];
  const title = `${left} and ${right}`;
  const head = html`<h1>${left} <small>and</small> ${right}</h1>
    ${wordsList(comparison)}`;
  return {
    name: reportName([a.title, a.variant, ...(isOne ? [] : [b.title, b.variant])], "diff"),
    html: documentOf(title, html`${head}${diffSections(comparison)}${footer(facts)}`),
    markdown: [
      `**${plain(title)}**`,
      "",
      ...comparison.sentences.map((sentence) => `- ${plain(sentence)}`),
      "",
      versions(facts),
    ].join("\n"),
  };
}

/** Forbids all that a page could do: it has its styles in itself, and nothing else. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

const documentOf = (title: string, body: Html): Html =>
  html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta http-equiv="Content-Security-Policy" content="${POLICY}" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="referrer" content="no-referrer" />
        <title>${title}</title>
        <style>
          ${new Html(STYLE)}
        </style>
      </head>
      <body>
        <main>${body}</main>
      </body>
    </html> `;

const footer = (facts: ReportFacts): Html =>
  html`<footer>
    <p>${versions(facts)}</p>
    <p>
      Made ${new Date(facts.at).toISOString().slice(0, 16).replace("T", " ")} UTC. ~ marks what was predicted; no model
      file is part of this page.
    </p>
  </footer> `;

const versions = ({ info: { version, osTitle, chip, cpu, memory } }: ReportFacts): string =>
  `rlx ${version}; ${chip}, ${osTitle}, ${bytesFigure(memory.totalBytes)}, ${cpu.cores} cores, ${cpu.kernels}.`;

/** A bar or a line break would break a table. */
const plain = (text: string): string => text.replaceAll("|", "/").replaceAll(/[\r\n]+/gu, " ");
const row = (cells: readonly string[]): string => `| ${cells.map(plain).join(" | ")} |`;

function markdownOf(facts: ReportFacts, title: string): string {
  const { overview, verdict, refusal, subjectTitle, asked } = facts;
  const rows = verdict === null ? [] : verdict.rows.length === 0 ? [verdict.own] : verdict.rows;
  const isGraph = isGraphAlone(overview.kind);
  const head = verdictHead(isGraph);
  return [
    `**${plain(title)}** on ${subjectTitle}${phaseText(facts)}`,
    "",
    plain(verdict?.sentence ?? refusal ?? overview.sentence),
    ...(rows.length === 0
      ? []
      : ["", row(head), row(head.map(() => "---")), ...rows.map((each) => row(verdictCells(each, isGraph)))]),
    "",
    ...identityRows(overview, asked.paths).map(([label, value]) => `- ${label}: ${plain(value)}`),
    `- ${plain(versions(facts))}`,
  ].join("\n");
}
