/** `report.make`: a page about what is seen of a model, over what the other handlers say of it. */
import type { CallContext } from "../../contract/define.ts";
import type { EngineHandlers } from "../../contract/contract.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { CompareParts } from "../compare/compare.ts";
import { compareModels } from "../compare/compare.ts";
import { subjectTitle } from "../measure/subjectWords.ts";
import { reportPage } from "../report/report.ts";
import type { ReportFacts } from "../report/report.ts";

export interface ReportParts {
  readonly compare: CompareParts;
  readonly calls: Pick<
    EngineHandlers["calls"],
    "engine.info" | "model.overview" | "verdict.get" | "route.get" | "advice.list"
  >;
}

type Predicted = Pick<ReportFacts, "verdict" | "route" | "advice" | "refusal">;

export function reportHandler({ compare, calls }: ReportParts): EngineHandlers["calls"]["report.make"] {
  const predicted = async (
    { model, subject, phase }: Parameters<EngineHandlers["calls"]["report.make"]>[0],
    context: CallContext,
  ): Promise<Predicted> => {
    const { backend, target } = subject;
    return {
      verdict: await calls["verdict.get"]({ model, subject, rows: "all" }, context),
      route: await calls["route.get"]({ model, backend, target, phase }, context),
      advice: await calls["advice.list"]({ model, backend, target, phase }, context),
      refusal: null,
    };
  };
  const without = (refusal: string): Predicted => ({ verdict: null, route: null, advice: null, refusal });
  return async (asked, context) => {
    const overview = await calls["model.overview"](
      { model: asked.model, context: null, target: asked.subject.target },
      context,
    );
    const comparison =
      asked.against === null ? null : await compareModels(compare, asked.against, () => undefined, context.signal);
    const facts =
      comparison !== null
        ? without("")
        : !overview.canGraph.ok
          ? without(overview.canGraph.sentence)
          : await predicted(asked, context).catch((error: unknown) => {
              if (!(error instanceof WorkbenchError) || error.code === "CANCELLED" || error.code.startsWith("BUG_"))
                throw error;
              return without(error.message.replace(/^\[[^\]]*\] /u, ""));
            });
    return reportPage({
      ...{ overview, comparison, asked },
      ...facts,
      info: await calls["engine.info"]({}, context),
      subjectTitle: subjectTitle(asked.subject),
      at: Date.now(),
    });
  };
}
