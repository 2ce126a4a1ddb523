/** Look-ups in the generated operator table: the version of an operator that an opset sees. */
import { WorkbenchError } from "../../../diagnostics/errors.ts";
import type { MilOpName } from "./ops.generated.ts";
import { MIL_OPS } from "./ops.generated.ts";
import type { MilOpset, MilOpVersion } from "./types.ts";
import { MIL_OPSETS } from "./types.ts";

/** The newest signature that is not newer than the opset; undefined when the operator came later. */
export function versionOf(name: MilOpName, opset: MilOpset): MilOpVersion | undefined {
  const versions: readonly MilOpVersion[] = MIL_OPS[name];
  return versions.findLast((version) => version.since <= MIL_OPSETS[opset].ios);
}

/** The oldest opset that has the very operators of this one: programs for both differ in nothing but its name. */
export function oldestEqualOpset(opset: MilOpset): MilOpset {
  const { ios } = MIL_OPSETS[opset];
  const newest = Math.max(
    ...Object.values<readonly MilOpVersion[]>(MIL_OPS).flatMap((versions) =>
      versions.map(({ since }) => since).filter((since) => since <= ios),
    ),
  );
  const all = Object.keys(MIL_OPSETS) as MilOpset[];
  return all.find((other) => MIL_OPSETS[other].ios >= newest) ?? opset;
}

const found = new Map<string, MilOpVersion>();

/** As `versionOf`, or an error that says from which opset on the operator exists. */
export function requireVersion(name: MilOpName, opset: MilOpset): MilOpVersion {
  const key = `${opset} ${name}`;
  const version = found.get(key) ?? versionOf(name, opset);
  if (version !== undefined) {
    found.set(key, version);
    return version;
  }
  const versions: readonly MilOpVersion[] = MIL_OPS[name];
  throw new WorkbenchError(
    "UNSUPPORTED_OP",
    `[${name}] not in ${opset}: it exists from iOS ${versions[0]?.since ?? "?"} on`,
    {
      hint: "Choose a newer opset (a later macOS as the target).",
    },
  );
}
