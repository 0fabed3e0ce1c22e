import { NO_TURN } from '../base/brand.ts';
import { isQuipuError, orNothing } from '../base/errors.ts';
import { untilFirst } from '../base/retry.ts';
import { eachName } from '../engine/names.ts';
import type { Engine } from '../engine/engine.ts';
import type { HeadRow } from '../engine/rows.ts';
import {
  contextName,
  decodeStreamRecord,
  producerDocs,
  streamDoc,
  encodeStreamRecord,
  STREAM_DOCS,
  type StreamRecord,
} from './stream-record.ts';

// A stream is a document and a context. Whoever writes one of them names the version of the document, or the head of
// the context, that it has read. So two writers never undo each other, in one process or in several.
//
// A stream ends in steps that can be cut off anywhere: its context goes with the first commit, and the document says
// that the stream is deleted until the documents of all producers are gone. Whoever meets the rest takes it away.

export interface StreamParts {
  readonly engine: Engine;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

interface Stored {
  readonly record: StreamRecord;
  /** The version of the document. */
  readonly version: number;
}

export interface LiveStream extends Stored {
  readonly is: 'live';
  readonly context: HeadRow;
}

/** Deleted or expired, but other streams were forked from it and are still there. */
export interface GoneStream extends Stored {
  readonly is: 'gone';
}

/** To be removed. */
interface DeadStream extends Stored {
  readonly is: 'dead';
  readonly context: HeadRow | undefined;
}

/** Documents removed in one commit. */
const PAGE = 500;

/** Does the task again when another writer was faster. */
export function untilSettled<T>(task: () => Promise<T>): Promise<T> {
  return untilFirst(task, { isLost: isOvertaken });
}

function isOvertaken(error: unknown): boolean {
  if (isQuipuError(error, 'HEAD_MOVED')) return true;
  // The stream was deleted, or created, since somebody looked for it.
  const isOther = isQuipuError(error, 'NOT_FOUND') || isQuipuError(error, 'EXISTS');
  return isOther && error.data.what !== 'stream';
}

/** The number of messages of a stream. */
export function tailOf({ record, context }: Pick<LiveStream, 'record' | 'context'>): number {
  const turns = context.head === NO_TURN ? 0 : context.headDepth + 1;
  return Math.min(record.closed ?? turns, turns);
}

/** Removes what it finds expired or half removed. */
export async function findStream(
  parts: StreamParts,
  name: string,
): Promise<LiveStream | GoneStream | undefined> {
  return untilSettled(async () => {
    for (;;) {
      const found = await look(parts, name);
      if (found?.is !== 'dead') return found;
      await removeStep(parts, found);
    }
  });
}

async function look(
  { engine, clock }: StreamParts,
  name: string,
): Promise<LiveStream | GoneStream | DeadStream | undefined> {
  const stored = await getStored(engine, name);
  if (stored === undefined) return undefined;
  const { record } = stored;
  if (record.deleted && record.forks > 0) return { is: 'gone', ...stored };
  const context = await engine.findContext(contextName(name));
  if (context === undefined || record.deleted || isExpired(record, clock())) {
    return { is: 'dead', ...stored, context };
  }
  return { is: 'live', ...stored, context };
}

async function getStored(engine: Engine, name: string): Promise<Stored | undefined> {
  const doc = await engine.getDoc(streamDoc(name));
  return doc && { record: decodeStreamRecord(doc.name, doc.content), version: doc.version };
}

/** Also removes sources that were deleted before and waited for this fork to go. */
export async function removeStream(
  parts: StreamParts,
  name: string,
): Promise<'removed' | 'gone' | 'missing'> {
  return untilSettled(async () => {
    const found = await findStream(parts, name);
    if (found === undefined) return 'missing';
    if (found.is === 'gone') return 'gone';
    await removeStep(parts, { ...found, is: 'dead' });
    return 'removed';
  });
}

/** Removes every stream whose time is over, and what was left of others. Their bytes go with the next collection. */
export async function removeExpiredStreams(parts: StreamParts): Promise<void> {
  const { engine } = parts;
  const names = eachName((limit, after) => engine.listDocs(STREAM_DOCS, limit, after));
  for await (const name of names) await removeIfExpired(parts, name);
}

async function removeIfExpired(parts: StreamParts, name: string): Promise<void> {
  // The messages of a stream with a damaged document stay.
  await orNothing(async () => {
    const doc = await parts.engine.getDoc(name);
    if (doc !== undefined) await findStream(parts, decodeStreamRecord(name, doc.content).name);
  }, 'CORRUPT');
}

/** Removes the stream, or as much of it as fits one commit, and then its source, if that was waiting for this. */
async function removeStep(
  parts: StreamParts,
  { record, version, context }: DeadStream,
): Promise<void> {
  const { engine } = parts;
  const { name } = record;
  const producers = await engine.listDocs(producerDocs(name), PAGE);
  const isLast = producers.length < PAGE && record.forks === 0;
  const source =
    isLast && record.fork !== undefined ? await getStored(engine, record.fork.from) : undefined;
  const left = isLast ? undefined : encodeStreamRecord({ ...record, deleted: true });
  await engine.commit({
    contexts: context === undefined ? [] : [{ do: 'remove', context: context.id }],
    docs: [
      ...producers.map((doc) => ({ name: doc, content: undefined })),
      { name: streamDoc(name), content: left, expectedVersion: version },
      ...(source === undefined ? [] : [countForks(source, -1)]),
    ],
  });
  if (!isLast && record.forks === 0) await findStream(parts, name);
  if (source !== undefined) await findStream(parts, source.record.name);
}

/** The change of a source that gets one fork more or less. */
export function countForks(
  { record, version }: Stored,
  more: 1 | -1,
): { name: string; content: string; expectedVersion: number } {
  const forks = Math.max(0, record.forks + more);
  return {
    name: streamDoc(record.name),
    content: encodeStreamRecord({ ...record, forks }),
    expectedVersion: version,
  };
}

function isExpired({ until, expiresAt }: StreamRecord, nowMs: number): boolean {
  if (until !== undefined && nowMs >= until) return true;
  return expiresAt !== undefined && nowMs >= Date.parse(expiresAt);
}

/** The record of a stream that is used now, or the same object when there is nothing to note. */
export function used(record: StreamRecord, nowMs: number): StreamRecord {
  const { ttl, until = 0 } = record;
  if (ttl === undefined || until >= nowMs + ttl * 1000) return record;
  return { ...record, until: aliveUntil(ttl, nowMs) };
}

/**
 * Not every use is worth a commit. So a stream lives up to a sixteenth longer than its `ttl`, and uses within that
 * time are not noted.
 */
export function aliveUntil(ttl: number, nowMs: number): number {
  return nowMs + ttl * 1000 + Math.ceil((ttl * 1000) / 16);
}
