/** A file and its model in numbers: what formats/gguf tells of the file, with what its family makes of it. */
import type { FileDescription } from "../formats/gguf/describe.ts";
import { describeFile } from "../formats/gguf/describe.ts";
import type { GgufFile } from "../formats/gguf/file.ts";
import type { ArchitectureReading } from "./architecture.ts";
import { readArchitecture } from "./architecture.ts";

export interface ModelDescription extends FileDescription {
  readonly architecture: ArchitectureReading;
  /** Positions it was trained for. */
  readonly context: number | undefined;
}

export function describeModel(file: GgufFile): ModelDescription {
  const described = describeFile(file);
  const architecture = readArchitecture(file);
  const own = architecture.kind === "known" ? architecture.architecture.warnings : [];
  return {
    ...described,
    architecture,
    context: contextOf(file, architecture),
    warnings: [...described.warnings, ...own],
  };
}

function contextOf(file: GgufFile, reading: ArchitectureReading): number | undefined {
  if (reading.kind === "known") return reading.architecture.context;
  const value = reading.name === undefined ? undefined : file.metadata.get(`${reading.name}.context_length`);
  return value?.kind === "number" ? value.value : undefined;
}
