/** What a slice takes: begin, end, stride and masks turned into one walk per axis. Shared by inference and the simulator. */
/** First, step and count of each sliced axis; shared with the simulator. */
export interface SliceAxis {
  readonly begin: number;
  readonly stride: number;
  readonly count: number;
  readonly squeeze: boolean;
}

export interface SliceSpec {
  readonly begin: readonly number[];
  readonly end: readonly number[];
  readonly stride?: readonly number[] | undefined;
  readonly beginMask?: readonly number[] | undefined;
  readonly endMask?: readonly number[] | undefined;
  readonly squeezeMask?: readonly number[] | undefined;
}

export function sliceAxes(shape: readonly number[], spec: SliceSpec): SliceAxis[] {
  return shape.map((size, i) => {
    const stride = spec.stride?.[i] ?? 1;
    const squeeze = (spec.squeezeMask?.[i] ?? 0) !== 0;
    const clamp = (n: number): number =>
      stride > 0 ? Math.min(Math.max(n, 0), size) : Math.min(Math.max(n, -1), size - 1);
    const wrap = (n: number): number => clamp(n < 0 ? n + size : n);
    const begin = (spec.beginMask?.[i] ?? 0) !== 0 ? (stride > 0 ? 0 : size - 1) : wrap(spec.begin[i] ?? 0);
    if (squeeze) return { begin, stride: 1, count: 1, squeeze };
    const end = (spec.endMask?.[i] ?? 0) !== 0 ? (stride > 0 ? size : -1) : wrap(spec.end[i] ?? 0);
    return { begin, stride, count: Math.max(0, Math.ceil((end - begin) / stride)), squeeze };
  });
}
