/**
 * A process that a test kills: it saves a session, appends to a history and saves a checkpoint, again and again, and says on
 * stdout what it has finished. Arguments: the data folder, and the number of its first entry.
 */
import { createHistories } from "../node/files/histories.ts";
import { createSessions } from "../node/files/sessions.ts";
import { writeCheckpoint } from "../node/library/checkpoints.ts";
import { memoryDocument, memoryEntry, memorySnapshot } from "./memoryDocument.ts";

const [, , folder = "", first = "0"] = process.argv;
const sessions = createSessions(folder);
const histories = createHistories(folder);
for (let at = Number(first); ; at++) {
  await sessions.save("killed", JSON.stringify(memoryDocument(at)));
  await histories.append("bench", memoryEntry(at));
  await writeCheckpoint(memorySnapshot(at), `${folder}/killed.safetensors`);
  process.stdout.write(`${at}\n`);
}
