import { createHash } from 'node:crypto';

const CHARS_MAX = 40;
const CHARS_KEPT = 32;
const DIGEST_CHARS = 6;

/**
 * Makes a path part of a task's id. A character that is not an ASCII letter or digit becomes a hyphen. A long path is
 * cut and gets the beginning of the path's SHA-1, and so does a path with characters that are rare in paths. Without it
 * all names written in another script would be one id, and one queue's task would stand for another's.
 */
export function toSlug(path: string): string {
  const slug = path.replaceAll(/[^A-Za-z0-9]/g, '-').replace(/^-+/, '');
  if (slug.length <= CHARS_MAX && /^[A-Za-z0-9/._-]*$/.test(path)) return slug;
  const digest = createHash('sha1').update(path).digest('hex').slice(0, DIGEST_CHARS);
  return `${slug.slice(0, CHARS_KEPT)}-${digest}`;
}
