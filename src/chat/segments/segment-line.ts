import { isFields } from '../../base/fields.ts';
import { given } from '../../base/given.ts';
import { isAttachment, refOf } from '../events/payloads.ts';
import type { ReadLine } from '../events/read-line.ts';
import { byPlace, type MessageParts, type MessagePart } from '../projections/message-part.ts';

/** The number of events in a segment: a stretch of the log that is folded once and kept. */
export const SEGMENT_EVENTS = 1024;

/** Raise this version when the same events give other blobs. */
export const SEGMENTS_VERSION = 3;

/** The record of a segment. It contains no text: texts are in blobs, which can be erased. */
export interface SegmentLine {
  /** The rules that made the line: another version, or other upcasters, begin anew. */
  readonly made_by: string;
  /** The line of this log at which the segments of these rules begin. */
  readonly begin: number;
  readonly segment: number;
  /** The overview up to the segment's end. */
  readonly overview: string;
  /** The messages that began in the segment. */
  readonly messages: string;
  /** The segment's changes to older messages; absent when there are none. */
  readonly touches?: string;
  /** The run of the index of ids that ends with this segment. */
  readonly ids: string;
  readonly begun: number;
  /** Blobs that the events of the segment name. */
  readonly refs: readonly string[];
  /** The first event of the chat up to the segment's end that could not be read when the line was made. */
  readonly damaged?: number;
}

export function segmentOf(seq: number): number {
  return Math.floor((seq - 1) / SEGMENT_EVENTS);
}

/** Returns undefined when the line is something else: then there is no cache, and one is made. */
export function parseSegmentLine(line: string | undefined): SegmentLine | undefined {
  const value: unknown = line === undefined ? undefined : JSON.parse(line);
  if (!isFields(value)) return undefined;
  const { made_by, begin, segment, overview, messages, touches, ids, begun, refs, damaged } = value;
  const isHash = (text: unknown): text is string =>
    typeof text === 'string' && /^[0-9a-f]{64}$/.test(text);
  const isCount = (count: unknown): count is number =>
    Number.isSafeInteger(count) && (count as number) >= 0;
  if (typeof made_by !== 'string' || !isCount(begin) || !isCount(segment) || !isCount(begun)) {
    return undefined;
  }
  if (!isHash(overview) || !isHash(messages) || !isHash(ids)) return undefined;
  if (touches !== undefined && !isHash(touches)) return undefined;
  if (!Array.isArray(refs) || !refs.every(isHash)) return undefined;
  const touched = given({ touches });
  const holed = given({ damaged: isCount(damaged) ? damaged : undefined });
  return { made_by, begin, segment, overview, messages, ...touched, ids, begun, refs, ...holed };
}

/** The blobs of a segment that contain texts of messages. */
export function foldsOf({ messages, touches }: SegmentLine): string[] {
  return touches === undefined ? [messages] : [messages, touches];
}

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
    const hash = isAttachment(written) ? written.payload['hash'] : undefined;
    if (typeof hash === 'string' && /^[0-9a-f]{64}$/.test(hash)) refs.add(hash);
  }
  return [...refs];
}
