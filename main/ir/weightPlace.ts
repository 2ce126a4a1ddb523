/** Where the bytes of weights are. A plan keeps places and never bytes; an engine maps the files and reads there. */
export interface WeightPlace {
  /** An index into the list of files. */
  readonly file: number;
  readonly offset: number;
  readonly bytes: number;
}

/** Where a param's bytes are. `file` is the param's source identity. */
export type LocateWeight = (file: string, tensor: string) => WeightPlace;

/** The files of a graph's weights, and where each weight is in them. */
export interface WeightFiles {
  readonly paths: readonly string[];
  readonly locate: LocateWeight;
}
