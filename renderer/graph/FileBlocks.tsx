/** The tensors of a file by block, for a model without a graph. */
import type { ReactNode } from "react";
import { Fragment, useEffect, useState } from "react";
import type { FileBlocks as FileBlocksView } from "../../main/contract/views/model.ts";
import type { Async } from "../session/async.ts";
import { current, failed, IDLE, loading, ready } from "../session/async.ts";
import { useSession } from "../session/context.tsx";
import { Card } from "../ui/Card.tsx";
import { ErrorNote } from "../ui/ErrorNote.tsx";
import { bytes, count, plural, shape } from "../ui/format.ts";
import table from "../ui/table.module.css";

export interface FileBlocksProps {
  readonly model: string;
  readonly className?: string | undefined;
}

export function FileBlocks({ model, className }: FileBlocksProps): ReactNode {
  const askBlocks = useSession((state) => state.askBlocks);
  const [blocks, setBlocks] = useState<Async<FileBlocksView>>(IDLE);
  const [tries, setTries] = useState(0);
  useEffect(() => {
    let live = true;
    setBlocks((before) => loading(before));
    askBlocks(model).then(
      (value) => live && setBlocks(ready(value)),
      (error: unknown) => live && setBlocks(failed(error)),
    );
    return () => {
      live = false;
    };
  }, [askBlocks, model, tries]);
  const shown = current(blocks);
  return (
    <Card title="Blocks of this file" className={className}>
      {blocks.kind === "failed" ? (
        <ErrorNote title="The blocks could not be read" error={blocks.error} onRetry={() => setTries((n) => n + 1)} />
      ) : null}
      {shown === null ? null : <Runs blocks={shown} />}
      {shown === null || shown.more === 0 ? null : <p>{`And ${plural(shown.more, "tensor")} more.`}</p>}
    </Card>
  );
}

function Runs({ blocks }: { readonly blocks: FileBlocksView }): ReactNode {
  return (
    <table className={table["table"]}>
      <thead>
        <tr>
          <th scope="col">tensor</th>
          <th scope="col">shape</th>
          <th scope="col">type</th>
          <th scope="col">size</th>
        </tr>
      </thead>
      <tbody>
        {blocks.runs.map((run) => (
          <Fragment key={run.name}>
            <tr>
              <th scope="rowgroup" colSpan={3}>
                {run.name === "" ? "Outside of blocks" : run.name}
                {run.blocks === 1 ? "" : ` (${count(run.blocks)} equal blocks)`}
              </th>
              <th>{`${run.blocks === 1 ? "" : `${count(run.blocks)} × `}${bytes(run.bytes)}`}</th>
            </tr>
            {run.roles.map((role) => (
              <tr key={role.role}>
                <td>{role.role}</td>
                <td>{shape(role.shape)}</td>
                <td>{role.type}</td>
                <td>{bytes(role.bytes)}</td>
              </tr>
            ))}
          </Fragment>
        ))}
      </tbody>
    </table>
  );
}
