/** The template with a conversation: its text, its tokens, what it does with each role, calls there and back, another template. */
import type { ReactNode } from "react";
import { useEffect, useState } from "react";
import { LONGEST_JSON } from "../../../main/contract/views/chat.ts";
import type { TemplateAbilityView, TemplateReportView } from "../../../main/contract/views/template.ts";
import { TEMPLATE_SAMPLES } from "../../../main/contract/views/template.ts";
import { current } from "../../session/async.ts";
import { sliceHook } from "../../session/context.tsx";
import { textOf } from "../../session/droppedFile.ts";
import { Button } from "../../ui/Button.tsx";
import { cx } from "../../ui/cx.ts";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { ChoiceField } from "../../ui/fields.tsx";
import { plural } from "../../ui/format.ts";
import { Segmented } from "../../ui/Segmented.tsx";
import { Progress } from "../../ui/states.tsx";
import table from "../../ui/table.module.css";
import { useFilePicker } from "../../ui/useFilePicker.tsx";
import type { TemplateSlice } from "./slice.ts";
import styles from "./Template.module.css";

const useTemplate = sliceHook<TemplateSlice>();

const OWN = "own";
const EXAMPLE = '[{"role": "user", "content": "Hello"}]';
type View = "text" | "tokens" | "roles" | "calls" | "other";

export function TemplateInspector(): ReactNode {
  const state = useTemplate((s) => s.templateLook);
  const look = useTemplate((s) => s.lookAtTemplate);
  const [view, setView] = useState<View>("text");
  const [sample, setSample] = useState<string>("system");
  const [json, setJson] = useState("");
  const [begins, setBegins] = useState(true);
  const [against, setAgainst] = useState<{ readonly name: string; readonly text: string } | null>(null);
  const report = current(state);
  const isOwn = sample === OWN;
  useEffect(() => {
    if (isOwn && json.trim() === "") return;
    const id = TEMPLATE_SAMPLES.find((name) => name === sample) ?? "system";
    const conversation = isOwn ? { kind: "messages" as const, json } : { kind: "sample" as const, id };
    void look({ conversation, generationPrompt: begins, against: against?.text ?? null });
  }, [look, isOwn, json, sample, begins, against]);
  const titles = report?.samples ?? TEMPLATE_SAMPLES.map((id) => ({ id, title: id }));
  const views = [
    { id: "text", text: "Text" },
    { id: "tokens", text: "Tokens" },
    { id: "roles", text: "Roles" },
    { id: "calls", text: "Calls" },
    ...(report?.against === null || report === null ? [] : [{ id: "other" as const, text: "Difference" }]),
  ] as const;
  const shown = view === "other" && report?.against === null ? "text" : view;
  return (
    <div className={styles["inspector"]}>
      <div className={styles["bar"]}>
        <ChoiceField
          label="Conversation"
          value={sample}
          options={[...titles, { id: OWN, title: "JSON of your own" }]}
          onChange={setSample}
        />
        <label className={styles["check"]}>
          <input type="checkbox" checked={begins} onChange={(event) => setBegins(event.target.checked)} />
          <span>Begin the answer</span>
        </label>
        <OtherTemplate
          name={against?.name ?? null}
          onChange={(next) => {
            setAgainst(next);
            setView(next === null ? "text" : "other");
          }}
        />
      </div>
      {isOwn ? (
        <textarea
          className={styles["own"]}
          rows={4}
          aria-label="Messages as JSON"
          placeholder={EXAMPLE}
          value={json}
          autoFocus
          onChange={(event) => setJson(event.target.value)}
        />
      ) : null}
      <Segmented label="What is shown" value={shown} options={views} onChange={setView} />
      <div className={styles["body"]} tabIndex={0} role="region" aria-label="The template’s work">
        {state.kind === "failed" ? <ErrorNote title="The template cannot be shown" error={state.error} /> : null}
        {state.kind === "loading" && report === null ? <Progress sentence="Rendering" fraction={null} /> : null}
        {report === null || state.kind === "failed" ? null : <Shown report={report} view={shown} />}
      </div>
    </div>
  );
}

function OtherTemplate({
  name,
  onChange,
}: {
  readonly name: string | null;
  readonly onChange: (other: { readonly name: string; readonly text: string } | null) => void;
}): ReactNode {
  const notifyError = useTemplate((s) => s.notifyError);
  const read = (file: File): Promise<void> =>
    textOf(file, LONGEST_JSON).then(
      (text) => onChange({ name: file.name, text }),
      (error: unknown) => notifyError("The template could not be read", error),
    );
  const picker = useFilePicker({
    label: "File of another template",
    accept: ".jinja,.jinja2,.json,.txt",
    onFiles: ([file]) => void read(file),
  });
  return (
    <span className={styles["buttons"]}>
      {picker.input}
      <Button small title="A .jinja file, or the model’s tokenizer_config.json" onClick={picker.open}>
        {name === null ? "Compare with…" : `Against ${name}`}
      </Button>
      {name === null ? null : (
        <Button small onClick={() => onChange(null)}>
          Without
        </Button>
      )}
    </span>
  );
}

function Shown({ report, view }: { readonly report: TemplateReportView; readonly view: View }): ReactNode {
  switch (view) {
    case "text":
      return <Text report={report} />;
    case "tokens":
      return <Tokens report={report} />;
    case "roles":
      return <Roles abilities={report.abilities} others={report.against?.abilities ?? null} />;
    case "calls":
      return <Calls report={report} />;
    case "other":
      return <Difference report={report} />;
  }
}

const Refusal = ({ why }: { readonly why: string | null }): ReactNode => (
  <p className={styles["refusal"]}>The template refuses this conversation: {why}</p>
);

function Text({
  report: { text, refusal, about, brokenMarks, tokens },
}: {
  readonly report: TemplateReportView;
}): ReactNode {
  return (
    <>
      <p className={styles["quiet"]}>
        {about.sentence} {text === null ? "" : `${plural(tokens.length, "token")}.`}
        {about.switches.length === 0 ? "" : ` It looks at ${about.switches.join(", ")}.`}
      </p>
      {brokenMarks.length === 0 ? null : (
        <p className={styles["refusal"]}>
          No tokens of this vocabulary, so the model reads them as letters: {brokenMarks.join(" ")}
        </p>
      )}
      {text === null ? <Refusal why={refusal} /> : <pre className={styles["text"]}>{text}</pre>}
    </>
  );
}

/** More than a look takes in. */
const MOST_TOKENS = 4000;

function Tokens({ report: { text, tokens, refusal } }: { readonly report: TemplateReportView }): ReactNode {
  if (text === null) return <Refusal why={refusal} />;
  return (
    <>
      <p className={styles["quiet"]}>
        {plural(tokens.length, "token")}; special ones are framed.
        {tokens.length > MOST_TOKENS ? ` The first ${MOST_TOKENS} are shown.` : ""}
      </p>
      <ol className={styles["tokens"]} aria-label="Tokens">
        {tokens.slice(0, MOST_TOKENS).map(({ id, text: piece, isSpecial }, i) => (
          <li key={i} className={cx(styles["token"], isSpecial && styles["special"])}>
            <span>{piece.replaceAll("\n", "⏎").replaceAll(" ", "␣")}</span>
            <small>{id}</small>
          </li>
        ))}
      </ol>
    </>
  );
}

const STATES: Readonly<Record<TemplateAbilityView["state"], string>> = {
  written: "written",
  "left-out": "left out",
  refused: "refused",
  failed: "fails",
};

const State = ({ state }: Pick<TemplateAbilityView, "state">): ReactNode => (
  <td className={cx(table["left"], (state === "refused" || state === "failed") && styles["refusal"])}>
    {STATES[state]}
  </td>
);

function Roles({
  abilities,
  others,
}: {
  readonly abilities: readonly TemplateAbilityView[];
  readonly others: readonly TemplateAbilityView[] | null;
}): ReactNode {
  return (
    <table className={table["table"]}>
      <thead>
        <tr>
          <th>in a conversation</th>
          <th className={table["left"]}>this template</th>
          {others === null ? null : <th className={table["left"]}>the other</th>}
          <th className={table["left"]}>so</th>
        </tr>
      </thead>
      <tbody>
        {abilities.map(({ id, title, state, sentence }) => {
          const other = others?.find((each) => each.id === id);
          return (
            <tr key={id}>
              <td className={table["text"]}>{title}</td>
              <State state={state} />
              {other === undefined ? null : <State state={other.state} />}
              <td className={table["text"]}>
                {state === "refused" ? `It says: ${sentence}` : sentence}
                {other?.state === "refused" ? ` The other says: ${other.sentence}` : ""}
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function Calls({ report: { roundTrip, against } }: { readonly report: TemplateReportView }): ReactNode {
  return (
    <>
      <p className={roundTrip.state === "same" ? undefined : styles["refusal"]}>{roundTrip.sentence}</p>
      {roundTrip.differences.length === 0 ? null : (
        <ul className={styles["list"]}>
          {roundTrip.differences.map((difference) => (
            <li key={difference}>{difference}</li>
          ))}
        </ul>
      )}
      {roundTrip.written === null || roundTrip.written === "" ? null : (
        <pre className={styles["text"]}>{roundTrip.written}</pre>
      )}
      {against === null ? null : <p className={styles["quiet"]}>The other template: {against.roundTrip.sentence}</p>}
    </>
  );
}

function Difference({ report: { against, text, refusal } }: { readonly report: TemplateReportView }): ReactNode {
  if (against === null) return null;
  if (against.isSameSource) return <p>The other template is the same, letter by letter.</p>;
  if (against.lines === null)
    return (
      <>
        {text === null ? <Refusal why={refusal} /> : null}
        {against.text === null ? (
          <p className={styles["refusal"]}>The other one refuses it: {against.refusal}</p>
        ) : null}
      </>
    );
  if (against.lines.every(({ kind }) => kind === "same")) return <p>Both write the same text.</p>;
  return (
    <pre className={styles["text"]} aria-label="Lines of both">
      {against.lines.map(({ kind, text: line }, i) => (
        <span key={i} className={styles[kind]}>
          {{ same: "  ", removed: "− ", added: "+ " }[kind]}
          {line}
          {"\n"}
        </span>
      ))}
    </pre>
  );
}
