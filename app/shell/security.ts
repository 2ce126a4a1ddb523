/**
 * Forbidden to every page: leaving our origin, windows, webviews, permissions, the network.
 * Every rule compares parsed URLs, never prefixes of text.
 */
import type { App, Session, WebContents } from "electron";
import { shell } from "electron";

export const SCHEME = "workbench";
export const APP_HOST = "app";
export const APP_URL = `${SCHEME}://${APP_HOST}/index.html`;

/** Links that open in the user's browser. */
const OUTSIDE_HOSTS: ReadonlySet<string> = new Set(["huggingface.co", "developer.apple.com", "github.com"]);

function parse(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}

export function isOurPage(text: string): boolean {
  const url = parse(text);
  return url?.protocol === `${SCHEME}:` && url.host === APP_HOST;
}

export function isAllowedOutside(text: string): boolean {
  const url = parse(text);
  return url?.protocol === "https:" && url.username === "" && url.port === "" && OUTSIDE_HOSTS.has(url.hostname);
}

/** An ipc message counts only from the top frame of our own page. */
export function isTrustedSender(frame: { readonly url: string; readonly parent: unknown } | null | undefined): boolean {
  return frame !== null && frame !== undefined && frame.parent === null && isOurPage(frame.url);
}

export function hardenContents(contents: WebContents): void {
  const stayHere = (event: { preventDefault(): void; readonly url: string }): void => {
    if (!isOurPage(event.url)) event.preventDefault();
  };
  contents.on("will-navigate", stayHere);
  contents.on("will-redirect", stayHere);
  contents.on("will-frame-navigate", stayHere);
  contents.on("will-attach-webview", (event) => event.preventDefault());
  contents.setWindowOpenHandler(({ url }) => {
    if (isAllowedOutside(url)) shell.openExternal(url).catch(() => undefined);
    return { action: "deny" };
  });
}

export function hardenSession(session: Session): void {
  session.setPermissionRequestHandler((_contents, _permission, decide) => decide(false));
  session.setPermissionCheckHandler(() => false);
  session.setDevicePermissionHandler(() => false);
  // Nothing is fetched: the page, its parts and its workers come from our own protocol.
  session.webRequest.onBeforeRequest((details, decide) => {
    const url = parse(details.url);
    const own =
      url !== undefined && ([`${SCHEME}:`, "devtools:", "blob:", "data:"] as readonly string[]).includes(url.protocol);
    decide({ cancel: !own });
  });
}

export function hardenApp(app: App): void {
  app.enableSandbox();
  app.on("web-contents-created", (_event, contents) => hardenContents(contents));
}
