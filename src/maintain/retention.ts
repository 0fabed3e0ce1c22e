import type { ContextId } from '../base/brand.ts';

export interface RetentionPolicy {
  /** Removes contexts to which nothing was appended for this long. */
  readonly maxAgeMs?: number;
  /** Removes the oldest contexts until the payloads that the others lead to take at most this many bytes. */
  readonly maxBytes?: number;
  /** Look only at contexts with this label. */
  readonly label?: string;
  /** This many of the newest contexts stay, whatever their age and size. */
  readonly keep?: number;
}

/** A context as the policy sees it. */
export interface Retainable {
  readonly id: ContextId;
  readonly title?: string;
  readonly updatedAt: number;
  readonly labels: readonly string[];
  /** The context has the label `pinned`, or `pinned: true` in its metadata: no policy removes it. */
  readonly pinned: boolean;
  /** Payload bytes that this context leads to and that pinned and newer contexts do not. 0 when not asked for. */
  readonly bytes: number;
}

export interface RetentionPlan {
  readonly remove: readonly Retainable[];
  readonly keep: readonly Retainable[];
}

/** Sorts pinned contexts first, then by age, newest first: the order in which contexts may claim to stay. */
export function byClaim(a: Retainable, b: Retainable): number {
  if (a.pinned !== b.pinned) return a.pinned ? -1 : 1;
  return b.updatedAt - a.updatedAt || (a.id < b.id ? 1 : -1);
}

/** Decides which contexts go and removes none. `contexts` must be sorted by `byClaim`. */
export function planRetention(
  contexts: readonly Retainable[],
  policy: RetentionPolicy,
  nowMs: number,
): RetentionPlan {
  const { maxAgeMs = Infinity, maxBytes = Infinity, label, keep: keepCount = 0 } = policy;
  const asked = contexts.filter(({ labels }) => label === undefined || labels.includes(label));
  const remove: Retainable[] = [];
  const keep: Retainable[] = [];
  let bytes = 0;
  let free = 0;
  for (const context of asked) {
    const isSafe = context.pinned || free < keepCount;
    const isTooOld = nowMs - context.updatedAt > maxAgeMs;
    // Once a context did not fit, older ones are removed too: a gap in the history would surprise.
    const isTooMuch = bytes + context.bytes > maxBytes || remove.length > 0;
    if (!isSafe && (isTooOld || isTooMuch)) {
      remove.push(context);
      continue;
    }
    keep.push(context);
    bytes += context.bytes;
    if (!context.pinned) free += 1;
  }
  return { remove, keep };
}
