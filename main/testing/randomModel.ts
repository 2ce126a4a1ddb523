// Files of models with random weights, made in Python (python/sample/random_model.py), so that no test reads what our own writer wrote.
import { sharedOracleProcess } from "./oracleProcess.ts";

/** The options are those of `python -m sample.random_model`; `--out` says where the file goes. */
export async function writeRandomModel(...options: readonly string[]): Promise<void> {
  await sharedOracleProcess("python").ask("model.random", { options });
}
