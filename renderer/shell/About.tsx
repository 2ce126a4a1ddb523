/** The About dialog: version, licence, and the licence texts of everything bundled (scripts/licenses.mjs writes them). */
import type { ReactNode } from "react";
import { useState } from "react";
import { WorkbenchError } from "../../main/diagnostics/errors.ts";
import type { Async } from "../session/async.ts";
import { createQuestions, current, IDLE } from "../session/async.ts";
import { Button } from "../ui/Button.tsx";
import { ErrorNote } from "../ui/ErrorNote.tsx";
import { Progress } from "../ui/states.tsx";
import { useWorkbench } from "./useWorkbench.ts";
import styles from "./About.module.css";

/** Beside the page, in Electron and over `rlx serve`. */
const LICENSES = "licenses.txt";

async function readLicenses(): Promise<string> {
  const response = await fetch(LICENSES);
  if (!response.ok)
    throw new WorkbenchError("INPUT_UNREADABLE", `[window] ${LICENSES}: got status ${response.status}, expected 200`, {
      hint: "Build the window again: npm run build.",
    });
  return response.text();
}

export function About(): ReactNode {
  const info = useWorkbench((state) => current(state.info));
  const [licenses, setLicenses] = useState<Async<string>>(IDLE);
  const [questions] = useState(createQuestions);
  const show = (): void => void questions.ask<string>(IDLE, readLicenses, setLicenses);
  return (
    <div className={styles["about"]}>
      <p>
        {info === null ? "The engine has not answered yet." : `Version ${info.version}.`} A compiler, runtime and
        inspector for GGUF models.
      </p>
      <p>MIT licence. The packages in it have licences of their own.</p>
      {licenses.kind === "idle" ? <Button onClick={show}>Third-party licences</Button> : null}
      {licenses.kind === "loading" ? <Progress sentence="Reading the licences" fraction={null} /> : null}
      {licenses.kind === "failed" ? (
        <ErrorNote title="The licences could not be read" error={licenses.error} onRetry={show} />
      ) : null}
      {licenses.kind === "ready" ? (
        <pre
          ref={(element) => element?.focus()}
          className={styles["licenses"]}
          tabIndex={0}
          role="region"
          aria-label="Third-party licences"
        >
          {licenses.value}
        </pre>
      ) : null}
    </div>
  );
}
