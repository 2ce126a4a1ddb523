/** The cards of one op: why it runs here, its shapes, its cost, its weights, its MIL. */
import type { ReactNode } from "react";
import { useMemo } from "react";
import type { LoweringView, NodeView, Placement } from "../../../main/contract/views/graph.ts";
import { backendTitle, isRouted, operationsText } from "../../../main/contract/views/graph.ts";
import { measuredColumn } from "../../graph/resultColumns.ts";
import { current } from "../../session/async.ts";
import { useSession } from "../../session/context.tsx";
import { Button } from "../../ui/Button.tsx";
import { Card, Note } from "../../ui/Card.tsx";
import { deviceLook } from "../../ui/devices.ts";
import { Facts } from "../../ui/Facts.tsx";
import { approximate, bytes, plural, seconds, shape, share } from "../../ui/format.ts";
import { DeviceChip, FigureText, TruthMark } from "../../ui/marks.tsx";
import styles from "./Inspector.module.css";

export interface NodeCardsProps {
  readonly node: NodeView;
  readonly onNode: (node: number) => void;
  readonly onMil: (node: number) => void;
  readonly onTensor: (name: string) => void;
  /** Below the first card: plan, observation and MLX. */
  readonly afterWhy?: ReactNode;
}

export function NodeCards({ node, onNode, onMil, onTensor, afterWhy }: NodeCardsProps): ReactNode {
  const { placement, mil, routed, subgraphs } = node;
  const { backend } = node.key.stage;
  const errors = useSession((state) => state.weightErrors);
  const unplaced = useSession((state) => {
    const route = current(state.routes[state.phase]);
    return route === null || routed === null ? "" : (route.strings[route.nodes.reason[routed] ?? 0] ?? "");
  });
  const lossOf = (tensor: string): readonly (readonly [string, string])[] => {
    const row = errors?.rows.find(({ name }) => name === tensor);
    if (row === undefined) return [];
    return [["error in the last export", row.relativeRms === 0 ? "none" : row.relativeRms.toExponential(1)]];
  };
  return (
    <>
      {placement === null ? (
        <Card title="Why here?">
          <p>
            {unplaced === ""
              ? `It is not placed: ${node.summary.charAt(0).toLowerCase()}${node.summary.slice(1)}`
              : unplaced}
          </p>
        </Card>
      ) : (
        <WhyCard placement={placement} op={node.op} placed={backend === "coreml"} />
      )}
      <BeforeCard node={node} />
      {afterWhy}
      <Card title="Shapes and types" aside={node.op}>
        <dl className={styles["values"]}>
          {node.inputs.map((value, i) => (
            <div key={i}>
              <dt>
                {value.from === null ? (
                  value.label
                ) : (
                  <button
                    type="button"
                    className={styles["link"]}
                    title={`From ${value.fromName}`}
                    onClick={() => value.from !== null && onNode(value.from)}
                  >
                    {value.label}
                  </button>
                )}
              </dt>
              <dd>{value.type}</dd>
            </div>
          ))}
          {node.outputs.map((value, i) => (
            <div key={`out ${i}`}>
              <dt>{value.label}</dt>
              <dd>{value.type}</dd>
            </div>
          ))}
        </dl>
        {node.attributes.length === 0 ? null : (
          <div className={styles["attributes"]}>
            <Facts rows={node.attributes.map(({ label, value }) => [label, value] as const)} />
          </div>
        )}
        <Note>{node.summary}</Note>
      </Card>
      <CostCard node={node} />
      {node.weights.length === 0 ? null : (
        <Card title="Weights">
          {node.weights.map((weight) => (
            <div key={weight.tensor} className={styles["weight"]}>
              <button type="button" className={styles["tensor"]} onClick={() => onTensor(weight.tensor)}>
                {weight.tensor}
              </button>
              <Facts
                rows={[
                  [weight.type, shape(weight.shape)],
                  ["in the file", bytes(weight.bytes)],
                  ...(weight.lowered === null ? [] : ([["on the device", weight.lowered]] as const)),
                  ...lossOf(weight.tensor),
                ]}
              />
            </div>
          ))}
        </Card>
      )}
      {subgraphs.map(({ name, summary, text }) => (
        <Card key={name} title={`Sub-graph ${name}`} aside={summary}>
          <pre className={styles["mil"]} tabIndex={0}>
            {text}
          </pre>
        </Card>
      ))}
      {mil === null ? null : (
        <Card title="As MIL" aside={plural(mil.operations.length, "operation")}>
          <pre className={styles["mil"]} tabIndex={0}>
            {mil.text}
          </pre>
          {routed === null ? null : (
            <div className={styles["buttons"]}>
              <Button small onClick={() => onMil(routed)}>
                Show in the program
              </Button>
            </div>
          )}
        </Card>
      )}
    </>
  );
}

/** The predicted cost on the target, and the measured time on this machine. */
function CostCard({ node }: { readonly node: NodeView }): ReactNode {
  const profile = useSession((state) => state.profiled);
  const model = useSession((state) => (isRouted(node.key.stage) ? current(state.graph) : null));
  const { phase } = node.key;
  const measured = useMemo(
    () => (profile === null || model === null ? null : measuredColumn(model, profile, phase)),
    [profile, model, phase],
  );
  const here = measured?.values[node.node] ?? Number.NaN;
  const shared = measured?.attributed[node.node] === 1;
  if (node.cost.length === 0) return null;
  return (
    <Card
      title={phase === "decode" ? "Cost, one token" : "Cost, one chunk"}
      aside={<TruthMark truth={node.cost[0]?.value.truth ?? "predicted"} />}
    >
      <Facts
        rows={[
          ...node.cost.map(({ label, value }) => [label, <FigureText key={label} figure={value} />] as const),
          ...(measured === null || Number.isNaN(here)
            ? []
            : [
                [
                  `time here, ${shared ? "attributed" : "measured"}`,
                  shared ? approximate(seconds(here)) : seconds(here),
                ] as const,
              ]),
        ]}
      />
    </Card>
  );
}

/** A rule's verdict in words. */
const VERDICTS = {
  hard: "a hard rule",
  soft: "allowed, but costly",
  cost: "chosen by cost",
  neighbour: "because of its neighbours",
  host: "our own code",
} as const;

/** Where the op was under the subject before this one. */
function BeforeCard({ node }: { readonly node: NodeView }): ReactNode {
  const before = useSession((state) => state.placedBefore);
  const targets = useSession((state) => current(state.targets));
  if (before === null) return null;
  const { placement, backend } = before;
  const now = node.placement?.device ?? "none";
  const title = (list: readonly { readonly id: string; readonly title: string }[] | undefined, id: string): string =>
    list?.find((entry) => entry.id === id)?.title ?? id;
  const { chip, units } = placement.target;
  const on = [title(targets?.chips, chip), ...(backend === "coreml" ? [title(targets?.units, units)] : [])];
  return (
    <Card title="Before the change" aside={`${backendTitle(backend)}, ${on.join(", ")}`}>
      <p className={styles["chips"]}>
        <DeviceChip device={placement.device} /> <span aria-hidden="true">→</span>
        {now === "none" ? <span>not placed</span> : <DeviceChip device={now} />}
      </p>
      <Note>
        {now === placement.device ? "It stays where it was." : `It was on the ${deviceLook(placement.device).name}.`}{" "}
        {placement.sentence}
      </Note>
    </Card>
  );
}

interface WhyProps {
  readonly placement: Placement;
  readonly op: string;
  /** There was a choice of devices. */
  readonly placed: boolean;
}

/** A rule names the operation that it is about, "(of add)"; the sentence above it need not be said twice for that. */
const isSaid = (rule: string, above: string): boolean =>
  rule.replace(/ \(of [^()]+\)(?=\.?$)/u, "").replace(/\.$/u, "") === above.replace(/\.$/u, "");

function WhyCard({ placement, op, placed }: WhyProps): ReactNode {
  const { device, supported, lowering } = placement;
  const wanted = placed && (placement.target.units.includes("ane") || placement.target.units === "all");
  const others = supported.filter((each) => each !== device);
  const told = new Set(lowering?.groups.map(({ rule }) => rule.id));
  const rules = placement.rules.filter(({ id }) => !told.has(id));
  return (
    <Card title="Why here?" aside={<TruthMark truth={placement.truth} />}>
      <p className={styles["chips"]}>
        <DeviceChip device={device} />
        {wanted && device !== "ane" ? <span>not the Neural Engine</span> : null}
      </p>
      <p className={styles["sentence"]}>{lowering?.follows ?? placement.sentence}</p>
      {lowering === null ? null : <Groups lowering={lowering} />}
      {rules.length === 0 ? null : (
        <ul className={styles["rules"]}>
          {rules.map((rule) => (
            <li key={rule.id} title={rule.sentence}>
              <code>{rule.id}</code> {VERDICTS[rule.verdict]}
              {isSaid(rule.sentence, placement.sentence) ? null : <span>: {rule.sentence}</span>}
              <em>{rule.source}</em>
            </li>
          ))}
        </ul>
      )}
      {others.length === 0 ? null : (
        <p className={styles["quiet"]}>
          {lowering === null ? op : "All of it"} could also run on{" "}
          {others.map((each) => deviceLook(each).short).join(", ")}.
        </p>
      )}
      {placement.fix === null ? null : <Note>{placement.fix}</Note>}
    </Card>
  );
}

/** Where the operations run that the op became, and why. */
function Groups({ lowering }: { readonly lowering: LoweringView }): ReactNode {
  return (
    <ul className={styles["groups"]} aria-label="Its operations">
      {lowering.groups.map(({ operations, device, rule, workShare }, i) => (
        <li key={i}>
          <p>
            <DeviceChip device={device}>{deviceLook(device).short}</DeviceChip>
            <span>{share(workShare)} of its work</span>
          </p>
          <code>{operationsText(operations)}</code>
          <span>{rule.sentence}</span>
          <em>
            {rule.id}, {VERDICTS[rule.verdict]}: {rule.source}
          </em>
        </li>
      ))}
    </ul>
  );
}
