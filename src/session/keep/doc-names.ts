import { sha256Hex } from '../../base/hash.ts';
import { encodeUtf8 } from '../../base/utf8.ts';

export const SESSIONS_PREFIX = 'session/';
export const REFS_PREFIX = 'session-refs/';
const SEEN_PREFIX = 'session-seen/';
export const COPIES_PREFIX = 'session-copies/';

/** Every document of sessions begins with one of these. For each there is a rule about what a client may write. */
export type SessionPrefix =
  | typeof SESSIONS_PREFIX
  | typeof REFS_PREFIX
  | typeof SEEN_PREFIX
  | typeof COPIES_PREFIX;

/** The session's id where it can be part of a name. Ids made here can. Ids of other programs may be any text. */
function keyOf(id: string): string {
  if (/^[A-Za-z0-9_-]{1,128}$/.test(id)) return id;
  return `x${sha256Hex(encodeUtf8(id)).slice(0, 40)}`;
}

export function sessionDoc(id: string): string {
  return SESSIONS_PREFIX + keyOf(id);
}

export function seenDoc(id: string): string {
  return SEEN_PREFIX + keyOf(id);
}

export function refsPrefix(id: string): string {
  return `${REFS_PREFIX}${keyOf(id)}/`;
}

export function refsDoc(id: string, page: number): string {
  return refsPrefix(id) + String(page).padStart(6, '0');
}

export function copyDoc(file: string): string {
  return COPIES_PREFIX + sha256Hex(encodeUtf8(file)).slice(0, 40);
}
