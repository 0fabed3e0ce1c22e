import { QuipuError } from '../../base/errors.ts';
import type { DocRow } from '../../engine/rows.ts';

/** The SHA-256 of each blob, and the store's name for it; null when the store had no such blob yet. */
export type RefsPage = Readonly<Record<string, string | null>>;

/** The number of references on one page: each new one rewrites its page, so pages are short. */
export const REFS_PER_PAGE = 32;

export function parseRefsPage(row: Pick<DocRow, 'name' | 'content'>): RefsPage {
  try {
    const page: unknown = JSON.parse(row.content);
    if (typeof page === 'object' && page !== null && !Array.isArray(page)) return page as RefsPage;
  } catch {
    // The error below covers this, as any other content that is not a page.
  }
  const message = `the document ${row.name} is no list of references`;
  throw new QuipuError('CORRUPT', message, { file: row.name, offset: 0 });
}
