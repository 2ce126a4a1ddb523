/** The floats in which a device computes, as a field offers them. */
import { precision } from "../../main/contract/views/graph.ts";
import type { ChoiceOption } from "../ui/fields.tsx";

const TITLES = { f32: "f32", mixed: "mixed f16", f16: "f16" } as const;

export const PRECISIONS: readonly ChoiceOption[] = precision.options.map((id) => ({ id, title: TITLES[id] }));
