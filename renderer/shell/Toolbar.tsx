/** The bar at the top: the model, the target, the two things to do with them, and the commands. */
import { Moon, Sun, SunMoon } from "lucide-react";
import type { ReactNode } from "react";
import { COMMANDS, keyText } from "../../main/contract/commands.ts";
import { deviceTitle } from "../devices/choices.ts";
import { current } from "../session/async.ts";
import { Button, IconButton } from "../ui/Button.tsx";
import { bytes } from "../ui/format.ts";
import { cx } from "../ui/cx.ts";
import { Popover } from "../ui/Popover.tsx";
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
          <TargetPick />
        </span>
      ) : null}
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
      {overview?.canRun.ok === true && overview.kind !== "demo-graph" ? <RunsOn /> : null}
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

/** The route is a prediction for the target; this is where answers are really made. */
function RunsOn(): ReactNode {
  const devices = useWorkbench((state) => current(state.info)?.devices ?? null);
  const device = useWorkbench((state) => state.parameters.device);
  const beside = useWorkbench((state) => state.beside);
  return (
    <span className={styles["runsOn"]}>
      on {deviceTitle(devices, device)}
      {beside === null ? "" : ` and ${deviceTitle(devices, beside)}`}
    </span>
  );
}

function Memory(): ReactNode {
  const status = useWorkbench((state) => state.status);
  return (
    <span className={styles["memory"]}>
      {status === null ? "" : `${bytes(status.engineBytes)} of ${bytes(status.totalBytes)}`}
    </span>
  );
}

function CommandsButton(): ReactNode {
  const commands = useCommands();
  const keys = COMMANDS.find(({ id }) => id === "view.palette")?.keys[0] ?? "";
  return (
    <Button look="ghost" onClick={commands["view.palette"].run}>
      Commands <kbd className={styles["kbd"]}>{keyText(keys, onMac())}</kbd>
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
      {overview?.file?.path ? <p className={styles["path"]}>{overview.file.path}</p> : null}
      <div className={styles["row"]}>
        <Button small onClick={commands["file.open"].run}>
          Open…
        </Button>
        <Button small onClick={commands["file.openPath"].run}>
          Paste a path
        </Button>
        <Button small onClick={commands["file.close"].run}>
          Close
        </Button>
      </div>
      {recents === null || recents.length === 0 ? null : (
        <div className={styles["menu"]}>
          <h3>Recent</h3>
          {recents
            .filter(({ exists }) => exists)
            .slice(0, 6)
            .map(({ path, name, bytes: size }) => (
              <button key={path} type="button" title={path} onClick={() => void open({ kind: "path", path })}>
                <span>{name}</span>
                <em>{bytes(size)}</em>
              </button>
            ))}
        </div>
      )}
    </Popover>
  );
}

const SHORT_UNITS: { readonly [units: string]: string } = {
  "cpu-ane": "CPU+ANE",
  "cpu-gpu": "CPU+GPU",
  all: "all units",
  cpu: "CPU",
};

function TargetPick(): ReactNode {
  const target = useWorkbench((state) => state.target);
  const targets = useWorkbench((state) => current(state.targets));
  if (target === null) return null;
  const name = (list: readonly { readonly id: string; readonly title: string }[] | undefined, id: string): string =>
    list?.find((entry) => entry.id === id)?.title ?? id;
  return (
    <Popover
      label="Target of the prediction"
      width={360}
      trigger={
        <>
          <b>
            <span className={styles["wide"]}>Route for </span>Core ML
          </b>
          <span className={styles["wide"]}>
            {name(targets?.units, target.units)} · ctx {target.context} · {name(targets?.chips, target.chip)},{" "}
            {name(targets?.oses, target.os)}
          </span>
          {/* In a small window the chip comes first: no number is worth much without it. */}
          <span className={styles["narrow"]}>
            {target.chip.toUpperCase()} · {name(targets?.oses, target.os)} · {SHORT_UNITS[target.units] ?? target.units}{" "}
            · ctx {target.context}
          </span>
        </>
      }
    >
      <TargetForm />
    </Popover>
  );
}
