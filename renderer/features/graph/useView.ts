/**
 * Moves the view: fits a first picture, keeps an opened group in its place, follows the window's
 * size, serves requests.
 */
import { useReactFlow } from "@xyflow/react";
import { useCallback, useLayoutEffect, useRef } from "react";
import type { Viewport } from "../../drawing/lod.ts";
import { fitViewport } from "../../drawing/lod.ts";
import { boundsWithFrames } from "../../drawing/segmentFrames.ts";
import type { SegmentFrame } from "../../drawing/segmentFrames.ts";
import type { ViewRequest } from "./graphState.ts";
import type { Picture } from "../../drawing/graphModes.ts";
import type { KeptView, ViewMode } from "./view.ts";
import type { Size } from "../../drawing/lod.ts";
import { anchored, keepMiddle, requestTarget, revealed, viewportFor } from "./view.ts";

export interface ViewInput {
  readonly picture: Picture;
  /** Around the boxes, with words beside them; none in most modes. */
  readonly segments: readonly SegmentFrame[];
  readonly anchorGroup: number | null;
  readonly request: ViewRequest | null;
  /** A new picture is being laid out: requests for the whole view wait for it. */
  readonly pending: boolean;
  readonly size: Size;
  readonly legendHeight: number;
  readonly selected: number;
  readonly viewport: () => Viewport;
  /** The view of the last time this graph was on the screen. */
  readonly kept: KeptView | null;
  readonly keep: (view: KeptView) => void;
}

/**
 * Gives a function to call when the user moves the view: from then on the window does not move it.
 */
export function useView(input: ViewInput): () => void {
  const { picture, segments, anchorGroup, request, pending, size, legendHeight, selected, viewport, kept, keep } =
    input;
  const flow = useReactFlow();
  const before = useRef<Pick<ViewInput, "picture" | "segments" | "size" | "legendHeight"> | null>(null);
  const mode = useRef<ViewMode>(kept?.mode ?? "first");
  const done = useRef(kept?.done ?? 0);
  const hasRoom = size.width > 0 && size.height > 0;

  useLayoutEffect(() => {
    if (!hasRoom) return;
    const old = before.current;
    before.current = { picture, segments, size, legendHeight };
    const { scene } = picture;
    const choose = (): void => {
      const bounds = boundsWithFrames(scene, segments);
      if (mode.current !== "free")
        void flow.setViewport(viewportFor(mode.current, scene, { ...size, legendHeight }, bounds));
    };
    if (old === null) {
      if (kept !== null && kept.mode === "free") void flow.setViewport(kept.viewport);
      else choose();
      return;
    }
    if (old.size.width !== size.width || old.size.height !== size.height) {
      if (mode.current === "free") void flow.setViewport(keepMiddle(viewport(), old.size, size));
      else choose();
    } else if (old.legendHeight !== legendHeight) choose();
    if (old.picture === picture) {
      // Another mode, or another route: frames and their words came or went.
      if (old.segments !== segments) choose();
      return;
    }
    if (old.picture.model !== picture.model) {
      // Another target of the same model: the same boxes, so the view may stay.
      if (old.picture.scene.boxCount !== scene.boxCount) mode.current = "first";
      choose();
      return;
    }
    if (anchorGroup === null) {
      choose();
      return;
    }
    mode.current = "free";
    const next = anchored(old.picture, picture, anchorGroup, viewport(), size);
    if (next !== null) void flow.setViewport(next);
  }, [picture, segments, hasRoom, anchorGroup, flow, viewport, size, legendHeight, kept]);

  useLayoutEffect(() => {
    if (request === null || request.serial === done.current || !hasRoom) return;
    const target = requestTarget(picture, request, selected);
    if (target.kind === "wait" || (pending && target.kind === "whole")) return;
    done.current = request.serial;
    const old = mode.current;
    mode.current = target.kind === "whole" ? target.mode : "free";
    if (target.kind === "whole") {
      const bounds = boundsWithFrames(picture.scene, segments);
      void flow.setViewport(viewportFor(target.mode, picture.scene, { ...size, legendHeight }, bounds));
    } else if (target.kind === "reveal") {
      const to = revealed(viewport(), size, picture.scene, target.box);
      if (to === null) mode.current = old;
      else void flow.setViewport(to);
    } else if (target.kind === "zoom") void (target.by === "in" ? flow.zoomIn() : flow.zoomOut());
    else void flow.setViewport(fitViewport(target.rect, size.width, size.height, target.margin, target.most));
  }, [picture, segments, request, pending, selected, hasRoom, flow, size, legendHeight, viewport]);

  // The view is restored when the tab comes back.
  const last = useRef({ viewport, keep });
  last.current = { viewport, keep };
  useLayoutEffect(
    () => () => {
      last.current.keep({ viewport: last.current.viewport(), mode: mode.current, done: done.current });
    },
    [],
  );

  return useCallback(() => {
    mode.current = "free";
  }, []);
}
