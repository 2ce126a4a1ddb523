/**
 * A pen with the canvas's own words that writes SVG, so that one drawing makes the screen, the PNG and the SVG. It knows what the
 * graph's drawing uses and nothing more.
 */
import type { DrawContext } from "./drawInput.ts";

/** Three decimals are finer than any screen. */
const number = (value: number): string => String(Math.round(value * 1000) / 1000);

export const escapeXml = (text: string): string =>
  text
    .replace(/[&<>"]/g, (sign) => (sign === "&" ? "&amp;" : sign === "<" ? "&lt;" : sign === ">" ? "&gt;" : "&quot;"))
    // What XML cannot hold, a name in an untrusted file may have.
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd");

/** Patterns are named here ("url(#gpu)"): those of a canvas cannot be written. */
const colorOf = (paint: DrawContext["fillStyle"]): string => (typeof paint === "string" ? paint : "none");

export interface SvgPen extends DrawContext {
  /** The elements that were drawn so far. */
  elements(): string;
}

/** `measure`: the width of a text in a CSS font, which only a real canvas knows. */
export function createSvgPen(measure: (font: string, text: string) => number): SvgPen {
  const parts: string[] = [];
  let path = "";
  let [px, py] = [0, 0];
  let dash: readonly number[] = [];
  const to = (x: number, y: number): string => {
    [px, py] = [x, y];
    return `${number(x)} ${number(y)}`;
  };
  const alpha = (): string => (pen.globalAlpha === 1 ? "" : ` opacity="${number(pen.globalAlpha)}"`);
  const fillOf = (): string => ` fill="${escapeXml(colorOf(pen.fillStyle))}"${alpha()}`;
  const strokeOf = (): string =>
    ` fill="none" stroke="${escapeXml(colorOf(pen.strokeStyle))}" stroke-width="${number(pen.lineWidth)}"` +
    (pen.lineCap === "round" ? ' stroke-linecap="round"' : "") +
    (dash.length === 0 ? "" : ` stroke-dasharray="${dash.map(number).join(" ")}"`) +
    alpha();
  const rect = (x: number, y: number, w: number, h: number, look: string): void => {
    parts.push(`<rect x="${number(x)}" y="${number(y)}" width="${number(w)}" height="${number(h)}"${look}/>`);
  };
  const pen: SvgPen = {
    fillStyle: "#000",
    strokeStyle: "#000",
    lineWidth: 1,
    globalAlpha: 1,
    font: "12px sans-serif",
    textAlign: "start",
    textBaseline: "alphabetic",
    lineCap: "butt",
    beginPath() {
      path = "";
    },
    moveTo(x, y) {
      path += `M${to(x, y)}`;
    },
    lineTo(x, y) {
      path += `L${to(x, y)}`;
    },
    bezierCurveTo(ax, ay, bx, by, x, y) {
      path += `C${number(ax)} ${number(ay)} ${number(bx)} ${number(by)} ${to(x, y)}`;
    },
    arcTo(cx, cy, x, y, radius) {
      const [inX, inY, outX, outY] = [px - cx, py - cy, x - cx, y - cy];
      const [a, b] = [Math.hypot(inX, inY), Math.hypot(outX, outY)];
      const r = Math.min(radius, a, b);
      if (r === 0) {
        path += `L${to(cx, cy)}`;
        return;
      }
      path += `L${to(cx + (inX / a) * r, cy + (inY / a) * r)}`;
      path += `Q${number(cx)} ${number(cy)} ${to(cx + (outX / b) * r, cy + (outY / b) * r)}`;
    },
    rect(x, y, w, h) {
      path += `M${to(x, y)}h${number(w)}v${number(h)}h${number(-w)}z`;
    },
    roundRect(x, y, w, h, radii = 0) {
      const corners = typeof radii === "number" ? [radii, radii, radii, radii] : radii;
      const [a, b, c, d] = [0, 1, 2, 3].map((i) => Math.min(corners[i] ?? 0, w / 2, h / 2)) as [
        number,
        number,
        number,
        number,
      ];
      const arc = (r: number, dx: number, dy: number): string =>
        r === 0 ? "" : `a${number(r)} ${number(r)} 0 0 1 ${number(dx)} ${number(dy)}`;
      path +=
        `M${to(x + a, y)}h${number(w - a - b)}${arc(b, b, b)}v${number(h - b - c)}${arc(c, -c, c)}` +
        `h${number(-(w - c - d))}${arc(d, -d, -d)}v${number(-(h - d - a))}${arc(a, a, -a)}z`;
    },
    fill() {
      parts.push(`<path d="${path}"${fillOf()}/>`);
    },
    stroke() {
      parts.push(`<path d="${path}"${strokeOf()}/>`);
    },
    fillRect(x, y, w, h) {
      rect(x, y, w, h, fillOf());
    },
    strokeRect(x, y, w, h) {
      rect(x, y, w, h, strokeOf());
    },
    setLineDash(segments) {
      dash = segments;
    },
    measureText: (text) => ({ width: measure(pen.font, text) }),
    fillText(text, x, y, maxWidth) {
      const width = measure(pen.font, text);
      const squeezed =
        maxWidth !== undefined && width > maxWidth
          ? ` textLength="${number(maxWidth)}" lengthAdjust="spacingAndGlyphs"`
          : "";
      const anchor =
        pen.textAlign === "center" ? ' text-anchor="middle"' : pen.textAlign === "right" ? ' text-anchor="end"' : "";
      const base =
        pen.textBaseline === "middle"
          ? ' dominant-baseline="central"'
          : pen.textBaseline === "top"
            ? ' dominant-baseline="hanging"'
            : "";
      parts.push(
        `<text x="${number(x)}" y="${number(y)}" style="font:${escapeXml(pen.font)}"${anchor}${base}${squeezed}${fillOf()}>${escapeXml(text)}</text>`,
      );
    },
    glyph(d, x, y, size) {
      const scale = number(size / 10);
      parts.push(
        `<path d="${d}" fill-rule="evenodd" transform="translate(${number(x)} ${number(y)}) scale(${scale})"${fillOf()}/>`,
      );
    },
    elements: () => parts.join("\n"),
  };
  return pen;
}
