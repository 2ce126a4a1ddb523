/** Markdown as elements, never as HTML: what a model writes is text, not markup. Links are shown, not followed. */
import type { Token, Tokens } from "marked";
import type { ReactNode } from "react";
import { memo, useMemo } from "react";
import { markdownTokens, MOST_NESTED } from "./markdownTokens.ts";
import styles from "./Markdown.module.css";

export const Markdown = memo(function Markdown({ text }: { readonly text: string }): ReactNode {
  const blocks = useMemo(() => markdownTokens(text), [text]);
  return (
    <div className={styles["markdown"]}>
      {blocks === null ? <p className={styles["plain"]}>{text}</p> : blockList(blocks, 0)}
    </div>
  );
});

const blockList = (tokens: readonly Token[], depth: number): ReactNode =>
  tokens.map((token, i) => block(token, i, depth + 1));

function block(token: Token, key: number, depth: number): ReactNode {
  if (depth > MOST_NESTED) return <p key={key}>{token.raw}</p>;
  const inline = (tokens: readonly Token[]): ReactNode => inlineList(tokens, depth);
  const typed = token as Tokens.Generic;
  switch (token.type) {
    case "space":
      return null;
    case "heading":
      return <strong key={key}>{inline((token as Tokens.Heading).tokens)}</strong>;
    case "paragraph":
      return <p key={key}>{inline((token as Tokens.Paragraph).tokens)}</p>;
    case "text":
      return <span key={key}>{typed.tokens === undefined ? (token as Tokens.Text).text : inline(typed.tokens)}</span>;
    case "code":
      return (
        <pre key={key} tabIndex={0}>
          {(token as Tokens.Code).text}
        </pre>
      );
    case "blockquote":
      return <blockquote key={key}>{blockList((token as Tokens.Blockquote).tokens, depth)}</blockquote>;
    case "hr":
      return <hr key={key} />;
    case "list": {
      const { items, ordered, start } = token as Tokens.List;
      const rows = items.map((item, i) => <li key={i}>{blockList(item.tokens, depth)}</li>);
      return ordered ? (
        <ol key={key} start={start === "" ? 1 : start}>
          {rows}
        </ol>
      ) : (
        <ul key={key}>{rows}</ul>
      );
    }
    case "table": {
      const { header, rows } = token as Tokens.Table;
      return (
        <table key={key}>
          <thead>
            <tr>
              {header.map((cell, i) => (
                <th key={i}>{inline(cell.tokens)}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, r) => (
              <tr key={r}>
                {row.map((cell, i) => (
                  <td key={i}>{inline(cell.tokens)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      );
    }
    default:
      return <p key={key}>{token.raw}</p>;
  }
}

function inlineList(tokens: readonly Token[], depth: number): ReactNode {
  const inline = (inner: readonly Token[]): ReactNode => inlineList(inner, depth + 1);
  return tokens.map((token, i) => {
    if (depth > MOST_NESTED) return token.raw;
    const { tokens: inner } = token as Tokens.Generic;
    switch (token.type) {
      case "strong":
        return <strong key={i}>{inline(inner ?? [])}</strong>;
      case "em":
        return <em key={i}>{inline(inner ?? [])}</em>;
      case "del":
        return <del key={i}>{inline(inner ?? [])}</del>;
      case "codespan":
        return <code key={i}>{(token as Tokens.Codespan).text}</code>;
      case "br":
        return <br key={i} />;
      case "link":
        return (
          <span key={i} title={(token as Tokens.Link).href}>
            {inline(inner ?? [])} ({(token as Tokens.Link).href})
          </span>
        );
      case "escape":
      case "text":
        return inner === undefined ? (token as Tokens.Text).text : <span key={i}>{inline(inner)}</span>;
      default:
        return token.raw;
    }
  });
}
