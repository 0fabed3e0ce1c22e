import { invalid } from '../base/errors.ts';

const NAME_CHARS_MAX = 512;

/**
 * First segments that an engine keeps for itself. A log or document may also be kept as a plain file
 * of its name, and must never meet one of the engine's own files there.
 */
const RESERVED: ReadonlySet<string> = new Set([
  'FORMAT',
  'backup.json',
  'blobs',
  'contexts',
  'docs',
  'extents',
  'index.db',
  'journal',
  'lock.db',
  'owner.json',
  'quarantine',
  'quipu.sock',
  'tokens.json',
  'tokens.json.new',
  'turns',
]);

/**
 * The one check of the names of logs and documents: segments of letters, digits, `.`, `_` and `-`,
 * joined by `/`. Such a name is a safe relative path, and sorts alike by bytes and by characters.
 */
export function assertName(name: string, what = 'name'): void {
  if (name.length === 0 || name.length > NAME_CHARS_MAX) {
    throw invalid(what, `has 1 to ${NAME_CHARS_MAX} characters, got ${name.length}`);
  }
  const segments = name.split('/');
  for (const segment of segments) {
    if (segment === '.' || segment === '..' || !/^[A-Za-z0-9._-]+$/.test(segment)) {
      throw invalid(
        what,
        `is made of letters, digits, ".", "_" and "-" in segments joined by "/", got ${JSON.stringify(name)}`,
      );
    }
  }
  const [first = ''] = segments;
  if (RESERVED.has(first)) {
    throw invalid(what, `starts with ${JSON.stringify(first)}, which the store keeps for itself`);
  }
}
