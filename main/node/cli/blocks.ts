/** The tensors of a file by block: what `rlx graph` and `rlx inspect` show of a model without a graph. */
import type { FileBlocks } from "../../contract/views/model.ts";
import type { Command } from "./client.ts";
import { bytesText } from "./output.ts";

export const blocksOf = ({ client, signal }: Command, model: string): Promise<FileBlocks> =>
  client.call("model.blocks", { model }, { signal });

export function printBlocks({ output }: Command, { runs, more }: FileBlocks): void {
  const rows = runs.flatMap((run) => [
    [
      `${run.name === "" ? "outside of blocks" : run.name}${run.blocks === 1 ? "" : ` (${run.blocks} equal blocks)`}`,
      "",
      "",
      `${run.blocks === 1 ? "" : `${run.blocks} × `}${bytesText(run.bytes)}`,
    ],
    ...run.roles.map((role) => [`  ${role.role}`, role.type, role.shape.join(" × "), bytesText(role.bytes)]),
  ]);
  output.table(["block and tensor", "type", "shape", "bytes"], rows, { right: [3] });
  if (more > 0) output.line(`and ${more} tensors more`);
}
