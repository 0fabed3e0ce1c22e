// A version of a document as the difference from an earlier one. The content of its record is the JSON text
// `[offset, length, kept, tail, middle]`. The record at `offset`, `length` bytes long, has the earlier content. The
// first `kept` and the last `tail` UTF-16 code units of it stay, with `middle` between them.

export interface DocDifference {
  readonly offset: number;
  readonly length: number;
  readonly kept: number;
  readonly tail: number;
  readonly middle: string;
}

/** Undefined when the difference would not take less than half of the content. */
export function encodeDocDifference(
  before: string,
  content: string,
  place: { readonly offset: number; readonly length: number },
): string | undefined {
  const most = Math.min(before.length, content.length);
  let kept = 0;
  while (kept < most && before.charCodeAt(kept) === content.charCodeAt(kept)) kept += 1;
  let tail = 0;
  while (tail < most - kept && before.at(-1 - tail) === content.at(-1 - tail)) tail += 1;
  const middle = content.slice(kept, content.length - tail);
  const text = JSON.stringify([place.offset, place.length, kept, tail, middle]);
  return text.length * 2 < content.length ? text : undefined;
}

/** Undefined for a text that is not a difference. */
export function decodeDocDifference(text: string): DocDifference | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // SyntaxError: the answer.
    return undefined;
  }
  if (!Array.isArray(value) || value.length !== 5) return undefined;
  const numbers = value.slice(0, 4) as unknown[];
  const middle: unknown = value[4];
  if (!numbers.every((n) => Number.isSafeInteger(n) && (n as number) >= 0)) return undefined;
  if (typeof middle !== 'string') return undefined;
  const [offset = 0, length = 0, kept = 0, tail = 0] = numbers as number[];
  return { offset, length, kept, tail, middle };
}

/** Undefined when the earlier content is too short for the difference. */
export function applyDocDifference(
  before: string,
  { kept, tail, middle }: DocDifference,
): string | undefined {
  if (kept + tail > before.length) return undefined;
  return before.slice(0, kept) + middle + before.slice(before.length - tail);
}
