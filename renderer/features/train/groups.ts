/** Groups of parameters as they are typed: what trains them, and how fast. */
import type { TrainGroup } from "../../../main/contract/views/train.ts";
import { numberProblem } from "./numbers.ts";

export interface GroupForm {
  /** Parts of names with commas between; empty: any. */
  readonly names: string;
  /** Empty: any. */
  readonly rank: string;
  /** Empty: the run's own. */
  readonly optimizer: string;
  /** Of a spec; another optimiser begins with its own. */
  readonly options: NonNullable<TrainGroup["optimizer"]>["options"];
  /** Empty: the run's own. */
  readonly lr: string;
}

export const NEW_GROUP: GroupForm = { names: "", rank: "2", optimizer: "", options: {}, lr: "" };

const RANK = { least: 0, most: 8, whole: true, optional: true } as const;
const RATE = { least: 0, most: 1000, whole: false, optional: true } as const;

export const groupForms = (groups: readonly TrainGroup[]): readonly GroupForm[] =>
  groups.map(({ names = [], rank, optimizer, lr }) => ({
    names: names.join(", "),
    rank: rank === undefined ? "" : String(rank),
    ...{ optimizer: optimizer?.name ?? "", options: optimizer?.options ?? {} },
    lr: lr === undefined ? "" : String(lr),
  }));

export const groupKey = (index: number, field: "names" | "rank" | "lr"): string => `group:${index}:${field}`;

/** As a spec has them; what is wrong goes into `problems`. */
export function groupsOf(groups: readonly GroupForm[], problems: Record<string, string>): readonly TrainGroup[] {
  return groups.map(({ names, rank, optimizer, options, lr }, i) => {
    const wrongRank = numberProblem(rank, RANK);
    const wrongRate = numberProblem(lr, RATE);
    if (wrongRank !== null) problems[groupKey(i, "rank")] = wrongRank;
    if (wrongRate !== null) problems[groupKey(i, "lr")] = wrongRate;
    const parts = names
      .split(",")
      .map((part) => part.trim())
      .filter((part) => part !== "");
    if (parts.length === 0 && rank.trim() === "")
      problems[groupKey(i, "names")] = "Say which parameters: parts of their names, or a rank.";
    return {
      ...(parts.length === 0 ? {} : { names: parts }),
      ...(rank.trim() === "" ? {} : { rank: Number(rank) }),
      ...(optimizer === "" ? {} : { optimizer: { name: optimizer, options } }),
      ...(lr.trim() === "" ? {} : { lr: Number(lr) }),
    };
  });
}
