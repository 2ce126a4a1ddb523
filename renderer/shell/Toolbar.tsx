/** The bar at the top: the model, the subject (what it runs on, in which phase), the two things to do with them, the commands. */
import { isGraphAlone } from "../../main/contract/views/model.ts";
import { Moon, Sun, SunMoon } from "lucide-react";
import type { ReactNode } from "react";
import { COMMANDS, keyText } from "../../main/contract/commands.ts";
import { optionWords } from "../../main/contract/views/common.ts";
import { backendTitle } from "../../main/contract/views/graph.ts";
import { deviceTitle } from "../devices/choices.ts";
import { backendOf } from "../devices/runner.ts";
import { current } from "../session/async.ts";
import { Button, IconButton } from "../ui/Button.tsx";
import { bytes } from "../ui/format.ts";
import { cx } from "../ui/cx.ts";
import { Popover } from "../ui/Popover.tsx";
import { Segmented } from "../ui/Segmented.tsx";
import { exportRefusal } from "./commands.ts";
import { useCommands } from "./CommandsContext.ts";
import { TargetForm } from "./TargetForm.tsx";
import { isBusy } from "./tabs.ts";
import { onMac } from "./useShortcuts.ts";
import { useWorkbench } from "./useWorkbench.ts";
import styles from "./Shell.module.css";

export function Toolbar({ mac }: { readonly mac: boolean }): ReactNode {
  const commands = useCommands();
  const overview = useWorkbench((state) => current(state.model));
  const running = useWorkbench(isBusy);
  const refusal = overview === null ? null : exportRefusal(overview);
  return (
    <header className={cx(styles["bar"], mac && styles["mac"])}>
      <h1 className="visually-hidden">{overview?.title ?? "Opening"} in RLX Workbench</h1>
      <ModelPick />
      {overview?.canGraph.ok === true ? (
        <span id="target-pick" className={styles["target"]}>
          <SubjectPick />
        </span>
      ) : null}
      {overview?.canGraph.ok === true && !isGraphAlone(overview.kind) ? <PhaseSwitch /> : null}
      <span className={styles["go"]}>
        {running ? (
          <Button look="primary" onClick={commands["model.stop"].run}>
            Stop
          </Button>
        ) : (
          <Button look="primary" disabled={overview?.canRun.ok !== true} onClick={commands["model.run"].run}>
            Run
          </Button>
        )}
      </span>
      {overview?.canRun.ok === true && !isGraphAlone(overview.kind) ? <RunsOn /> : null}
      <Button
        disabled={overview === null || refusal !== null}
        title={refusal ?? undefined}
        onClick={commands["file.export"].run}
      >
        Export…
      </Button>
      <span className={styles["space"]} />
      <Memory />
      <CommandsButton />
      <ThemeButton />
    </header>
  );
}

export function StartBar({ mac }: { readonly mac: boolean }): ReactNode {
  return (
    <header className={cx(styles["bar"], mac && styles["mac"])}>
      <b className={styles["name"]}>RLX Workbench</b>
      <span className={styles["space"]} />
      <CommandsButton />
      <ThemeButton />
    </header>
  );
}

const PHASES = [
  { id: "prefill", text: "Prefill", hint: "The prompt, in chunks" },
  { id: "decode", text: "Decode", hint: "One token at a time" },
] as const;

function PhaseSwitch(): ReactNode {
  const phase = useWorkbench((state) => state.phase);
  const setPhase = useWorkbench((state) => state.setPhase);
  return <Segmented label="Phase" value={phase} options={PHASES} onChange={setPhase} />;
}

/** Said where answers are made elsewhere than on the subject: there it is a prediction. */
function RunsOn(): ReactNode {
  const devices = useWorkbench((state) => current(state.info)?.devices ?? null);
  const device = useWorkbench((state) => state.parameters.device);
  const backend = useWorkbench((state) => state.backend);
  const beside = useWorkbench((state) => state.beside);
  const isSubject = devices === null || backendOf(devices, device) === backend;
  if (isSubject && beside.length === 0) return null;
  const all = new Set([device, ...beside.map((each) => each.device)]);
  const runs = `on ${[...all].map((each) => deviceTitle(devices, each)).join(" and ")}`;
  return (
    <span
      className={styles["runsOn"]}
      title={
        isSubject
          ? `Answers are made ${runs}.`
          : `${backendTitle(backend)} is predicted. Answers, benchmarks and recordings are made ${runs}.`
      }
    >
      {isSubject ? (
        runs
      ) : (
        <>
          predicted<span className={styles["wide"]}>; runs here {runs}</span>
        </>
      )}
    </span>
  );
}

/** The engine serves every window: what this one's model takes of it stands beside. */
function Memory(): ReactNode {
  const status = useWorkbench((state) => state.status);
  const open = useWorkbench((state) => current(state.model)?.model ?? null);
  if (status === null) return <span className={styles["memory"]} />;
  const mine = status.models.find(({ model }) => model === open)?.bytes ?? 0;
  return (
    <span className={styles["memory"]} title={`${bytes(status.totalBytes)} of memory in this machine`}>
      engine {bytes(status.engineBytes)}
      {mine === 0 ? "" : `, this model ${bytes(mine)}`}
    </span>
  );
}

function CommandsButton(): ReactNode {
  const commands = useCommands();
  const keys = COMMANDS.find(({ id }) => id === "view.palette")?.keys[0] ?? "";
  return (
    <Button look="ghost" onClick={commands["view.palette"].run}>
      Commands <kbd className={cx(styles["kbd"], styles["wide"])}>{keyText(keys, onMac())}</kbd>
    </Button>
  );
}

function ThemeButton(): ReactNode {
  const theme = useWorkbench((state) => state.theme);
  const cycle = useWorkbench((state) => state.cycleTheme);
  const Icon = theme === "auto" ? SunMoon : theme === "light" ? Sun : Moon;
  return (
    <IconButton label={`Theme: ${theme === "auto" ? "automatic" : theme}`} onClick={cycle}>
      <Icon size={15} aria-hidden="true" />
    </IconButton>
  );
}

function ModelPick(): ReactNode {
  const commands = useCommands();
  const overview = useWorkbench((state) => current(state.model));
  const title = useWorkbench((state) => state.openingTitle);
  const recents = useWorkbench((state) => current(state.recents));
  const open = useWorkbench((state) => state.open);
  const isTwice = (name: string): boolean =>
    (recents ?? []).filter((recent) => recent.exists && recent.name === name).length > 1;
  return (
    <Popover
      firm
      label="Model:"
      width={340}
      trigger={
        <>
          <b>{overview?.title ?? title}</b>
          <span>{overview?.variant ?? ""}</span>
        </>
      }
    >
      {(close) => {
        const done = (then: () => void): void => {
          close();
          then();
        };
        return (
          <>
            {overview?.file?.path ? <p className={styles["path"]}>{overview.file.path}</p> : null}
            <div className={styles["row"]}>
              <Button small onClick={() => done(commands["file.open"].run)}>
                Open…
              </Button>
              <Button small onClick={() => done(commands["file.openPath"].run)}>
                Paste a path
              </Button>
              <Button small onClick={() => done(commands["file.close"].run)}>
                Close
              </Button>
            </div>
            {recents === null || recents.length === 0 ? null : (
              <div className={styles["menu"]}>
                <h3>Recent</h3>
                {recents
                  .filter(({ exists }) => exists)
                  .slice(0, 6)
                  .map(({ path, name, folder, bytes: size }) => (
                    <button
                      key={path}
                      type="button"
                      title={path}
                      onClick={() => done(() => void open({ kind: "path", path }))}
                    >
                      <span>
                        {name}
                        {isTwice(name) ? <small>{folder}</small> : null}
                      </span>
                      <em>{bytes(size)}</em>
                    </button>
                  ))}
              </div>
            )}
          </>
        );
      }}
    </Popover>
  );
}

const SHORT_UNITS: { readonly [units: string]: string } = {
  "cpu-ane": "CPU+ANE",
  "cpu-gpu": "CPU+GPU",
  all: "all units",
  cpu: "CPU",
};

function SubjectPick(): ReactNode {
  const backend = useWorkbench((state) => state.backend);
  const target = useWorkbench((state) => state.target);
  const targets = useWorkbench((state) => current(state.targets));
  const isGraph = useWorkbench((state) => isGraphAlone(current(state.model)?.kind ?? "model"));
  if (target === null) return null;
  const name = (list: readonly { readonly id: string; readonly title: string }[] | undefined, id: string): string =>
    list?.find((entry) => entry.id === id)?.title ?? id;
  const chip = name(targets?.chips, target.chip);
  const context = isGraph ? [] : [`ctx ${target.context}`];
  const placed = backend === "coreml";
  // Ways to compile that are on come before the machine: they are what differs.
  const options = placed ? optionWords(target.options) : [];
  const long = placed
    ? [name(targets?.units, target.units), ...options, `${chip}, ${name(targets?.oses, target.os)}`, ...context]
    : [chip, ...context];
  // In a small window what decides most comes first.
  const brief = target.chip.toUpperCase();
  const short = placed
    ? [SHORT_UNITS[target.units] ?? target.units, ...options, brief, ...context]
    : [brief, ...context];
  return (
    <Popover
      label="Runs on"
      width={360}
      trigger={
        <>
          <b>{backendTitle(backend)}</b>
          <span className={styles["wide"]}>{long.join(" · ")}</span>
          <span className={styles["narrow"]}>{short.join(" · ")}</span>
        </>
      }
    >
      <TargetForm />
    </Popover>
  );
}
