import { isFields } from '../../base/fields.ts';
import type { DocChange } from '../../engine/batch.ts';
import type { Engine } from '../../engine/engine.ts';
import { SCHEMA_VERSION, type ChatProblem } from './event.ts';
import { metaDoc } from './names.ts';

/** The place of the log of an archived chat: a list of pieces, each a blob, which the store compresses. */
export interface Archive {
  readonly hash: string;
  readonly lines: number;
  readonly bytes: number;
}

/** `session-<id>.meta.json`, names included. */
export interface ChatMeta {
  readonly session_id: string;
  readonly created_at: string;
  /** This time lags behind the last event by a minute at most. */
  readonly updated_at: string;
  readonly title: string;
  readonly schema_version: number;
  readonly pinned: boolean;
  readonly archived_at?: string;
  readonly archive?: Archive;
  /** Blobs of archives that the chat came back from: they may still be in the store, and are erased with a message. */
  readonly past_archives?: readonly string[];
}

export interface StoredMeta {
  readonly meta: ChatMeta;
  /** The version of the document; 0 when there is none. */
  readonly version: number;
  readonly problem?: ChatProblem;
}

export function newMeta(id: string, title: string, nowMs: number): ChatMeta {
  const at = new Date(nowMs).toISOString();
  return {
    session_id: id,
    created_at: at,
    updated_at: at,
    title,
    schema_version: SCHEMA_VERSION,
    pinned: false,
  };
}

/** The change that writes the document. `expectedVersion` is 0 for a chat that has none. */
export function metaChange(meta: ChatMeta, expectedVersion: number): DocChange {
  const content = `${JSON.stringify(meta, undefined, 2)}\n`;
  return { name: metaDoc(meta.session_id), content, expectedVersion, publish: true };
}

/** Returns undefined when there is no document. A document without valid content is reported, and the log counts. */
export async function readMeta(engine: Engine, id: string): Promise<StoredMeta | undefined> {
  const doc = await engine.getDoc(metaDoc(id));
  if (doc === undefined) return undefined;
  return { ...parseMeta(id, doc.content), version: doc.version };
}

export function parseMeta(id: string, content: string): Omit<StoredMeta, 'version'> {
  const value: unknown = JSON.parse(content);
  const found = isFields(value) ? value : {};
  const wrong: string[] = isFields(value) ? [] : ['it is no object'];
  const take = <T>(name: string, fits: (value: unknown) => boolean, otherwise: T): T => {
    const given = found[name];
    if (fits(given)) return given as T;
    if (given !== undefined || otherwise === undefined) wrong.push(`${name} is of another kind`);
    return otherwise;
  };
  const isTime = (time: unknown): boolean =>
    typeof time === 'string' && !Number.isNaN(Date.parse(time));
  const archive = found['archive'];
  const named = take('session_id', (name) => typeof name === 'string', id);
  if (named !== id) wrong.push(`it is about ${JSON.stringify(named.slice(0, 200))}`);
  const past = found['past_archives'];
  const meta: ChatMeta = {
    session_id: id,
    created_at: take('created_at', isTime, new Date(0).toISOString()),
    updated_at: take('updated_at', isTime, new Date(0).toISOString()),
    title: take('title', (title) => typeof title === 'string', ''),
    schema_version: take('schema_version', (version) => typeof version === 'number', 1),
    pinned: take('pinned', (pinned) => typeof pinned === 'boolean', false),
    ...(isTime(found['archived_at']) && { archived_at: String(found['archived_at']) }),
    ...(isArchive(archive) && { archive }),
    ...(Array.isArray(past) && { past_archives: past.map(String) }),
  };
  if (wrong.length === 0) return { meta };
  return { meta, problem: { seq: 0, kind: 'metadata', message: wrong.join(', ').slice(0, 500) } };
}

function isArchive(value: unknown): value is Archive {
  return (
    isFields(value) &&
    typeof value['hash'] === 'string' &&
    typeof value['lines'] === 'number' &&
    typeof value['bytes'] === 'number'
  );
}
