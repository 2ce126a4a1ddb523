/** Text as HTML: everything that is put into a template is escaped, unless it was made by one. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Piece = Html | string | number | null | readonly Html[];

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** What HTML allows in no form: control characters, and halves of pairs. */
// oxlint-disable-next-line no-control-regex
const FORBIDDEN = /[\ud800-\udfff\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\ufffe\uffff]/gu;

const escaped = (text: string): string =>
  text.replaceAll(FORBIDDEN, "\ufffd").replaceAll(/[&<>"']/gu, (sign) => ESCAPES[sign] ?? "");

const textOf = (piece: Piece): string => {
  if (piece === null) return "";
  if (piece instanceof Html) return piece.text;
  if (typeof piece === "string" || typeof piece === "number") return escaped(String(piece));
  return piece.map(({ text }) => text).join("");
};

export const html = (parts: TemplateStringsArray, ...pieces: readonly Piece[]): Html =>
  new Html(parts.map((part, i) => part + textOf(pieces[i] ?? null)).join(""));

/** A table with its caption for those who hear it. Cells from `right` on hold numbers. */
export function table(
  caption: string,
  head: readonly string[],
  rows: readonly (readonly (string | Html)[])[],
  right: readonly number[] = [],
): Html {
  const side = (i: number): string => (right.includes(i) ? "number" : "word");
  return html`<div class="scroll" role="region" aria-label="${caption}" tabindex="0">
    <table>
      <caption>
        ${caption}
      </caption>
      <thead>
        <tr>
          ${head.map((text, i) => html`<th scope="col" class="${side(i)}">${text}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (cells) =>
            html`<tr>
              ${cells.map((cell, i) => html`<td class="${side(i)}">${cell}</td>`)}
            </tr> `,
        )}
      </tbody>
    </table>
  </div> `;
}

export const section = (title: string, body: readonly Html[]): Html =>
  html`<section>
    <h2>${title}</h2>
    ${body}
  </section> `;

export const paragraph = (text: string): Html => html`<p>${text}</p> `;
