/** The requests of the server, the newest first: which model, how many tokens, how fast, what was known already, how it ended. */
import type { ReactNode } from "react";
import type { ServerRequest } from "../../../main/contract/views/server.ts";
import { Card, Note } from "../../ui/Card.tsx";
import { cx } from "../../ui/cx.ts";
import { count, figureText, seconds, share } from "../../ui/format.ts";
import table from "../../ui/table.module.css";
import { useServer } from "./useServer.ts";
import styles from "./Server.module.css";

/** More would be a page that nobody reads. */
const SHOWN = 100;

export function RequestTable(): ReactNode {
  const requests = useServer((s) => s.serverRequests);
  const shown = useServer((s) => s.serverShown);
  const newest = requests.slice(-SHOWN).toReversed();
  return (
    <Card title="Requests" aside={requests.length > SHOWN ? `the last ${SHOWN}` : "the newest first"}>
      {newest.length === 0 ? (
        <Note>None yet. Each request appears here with its speed; its texts only where that was chosen.</Note>
      ) : (
        <div className={styles["scroll"]}>
          <table className={table["table"]} aria-label="Requests, the newest first">
            <thead>
              <tr>
                <th>time</th>
                <th className={table["left"]}>status</th>
                <th className={table["left"]}>model and request</th>
                <th>prompt</th>
                <th>answer</th>
                <th>first token</th>
              </tr>
            </thead>
            <tbody>
              {newest.map((request) => (
                <Row key={request.id} request={request} isShown={request.id === shown} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  );
}

const timeOf = (at: number): string => new Date(at).toLocaleTimeString([], { hour12: false });

function statusOf({ state, status }: ServerRequest): string {
  if (state === "waiting" || state === "answering") return state;
  return state === "left" ? "client left" : String(status ?? "–");
}

/** "/chat/completions": all of them are posted below /v1; others are said whole. */
const callOf = ({ method, path }: ServerRequest): string =>
  method === "POST" ? path.replace(/^\/v1(?=\/)/u, "") : `${method} ${path}`;

const tokens = (n: number): string => (n === 0 ? "–" : count(n));

/** A value, and below it what it is made of. */
function Cell({
  value,
  below,
  left = false,
}: {
  readonly value: ReactNode;
  readonly below: string | null;
  readonly left?: boolean;
}): ReactNode {
  return (
    <td className={left ? table["left"] : undefined}>
      {value}
      {below === null ? null : <small className={styles["below"]}>{below}</small>}
    </td>
  );
}

function Row({ request, isShown }: { readonly request: ServerRequest; readonly isShown: boolean }): ReactNode {
  const show = useServer((s) => s.showRequest);
  const { id, at, model, promptTokens, reusedTokens, generatedTokens, rate, firstTokenSeconds } = request;
  const { error, prompt, answer } = request;
  const isOver = request.state === "done" || request.state === "left";
  const hasMore = error !== null || prompt !== null;
  const status = hasMore ? (
    <button type="button" className={styles["more"]} aria-expanded={isShown} onClick={() => show(isShown ? null : id)}>
      {statusOf(request)}
    </button>
  ) : (
    statusOf(request)
  );
  return (
    <>
      <tr>
        <td>{timeOf(at)}</td>
        <td className={table["left"]}>{status}</td>
        <Cell left value={model ?? callOf(request)} below={error?.code ?? (model === null ? null : callOf(request))} />
        <Cell
          value={tokens(promptTokens)}
          below={promptTokens === 0 ? null : `${share(reusedTokens / promptTokens)} reused`}
        />
        <Cell value={tokens(generatedTokens)} below={rate === null ? null : figureText(rate)} />
        <Cell
          value={firstTokenSeconds === null ? "–" : figureText(firstTokenSeconds)}
          below={isOver ? `of ${seconds(request.seconds)}` : null}
        />
      </tr>
      {isShown && hasMore ? (
        <tr>
          <td colSpan={6} className={cx(table["text"], styles["texts"])}>
            {error === null ? null : <p>{error.sentence}</p>}
            {prompt === null ? null : <pre>{prompt}</pre>}
            {answer === null ? null : <pre>{answer}</pre>}
          </td>
        </tr>
      ) : null}
    </>
  );
}
