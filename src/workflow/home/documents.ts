import { toHash, type Hash } from '../../base/brand.ts';
import { invalid, corrupt, type QuipuError } from '../../base/errors.ts';
import { checkLine, kindOf, shown } from '../../base/text.ts';
import { eachName } from '../../engine/names.ts';
import type { Engine } from '../../engine/engine.ts';
import { NAME_CHARS_MAX, type ThreadId } from './workflows-home.ts';

// Names of the documents and logs of workflows. The store publishes them as plain files of these names.

export const REGISTRY_DOC = 'workflows/workflow.yaml';
const BUNDLES_PREFIX = 'workflows/bundles/';
export const NOTES_PREFIX = 'workflows/threads/';

const INDEX_NAME = /^workflows\/bundles\/([0-9a-f]{64})\/threads\.json$/;

export function indexDoc(bundle: Hash): string {
  return `${BUNDLES_PREFIX}${bundle}/threads.json`;
}

/** Returns the bundle whose index this document is. */
export function bundleOfIndex(name: string): Hash | undefined {
  const [, hash] = INDEX_NAME.exec(name) ?? [];
  return hash === undefined ? undefined : toHash(hash);
}

function historyPrefix(bundle: Hash): string {
  return `${BUNDLES_PREFIX}${bundle}/history/`;
}

/** `day` is YYYY-MM-DD in UTC. */
export function historyLog(bundle: Hash, day: string): string {
  return `${historyPrefix(bundle)}${day}.jsonl`;
}

export function dayOf(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 10);
}

/** Debug lines about a thread. */
export function infoLog(bundle: Hash, thread: ThreadId): string {
  return `${BUNDLES_PREFIX}${bundle}/${thread}.info.jsonl`;
}

export function noteDoc(thread: ThreadId): string {
  return `${NOTES_PREFIX}${thread}.json`;
}

/** Returns the thread whose note this document is. */
export function threadOfNote(name: string): string | undefined {
  if (!name.startsWith(NOTES_PREFIX) || !name.endsWith('.json')) return undefined;
  return name.slice(NOTES_PREFIX.length, -'.json'.length);
}

/** Checks the name of a workflow. Names are lower case, so that none looks like the id of a thread. */
export function checkName(name: unknown): string {
  if (typeof name === 'string' && /^[a-z0-9][a-z0-9._-]*$/.test(name)) {
    if (name.length <= NAME_CHARS_MAX) return name;
  }
  throw invalid(
    'name',
    `must be up to ${NAME_CHARS_MAX} lower-case letters, digits, ".", "_" and "-", got ${shown(name)}`,
  );
}

const ROLE_CHARS_MAX = 128;

/** Checks a role that a caller names: roles with two underscores are the engine's own. */
export function checkRole(role: unknown): string {
  const checked = checkLine(role, 'role', ROLE_CHARS_MAX);
  if (checked === '') throw invalid('role', 'is empty');
  if (checked.startsWith('__')) throw invalid('role', `${checked} is one of the engine's own`);
  return checked;
}

const HASH = /^[0-9a-f]{64}$/;

export function isHash(value: unknown): value is Hash {
  return typeof value === 'string' && HASH.test(value);
}

export function parseObject(name: string, content: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch (error) {
    throw unreadable(name, 'it is not JSON', error);
  }
  if (kindOf(value) === 'object') return value as Record<string, unknown>;
  throw unreadable(name, `it is ${kindOf(value)} and not an object`);
}

export function unreadable(name: string, problem: string, cause?: unknown): QuipuError<'CORRUPT'> {
  const message =
    `${name} cannot be read: ${problem}. Nothing was changed; put back a copy from a backup, ` +
    'or correct the document by hand';
  return corrupt(name, message, { cause });
}

/** Yields every bundle that ever had a thread: its index stays when it is empty. */
export function eachBundle(engine: Engine): AsyncGenerator<Hash, void, undefined> {
  return eachOf(engine, BUNDLES_PREFIX, bundleOfIndex);
}

/** Yields every thread, under way or finished. */
export function eachNote(engine: Engine): AsyncGenerator<string, void, undefined> {
  return eachOf(engine, NOTES_PREFIX, threadOfNote);
}

async function* eachOf<T>(
  engine: Engine,
  prefix: string,
  read: (name: string) => T | undefined,
): AsyncGenerator<T, void, undefined> {
  for await (const name of eachName((limit, after) => engine.listDocs(prefix, limit, after))) {
    const found = read(name);
    if (found !== undefined) yield found;
  }
}

/** Yields the logs of finished threads of a bundle, oldest day first. */
export function eachHistory(engine: Engine, bundle: Hash): AsyncGenerator<string, void, undefined> {
  return eachName((limit, after) => engine.listLogs(historyPrefix(bundle), limit, after));
}
