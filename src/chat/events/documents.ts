import { toHash, type Hash } from '../../base/brand.ts';
import { corrupt, invalid, notFound } from '../../base/errors.ts';
import { isFields } from '../../base/fields.ts';
import { checkLine, shown } from '../../base/text.ts';
import { untilFirst } from '../../base/retry.ts';
import type { DocChange } from '../../engine/batch.ts';
import type { Engine } from '../../engine/engine.ts';
import { SCHEMA_VERSION, type ChatProblem } from './event.ts';
import { TITLE_CHARS_MAX, TYPE_CHARS_MAX, TYPES_MAX } from './limits.ts';
import { HELD_FOLDER, metaDoc, newId } from './names.ts';
import { isKnownType } from './payloads.ts';

// The documents of chats, each with its parser: the metadata of a chat, blobs on their way into one, types of events.

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
    ...(Array.isArray(past) && { past_archives: past.filter((one) => typeof one === 'string') }),
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

// A blob that was put and is not named by a chat yet could be collected. A document that names the blob keeps it until
// the commit that needs it has been made. A document that a crash left behind counts for a day.

const HELD_MS_MAX = 86_400_000;

export interface Held {
  readonly at: string;
  readonly hashes: readonly Hash[];
}

/** Keeps these blobs while `work` makes something refer to them. */
export async function holdBlobs<T>(
  engine: Engine,
  hashes: readonly Hash[],
  nowMs: number,
  work: () => Promise<T>,
): Promise<T> {
  const name = `${HELD_FOLDER}${newId(nowMs)}.json`;
  const held: Held = { at: new Date(nowMs).toISOString(), hashes };
  await engine.commit({ docs: [{ name, content: JSON.stringify(held), expectedVersion: 0 }] });
  try {
    return await work();
  } finally {
    await engine.commit({ docs: [{ name, content: undefined }] });
  }
}

/** Throws CORRUPT for anything else: a held blob must not be removed because its document is not understood. */
export function parseHeld(content: string): Held {
  const value: unknown = JSON.parse(content);
  const { at, hashes } = (isFields(value) ? value : {}) as { at?: unknown; hashes?: unknown };
  const isTime = typeof at === 'string' && !Number.isNaN(Date.parse(at));
  if (isTime && Array.isArray(hashes)) {
    return { at, hashes: (hashes as string[]).map((hash) => toHash(hash)) };
  }
  throw corrupt(HELD_FOLDER, 'a document of held blobs does not say which, or since when');
}

export function isHeld({ at }: Held, nowMs: number): boolean {
  return nowMs - Date.parse(at) < HELD_MS_MAX;
}

// The types of events that programs have added to those of version 1. Readers everywhere know them: the list is a
// document of the store. A registered type is no problem of a chat; its payload means something to its program alone.

const TYPES_DOC = 'chats-types/types.json';

export interface CustomType {
  readonly type: string;
  /** The text that tells people about such an event. */
  readonly about: string;
  /** ISO 8601, UTC. */
  readonly since: string;
}

export function checkType(type: unknown): string {
  if (
    typeof type === 'string' &&
    type.length <= TYPE_CHARS_MAX &&
    /^[a-z0-9][a-z0-9_.]*$/.test(type)
  )
    return type;
  throw invalid('type', `must be a short name such as message_added, got ${shown(type)}`);
}

export async function readTypes(engine: Engine): Promise<readonly CustomType[]> {
  const doc = await engine.getDoc(TYPES_DOC);
  return doc === undefined ? [] : parseTypes(doc.content);
}

export async function knownTypes(engine: Engine): Promise<ReadonlySet<string>> {
  return new Set((await readTypes(engine)).map(({ type }) => type));
}

/** Throws CORRUPT for anything that `registerType` does not write. */
export function parseTypes(content: string): readonly CustomType[] {
  const value: unknown = JSON.parse(content);
  const list = isFields(value) ? value['types'] : undefined;
  const fits = (one: unknown): boolean =>
    isFields(one) &&
    ['type', 'about', 'since'].every((name) => typeof one[name] === 'string') &&
    Object.keys(one).length === 3;
  if (Array.isArray(list) && list.length <= TYPES_MAX && list.every(fits)) {
    return list as readonly CustomType[];
  }
  throw corrupt(TYPES_DOC, 'the document is not a list of event types');
}

export async function registerType(
  { engine, clock }: { readonly engine: Engine; readonly clock: () => number },
  given: string,
  about: string = '',
): Promise<CustomType> {
  const type = checkType(given);
  checkLine(about, 'about', TITLE_CHARS_MAX);
  if (isKnownType(type)) throw invalid('type', `${type} is one of the types that chats have`);
  const added = { type, about, since: new Date(clock()).toISOString() };
  await changeTypes(engine, (types) => {
    if (types.length >= TYPES_MAX)
      throw invalid('type', `is one too many: at most ${TYPES_MAX} types can be registered`);
    return [...types.filter((one) => one.type !== type), added].toSorted(byType);
  });
  return added;
}

/** The events stay. Readers that do not know the type report it again. */
export async function forgetType(engine: Engine, given: string): Promise<void> {
  const type = checkType(given);
  await changeTypes(engine, (types) => {
    if (types.some((one) => one.type === type)) return types.filter((one) => one.type !== type);
    throw notFound('type', type, `no type ${type} is registered`);
  });
}

async function changeTypes(
  engine: Engine,
  change: (types: readonly CustomType[]) => readonly CustomType[],
): Promise<void> {
  await untilFirst(async () => {
    const doc = await engine.getDoc(TYPES_DOC);
    const types = change(doc === undefined ? [] : parseTypes(doc.content));
    const content = JSON.stringify({ types });
    await engine.commit({
      docs: [{ name: TYPES_DOC, content, expectedVersion: doc?.version ?? 0 }],
    });
  });
}

function byType(a: CustomType, b: CustomType): number {
  return a.type < b.type ? -1 : 1;
}
