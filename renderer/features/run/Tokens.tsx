/** The tokens of an answer, shaded by how unsure the model was of each. */
import type { ReactNode } from "react";
import { memo } from "react";
import type { TokenView } from "../../../main/contract/views/run.ts";
import { cx } from "../../ui/cx.ts";
import { textIn } from "./receive.ts";
import { useRun } from "./useRun.ts";
import styles from "./Run.module.css";

/** Certain tokens are plain; the rarer the model thought one, the stronger its shade. */
const shadeOf = (logprob: number): number => Math.round((1 - Math.min(1, Math.exp(logprob))) * 42);

interface TokensProps {
  readonly id: number;
  readonly tokens: readonly TokenView[];
  /** The first token that another device wrote otherwise; -1: none. */
  readonly differsAt?: number;
  /** Only what belongs to this part of the answer. */
  readonly part?: TokenView["pieces"][number]["part"];
}

export function Tokens({ id, tokens, differsAt = -1, part }: TokensProps): ReactNode {
  const certainty = useRun((s) => s.certainty);
  const chosen = useRun((s) => (s.chosenToken?.turn === id ? s.chosenToken.token : -1));
  const choose = useRun((s) => s.chooseToken);
  return (
    <span
      onClick={(event) => {
        const at = event.target instanceof HTMLElement ? event.target.dataset["token"] : undefined;
        choose(at === undefined ? null : { turn: id, token: Number(at) });
      }}
    >
      {tokens.map((token, i) => {
        const text = part === undefined ? token.text : textIn([token], part);
        if (text === "" && part !== undefined) return null;
        return (
          <Token
            key={i}
            index={i}
            text={text}
            shade={certainty ? shadeOf(token.logprob) : 0}
            chosen={i === chosen}
            differs={i === differsAt}
          />
        );
      })}
    </span>
  );
}

const Token = memo(function Token({
  index,
  text,
  shade,
  chosen,
  differs,
}: {
  readonly index: number;
  readonly text: string;
  readonly shade: number;
  readonly chosen: boolean;
  readonly differs: boolean;
}): ReactNode {
  return (
    <span
      className={cx(styles["token"], differs && styles["differs"])}
      title={differs ? "The first token that differs" : undefined}
      data-token={index}
      data-chosen={chosen}
      style={shade === 0 ? undefined : { background: `color-mix(in srgb, var(--select) ${shade}%, transparent)` }}
    >
      {text}
    </span>
  );
});
