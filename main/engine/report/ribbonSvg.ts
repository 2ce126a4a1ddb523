/** The ribbon of a route as an SVG without scripts: the program in the order it runs, width by predicted time. */
import type { RouteBrief } from "../../contract/views/compare.ts";
import type { Device } from "../../contract/views/common.ts";
import { deviceOf } from "../../contract/views/common.ts";
import { secondsText } from "../measure/advice.ts";
import { counted } from "../words.ts";
import { Html, html } from "./html.ts";
import { DEVICE_TITLES, shareText } from "./text.ts";

const WIDTH = 1000;
const HEIGHT = 24;
/** A stretch narrower than this joins the one before it, unless it is a segment of its own. */
const LEAST = 1.5;
/** Rectangles of a ribbon: more cannot be told apart. */
const MOST = 600;

interface Stretch {
  readonly device: Device;
  readonly segment: number;
  seconds: number;
}

/** Segment by segment, neighbours on one device together. */
function stretchesOf({ runs }: Pick<RouteBrief, "runs">): readonly Stretch[] {
  const order = Array.from(runs.device, (_, i) => i).sort(
    (x, y) => (runs.segment[x] ?? 0) - (runs.segment[y] ?? 0) || x - y,
  );
  const stretches: Stretch[] = [];
  for (const run of order) {
    const [device, segment] = [deviceOf(runs.device[run] ?? 0), runs.segment[run] ?? 0];
    const seconds = runs.seconds[run] ?? 0;
    const last = stretches.at(-1);
    if (last?.device === device && last.segment === segment) last.seconds += seconds;
    else stretches.push({ device, segment, seconds });
  }
  return stretches;
}

/** `id` names its patterns, which must be told apart within a page; `share`: how long it is beside another ribbon. */
export function ribbonSvg(route: RouteBrief, id: string, title: string, share = 1): Html {
  const stretches = stretchesOf(route).slice(0, MOST);
  const total = stretches.reduce((sum, { seconds }) => sum + seconds, 0);
  const width = WIDTH * share;
  let x = 0;
  const rects = stretches.map((stretch) => {
    const wide = Math.max(LEAST, total > 0 ? (width * stretch.seconds) / total : width / stretches.length);
    const at = x;
    x += wide;
    return { ...stretch, x: at, wide };
  });
  // What the narrow ones took too much is taken back from all alike.
  const scale = x > 0 ? width / x : 1;
  const words = `${title}: ${DEVICE_LIST.flatMap((device) => {
    const row = route.devices.find((each) => each.device === device);
    return row === undefined ? [] : [`${DEVICE_TITLES[device]} ${shareText(row.share)}`];
  }).join(
    ", ",
  )}; ${counted(route.segments.length, "segment")}, ${counted(route.hops, "hop")}, ~${secondsText(route.step)}.`;
  return html`<figure>
    <figcaption>${words}</figcaption>
    <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${words}">
      ${patterns(id)}${rects.map(({ device, x: at, wide }) => rect(id, device, at * scale, wide * scale))}
    </svg>
  </figure> `;
}

/** Those that wear a pattern beside their colour. */
const PATTERNED: Readonly<Record<Device, boolean>> = { none: false, ane: false, gpu: true, cpu: true, host: false };
const DEVICE_LIST = ["ane", "gpu", "cpu", "host"] as const;
const number = (value: number): string => String(Number(value.toFixed(2)));

function rect(id: string, device: Device, x: number, width: number): Html {
  const place = html`x="${number(x)}" y="1" width="${number(Math.max(0.5, width - 0.5))}" height="${HEIGHT - 2}"`;
  const fill = PATTERNED[device] ? html` fill="url(#${id}-${device})"` : html``;
  return html`<rect class="${device}" ${place}${fill} /> `;
}

const patterns = (id: string): Html =>
  new Html(
    [
      "<defs>",
      `<pattern id="${id}-gpu" class="gpu" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="6" height="6" fill="currentColor" fill-opacity="0.35"/><rect width="3" height="6" fill="currentColor"/></pattern>`,
      `<pattern id="${id}-cpu" class="cpu" width="5" height="5" patternUnits="userSpaceOnUse"><rect width="5" height="5" fill="currentColor" fill-opacity="0.35"/><circle cx="2.5" cy="2.5" r="1.4" fill="currentColor"/></pattern>`,
      "</defs>\n",
    ].join(""),
  );

export const ribbonKey = (): Html =>
  html`<ul class="key">
    <li>Neural Engine: solid</li>
    <li>GPU: hatched</li>
    <li>CPU: dotted</li>
    <li>Host code: outlined</li>
  </ul> `;
