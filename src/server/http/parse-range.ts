export interface Range {
  readonly start: number;
  /** The end, exclusive. */
  readonly end: number;
}

/**
 * The one range that a `Range` header asks for. Undefined when there is none, or when a server may answer with the
 * whole: for several ranges, other units, or nonsense.
 */
export function parseRange(
  header: string | undefined,
  size: number,
): Range | 'unsatisfiable' | undefined {
  const [, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? '') ?? [];
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined;
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size };
  }
  const start = Number(first);
  const end = last === '' ? size : Math.min(Number(last) + 1, size);
  if (last !== '' && Number(last) < start) return undefined;
  return start >= size ? 'unsatisfiable' : { start, end };
}
