import { refOf } from '../events/payloads.ts';
import { byPlace } from '../projections/messages.ts';
import type { MessageParts } from '../projections/messages.ts';
import type { MessagePart } from '../projections/message-part.ts';
import type { ReadLine } from '../events/read-line.ts';

/** The parts of a stretch of the log: messages that began in it, and its changes to older ones. */
export interface SplitParts {
  /** In order. */
  readonly begun: readonly MessagePart[];
  readonly touched: readonly MessagePart[];
}

/** `isOlder` tells whether a message began before this stretch. */
export async function splitParts(
  parts: MessageParts,
  isOlder: (id: string) => Promise<boolean>,
): Promise<SplitParts> {
  const begun: MessagePart[] = [];
  const touched: MessagePart[] = [];
  for (const part of parts.values()) {
    const isHere = part.first > 0 && !(await isOlder(part.id));
    (isHere ? begun : touched).push(part);
  }
  return { begun: begun.toSorted(byPlace), touched };
}

/** Blobs that these lines name. */
export function refsIn(lines: readonly ReadLine[]): string[] {
  const refs = new Set<string>();
  for (const { written } of lines) {
    if (written === undefined) continue;
    const ref = refOf(written.payload);
    if (ref !== undefined) refs.add(ref.hash);
    const hash = written.type === 'attachment_added' ? written.payload['hash'] : undefined;
    if (typeof hash === 'string' && /^[0-9a-f]{64}$/.test(hash)) refs.add(hash);
  }
  return [...refs];
}
