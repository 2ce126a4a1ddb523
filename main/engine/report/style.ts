/** The look of a report: light and dark as the reader's system has it, and on paper. Devices wear colour and pattern. */
export const STYLE = `
:root { color-scheme: light dark; --canvas: #fff; --panel: #f6f6f7; --line: #dfe1e6; --ink: #1b1d21; --ink-2: #555c68;
  --ane: #3876db; --gpu: #9a3b18; --cpu: #22383b; --host: #be74a3; --none: #9198a5; --added: #2f6fd0; --removed: #a2560f; }
@media (prefers-color-scheme: dark) {
  :root { --canvas: #16181d; --panel: #1b1e24; --line: #2b3039; --ink: #e8eaee; --ink-2: #a9b0bc;
    --ane: #55b7fe; --gpu: #da511f; --cpu: #dee4ed; --host: #b76a95; --none: #656e7d; --added: #6ea8ff; --removed: #e08a3c; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--canvas); color: var(--ink);
  font: 14px/1.5 system-ui, -apple-system, "SF Pro Text", "Noto Sans", sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 32px 24px 48px; }
h1 { font-size: 24px; line-height: 1.25; margin: 0 0 4px; }
h1 small { font-weight: 400; color: var(--ink-2); }
h2 { font-size: 16px; margin: 32px 0 8px; padding-top: 16px; border-top: 1px solid var(--line); }
h3 { font-size: 14px; margin: 16px 0 4px; }
p { margin: 4px 0 8px; max-width: 80ch; }
.verdict { font-size: 18px; line-height: 1.4; margin: 16px 0; max-width: 70ch; }
.quiet, caption { color: var(--ink-2); }
ol.words { padding-left: 20px; margin: 16px 0; }
ol.words li { margin: 4px 0; max-width: 80ch; }
ol.words li:first-child { font-size: 18px; line-height: 1.4; }
dl { display: grid; grid-template-columns: minmax(120px, max-content) 1fr; gap: 2px 16px; margin: 8px 0; }
dt { color: var(--ink-2); }
dd { margin: 0; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; margin: 8px 0; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: 0 0 4px; }
th { font-weight: 600; color: var(--ink-2); }
th, td { padding: 4px 12px 4px 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
th.number, td.number { text-align: right; white-space: nowrap; }
td.word { overflow-wrap: anywhere; }
tr.own td { font-weight: 600; }
.mono, pre { font-family: ui-monospace, "SF Mono", "DejaVu Sans Mono", monospace; font-size: 12px; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: var(--panel); padding: 8px 12px; border-radius: 6px; margin: 4px 0 12px; }
figure { margin: 8px 0 16px; }
figcaption { color: var(--ink-2); margin-bottom: 4px; }
svg { display: block; width: 100%; height: 24px; border-radius: 4px; background: var(--panel); }
svg .ane { color: var(--ane); fill: var(--ane); }
svg .gpu { color: var(--gpu); }
svg .cpu { color: var(--cpu); }
svg .host { color: var(--host); fill: none; stroke: var(--host); }
svg .none { fill: var(--none); }
.key { display: flex; flex-wrap: wrap; gap: 4px 16px; padding: 0; margin: 4px 0 8px; list-style: none; color: var(--ink-2); }
.added { color: var(--added); }
.removed { color: var(--removed); }
footer { margin-top: 40px; padding-top: 12px; border-top: 1px solid var(--line); color: var(--ink-2); font-size: 12px; }
@media print {
  :root { --canvas: #fff; --panel: #f6f6f7; --line: #c5c9d1; --ink: #000; --ink-2: #444; --ane: #3876db; --gpu: #9a3b18;
    --cpu: #22383b; --host: #be74a3; --none: #9198a5; --added: #2f6fd0; --removed: #a2560f; }
  body { font-size: 11px; } main { max-width: none; padding: 0; }
  .scroll { overflow: visible; } section, tr, figure { break-inside: avoid-page; } h2 { break-after: avoid-page; }
  svg { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
`;
