/** A subject in words: what runs the model. */
import { UNITS } from "../../backends/coreml/plan/target.ts";
import type { Subject } from "../../contract/views/cost.ts";

/** "CPU + Neural Engine". */
export function withWhat({ backend, target }: Subject): string {
  if (backend === "mlx") return "MLX";
  if (backend === "cpu") return "the CPU engine";
  return target.units === "all" ? "all units" : unitsTitle(target.units).replace(" and ", " + ");
}

const unitsTitle = (units: Subject["target"]["units"]): string => UNITS.find(({ id }) => id === units)?.title ?? units;

/** "Core ML, CPU and Neural Engine". */
export const subjectTitle = ({ backend, target }: Subject): string =>
  backend === "mlx" ? "MLX" : backend === "cpu" ? "CPU" : `Core ML, ${unitsTitle(target.units)}`;
