/** The operations of graphs: a list to search, and beside it what one of them is and what runs it. */
import type { ReactNode } from "react";
import { useEffect, useRef, useState } from "react";
import type { OpFacts } from "../../../main/contract/views/text.ts";
import type { Async } from "../../session/async.ts";
import { failed, IDLE, ready } from "../../session/async.ts";
import { CopyButton } from "../../ui/CopyButton.tsx";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { Progress } from "../../ui/states.tsx";
import { opsMatching } from "./matching.ts";
import styles from "./Operations.module.css";

export interface OperationsProps {
  readonly list: () => Promise<{ readonly ops: readonly OpFacts[] }>;
  /** A sample as the text of a graph. */
  readonly sample: (op: string, sample: number) => Promise<{ readonly text: string }>;
}

export function Operations({ list, sample }: OperationsProps): ReactNode {
  const [ops, setOps] = useState<Async<readonly OpFacts[]>>(IDLE);
  useEffect(() => {
    let live = true;
    list().then(
      (value) => live && setOps(ready(value.ops)),
      (error: unknown) => live && setOps(failed(error)),
    );
    return () => {
      live = false;
    };
  }, [list]);
  if (ops.kind === "failed") return <ErrorNote title="The operations could not be read" error={ops.error} />;
  if (ops.kind !== "ready") return <Progress sentence="Reading the operations" fraction={null} />;
  return <Table ops={ops.value} sample={sample} />;
}

function Table({
  ops,
  sample,
}: {
  readonly ops: readonly OpFacts[];
  readonly sample: OperationsProps["sample"];
}): ReactNode {
  const [query, setQuery] = useState("");
  const [name, setName] = useState(ops[0]?.name ?? "");
  const found = opsMatching(ops, query);
  const shown = found.find((op) => op.name === name) ?? found[0];
  return (
    <div className={styles["operations"]}>
      <div className={styles["list"]}>
        <input
          aria-label="Search the operations"
          placeholder={`Search ${ops.length} operations`}
          value={query}
          autoFocus
          spellCheck={false}
          onChange={(event) => setQuery(event.target.value)}
        />
        <select
          aria-label="Operations"
          size={20}
          value={shown?.name ?? ""}
          onChange={(event) => setName(event.target.value)}
        >
          {found.map((op) => (
            <option key={op.name} value={op.name}>
              {op.name}
            </option>
          ))}
        </select>
        <p role="status">{found.length === ops.length ? "" : `${found.length} of ${ops.length}`}</p>
      </div>
      {shown === undefined ? (
        <p className={styles["quiet"]}>No operation has this in its name or meaning.</p>
      ) : (
        <Facts key={shown.name} op={shown} sample={sample} />
      )}
    </div>
  );
}

function Facts({ op, sample }: { readonly op: OpFacts; readonly sample: OperationsProps["sample"] }): ReactNode {
  return (
    <section className={styles["facts"]} tabIndex={0} aria-label={`The operation ${op.name}`}>
      <h3>{op.name}</h3>
      <p>{op.summary}</p>
      <dl>
        <dt>Operands</dt>
        <dd>{op.operands.length === 0 ? op.arity : op.operands.join(", ")}</dd>
        {op.results.length === 0 ? null : (
          <>
            <dt>Results</dt>
            <dd>{op.results.join(", ")}</dd>
          </>
        )}
        {op.attributes.map(({ name, expects }) => (
          <Pair key={name} term={<code>{name}</code>}>
            {expects}
          </Pair>
        ))}
        {op.traits.length === 0 ? null : <Pair term="Traits">{op.traits.join(", ")}</Pair>}
      </dl>
      <h4>What runs it</h4>
      <dl>
        {op.support.map(({ of, how, reason }) => (
          <Pair key={of} term={TITLES[of] ?? of}>
            {how}
            {reason === null ? null : <em>{reason}</em>}
          </Pair>
        ))}
      </dl>
      <h4>By {op.oracle.by === "numpy" ? "NumPy" : "JAX"}</h4>
      <pre>{op.oracle.python}</pre>
      <Samples op={op} sample={sample} />
    </section>
  );
}

const TITLES: Readonly<Record<string, string>> = {
  cpu: "CPU",
  coreml: "Core ML",
  mlx: "MLX",
  gradient: "Gradient",
  batching: "Batching",
};

function Pair({ term, children }: { readonly term: ReactNode; readonly children: ReactNode }): ReactNode {
  return (
    <>
      <dt>{term}</dt>
      <dd>{children}</dd>
    </>
  );
}

function Samples({ op, sample }: { readonly op: OpFacts; readonly sample: OperationsProps["sample"] }): ReactNode {
  const [index, setIndex] = useState(0);
  const [text, setText] = useState<Async<string>>(IDLE);
  const asked = useRef(0);
  useEffect(() => {
    const mine = ++asked.current;
    sample(op.name, index).then(
      (value) => mine === asked.current && setText(ready(value.text)),
      (error: unknown) => mine === asked.current && setText(failed(error)),
    );
  }, [sample, op.name, index]);
  return (
    <>
      <h4>
        <label>
          Sample{" "}
          <select value={index} onChange={(event) => setIndex(Number(event.target.value))}>
            {op.samples.map((title, i) => (
              <option key={title} value={i}>
                {title}
              </option>
            ))}
          </select>
        </label>
        {text.kind === "ready" ? <CopyButton label="Copy the graph" text={() => text.value} /> : null}
      </h4>
      {text.kind === "failed" ? <ErrorNote title="The sample could not be read" error={text.error} /> : null}
      {text.kind === "ready" ? <pre>{text.value}</pre> : null}
    </>
  );
}
