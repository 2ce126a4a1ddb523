import { describe, expect, it } from "vitest";
import { createSvgPen } from "./svgPen.ts";

const pen = () => createSvgPen((font, text) => (Number.parseFloat(font) * text.length) / 2);

describe("a pen that writes SVG", () => {
  it("writes paths with the canvas's own corners", () => {
    const to = pen();
    to.strokeStyle = "#123456";
    to.lineWidth = 2;
    to.setLineDash([4, 2]);
    to.beginPath();
    to.moveTo(0, 0);
    to.arcTo(10, 0, 10, 10, 4);
    to.lineTo(10, 10);
    to.stroke();
    expect(to.elements()).toBe(
      '<path d="M0 0L6 0Q10 0 10 4L10 10" fill="none" stroke="#123456" stroke-width="2" stroke-dasharray="4 2"/>',
    );
  });

  it("rounds the corners that it is told to, and no more than the box allows", () => {
    const to = pen();
    to.beginPath();
    to.roundRect(0, 0, 10, 8, [7, 0, 0, 7]);
    to.fill();
    expect(to.elements()).toBe('<path d="M4 0h6v8h-6a4 4 0 0 1 -4 -4v0a4 4 0 0 1 4 -4z" fill="#000"/>');
  });

  it("keeps text from being markup, and squeezes what is too wide as a canvas does", () => {
    const to = pen();
    to.font = "600 12px sans-serif".slice(4);
    to.fillText('<script>&"\u0001', 1, 2, 10);
    const text = to.elements();
    expect(text).toContain("&lt;script&gt;&amp;&quot;\ufffd</text>");
    expect(text).toContain('textLength="10"');
    expect(text).not.toContain("<script");
  });
});
