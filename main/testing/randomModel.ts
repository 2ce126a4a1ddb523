// Models with random weights from Python (python/sample/random_model.py): our writer is not involved.
import { sharedOracleProcess } from "./oracleProcess.ts";

/** The options are those of `python -m sample.random_model`; `--out` says where the file goes. */
export async function writeRandomModel(...options: readonly string[]): Promise<void> {
  await sharedOracleProcess("python").ask("model.random", { options });
}
