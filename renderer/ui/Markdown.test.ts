// A model's text never crashes the window: it is laid out within bounds, or shown as plain text.
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { Markdown } from "./Markdown.tsx";
import { MOST_NESTED } from "./markdownTokens.ts";

const html = (text: string): string => renderToStaticMarkup(createElement(Markdown, { text }));
const depthOf = (markup: string): number => {
  let [depth, most] = [0, 0];
  for (const [tag] of markup.matchAll(/<\/?[a-z]+/g)) most = Math.max(most, (depth += tag.startsWith("</") ? -1 : 1));
  return most;
};

describe("an answer in Markdown", () => {
  it("is laid out", () => {
    expect(html("a **b** `c`\n\n> - d")).toMatch(
      /<p>a <strong>b<\/strong> <code>c<\/code><\/p><blockquote><ul><li>.*d.*<\/li><\/ul><\/blockquote>/,
    );
  });

  it.each([
    ["quotes", ">".repeat(4000)],
    ["spaced quotes", "> ".repeat(4000)],
    ["lists", "- ".repeat(4000)],
    ["numbered lists", "1. ".repeat(4000)],
    ["lists in quotes", "> - ".repeat(2000)],
    ["stars", `${"*".repeat(4000)}x${"*".repeat(4000)}`],
    ["emphasis", "*a **b ".repeat(2000)],
    ["quotes below the parser's limit", `> ${"> ".repeat(MOST_NESTED * 4)}`],
    ["emphasis below the limit", `${"*a **b ".repeat(100)}x${"** *".repeat(100)}`],
    ["links", `${"[".repeat(4000)}x${"](u)".repeat(4000)}`],
  ])("nested thousands deep in %s is shown, within bounds", (_, nested) => {
    const began = performance.now();
    const markup = html(`${nested} word`);
    expect(markup).toContain("word");
    expect(depthOf(markup)).toBeLessThan(MOST_NESTED * 3);
    expect(performance.now() - began).toBeLessThan(2000);
  });
});
