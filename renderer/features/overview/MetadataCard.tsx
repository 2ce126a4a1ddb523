/** Every metadata key of the file, searchable; long values open in a dialog, page by page. */
import type { ReactNode } from "react";
import { useDeferredValue, useEffect, useState } from "react";
import type { MetadataPage, MetadataRow, MetadataValue } from "../../../main/contract/views/model.ts";
import type { Async } from "../../session/async.ts";
import { current, failed, IDLE, loading, ready } from "../../session/async.ts";
import { useSession } from "../../session/context.tsx";
import { Button } from "../../ui/Button.tsx";
import { Card } from "../../ui/Card.tsx";
import { CopyButton } from "../../ui/CopyButton.tsx";
import { cx } from "../../ui/cx.ts";
import { Dialog } from "../../ui/Dialog.tsx";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { SearchField } from "../../ui/fields.tsx";
import { count, plural } from "../../ui/format.ts";
import table from "../../ui/table.module.css";
import styles from "./Overview.module.css";

const PAGE = 50;

export function MetadataCard({ model }: { readonly model: string }): ReactNode {
  const askMetadata = useSession((state) => state.askMetadata);
  const [query, setQuery] = useState("");
  const [limit, setLimit] = useState(PAGE);
  const [page, setPage] = useState<Async<MetadataPage>>(IDLE);
  const [tries, setTries] = useState(0);
  const [shown, setShown] = useState<MetadataRow | null>(null);
  const asked = useDeferredValue(query);
  useEffect(() => {
    let live = true;
    setPage((before) => loading(before));
    askMetadata({ model, query: asked, offset: 0, limit }).then(
      (value) => live && setPage(ready(value)),
      (error: unknown) => live && setPage(failed(error)),
    );
    return () => {
      live = false;
    };
  }, [askMetadata, model, asked, limit, tries]);
  const rows = current(page);
  return (
    <Card title="Every key" className={styles["wide"]}>
      <div className={styles["metaTools"]}>
        <SearchField
          id="metadata-search"
          label="Search the metadata"
          placeholder="Search keys and values"
          value={query}
          onChange={setQuery}
        />
        <span>
          {rows === null
            ? ""
            : rows.matched === rows.total
              ? plural(rows.total, "key")
              : `${count(rows.matched)} of ${plural(rows.total, "key")}`}
        </span>
      </div>
      {page.kind === "failed" ? (
        <ErrorNote title="The metadata could not be read" error={page.error} onRetry={() => setTries((n) => n + 1)} />
      ) : null}
      {rows === null ? null : (
        <table className={cx(table["table"], styles["meta"])}>
          <thead>
            <tr>
              <th>key</th>
              <th>type</th>
              <th>value</th>
            </tr>
          </thead>
          <tbody>
            {rows.rows.map((row) => (
              <tr key={row.key}>
                <td title={row.key}>{row.key}</td>
                <td>{row.type}</td>
                <td>
                  {row.whole ? (
                    <span title={row.preview}>{row.preview}</span>
                  ) : (
                    <button
                      type="button"
                      className={styles["link"]}
                      onClick={() => setShown(row)}
                      title={`Show all of ${row.key}`}
                    >
                      {row.count === null ? "" : `${plural(row.count, "element")}: `}
                      {row.preview}
                    </button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {rows !== null && rows.rows.length < rows.matched && limit < 1000 ? (
        <Button small look="ghost" onClick={() => setLimit(Math.min(1000, limit + 200))}>
          Show more
        </Button>
      ) : null}
      {shown === null ? null : <ValueDialog model={model} row={shown} onClose={() => setShown(null)} />}
    </Card>
  );
}

const VALUE_PAGE = 500;

function ValueDialog({
  model,
  row,
  onClose,
}: {
  readonly model: string;
  readonly row: MetadataRow;
  readonly onClose: () => void;
}): ReactNode {
  const askMetadataValue = useSession((state) => state.askMetadataValue);
  const [offset, setOffset] = useState(0);
  const [value, setValue] = useState<Async<MetadataValue>>(IDLE);
  useEffect(() => {
    let live = true;
    setValue((before) => loading(before));
    askMetadataValue({ model, key: row.key, offset, limit: VALUE_PAGE }).then(
      (next) => live && setValue(ready(next)),
      (error: unknown) => live && setValue(failed(error)),
    );
    return () => {
      live = false;
    };
  }, [askMetadataValue, model, row.key, offset]);
  const shown = current(value);
  const isList = row.count !== null;
  const text =
    shown === null
      ? ""
      : isList
        ? shown.items.map((item, i) => `${shown.offset + i}  ${item}`).join("\n")
        : shown.items.join("");
  return (
    <Dialog title={row.key} open onClose={onClose} width={720}>
      <div className={styles["value"]}>
        {value.kind === "failed" ? <ErrorNote title="The value could not be read" error={value.error} /> : <span />}
        {/* A scrollable text must be reachable by keyboard. */}
        <pre tabIndex={0} role="region" aria-label={`Value of ${row.key}`}>
          {text}
        </pre>
        <div className={styles["row"]}>
          {shown !== null && shown.total > VALUE_PAGE ? (
            <>
              <Button small disabled={offset === 0} onClick={() => setOffset(Math.max(0, offset - VALUE_PAGE))}>
                Back
              </Button>
              <Button
                small
                disabled={offset + VALUE_PAGE >= shown.total}
                onClick={() => setOffset(offset + VALUE_PAGE)}
              >
                Next
              </Button>
              <span>
                {count(offset)} – {count(Math.min(shown.total, offset + VALUE_PAGE))} of {count(shown.total)}
              </span>
            </>
          ) : null}
          <CopyButton label="Copy this page" text={() => (isList ? (shown?.items.join("\n") ?? "") : text)} />
          <Button small onClick={onClose}>
            Close
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
