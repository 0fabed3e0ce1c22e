import { toHash } from '../base/brand.ts';
import type { Hash } from '../base/brand.ts';
import { checkLine } from '../base/check-text.ts';
import { invalid } from '../base/errors.ts';
import { NAME_CHARS_MAX } from './limits.ts';
import type { ThreadId } from './threads/thread-id.ts';

// Names of the documents and logs of workflows. The store publishes them as plain files of these names.

export const REGISTRY_DOC = 'workflows/workflow.yaml';
export const BUNDLES_PREFIX = 'workflows/bundles/';
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

export function historyPrefix(bundle: Hash): string {
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

/** Checks the name of a workflow. Names are lower case, so that none looks like the id of a thread. */
export function checkName(name: unknown): string {
  if (typeof name === 'string' && /^[a-z0-9][a-z0-9._-]*$/.test(name)) {
    if (name.length <= NAME_CHARS_MAX) return name;
  }
  throw invalid(
    'name',
    `is up to ${NAME_CHARS_MAX} lower-case letters, digits, ".", "_" and "-", got ${JSON.stringify(name)}`,
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
