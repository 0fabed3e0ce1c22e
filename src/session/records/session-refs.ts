import { corrupt } from '../../base/errors.ts';
import { parseJsonObject } from '../../base/fields.ts';
import { groupsOf } from '../../base/pages.ts';
import { hashBytes, sha256Hex } from '../../base/hash.ts';
import { encodeUtf8 } from '../../base/text.ts';
import { untilFirst } from '../../base/retry.ts';
import type { BlobPut, DocChange } from '../../engine/batch.ts';
import { eachName } from '../../engine/names.ts';
import type { Engine } from '../../engine/engine.ts';
import type { DocRow } from '../../engine/rows.ts';
import type { BlobToPut } from '../entries/pictures.ts';

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

function refsPrefix(id: string): string {
  return `${REFS_PREFIX}${keyOf(id)}/`;
}

function refsDoc(id: string, page: number): string {
  return refsPrefix(id) + String(page).padStart(6, '0');
}

export function copyDoc(file: string): string {
  return COPIES_PREFIX + sha256Hex(encodeUtf8(file)).slice(0, 40);
}

// The blobs that a session keeps alive. A blob and the note that the session needs it become durable in one commit,
// before the entry that refers to it is written: so no garbage collection ever finds it without a use.

/** Up to this size a blob goes with the commit. Larger blobs are put before it, and collections spare young blobs. */
const COMMIT_BLOB_BYTES = 1_048_576;
const COMMIT_BYTES = 4 * COMMIT_BLOB_BYTES;

interface Page {
  readonly version: number;
  readonly refs: Record<string, string | null>;
}

export class SessionRefs {
  readonly #engine: Engine;
  readonly #id: string;
  #pages: Page[] | undefined;
  /** By SHA-256; null for blobs that the store lacked when they were noted. */
  #noted = new Map<string, string | null>();

  constructor(engine: Engine, id: string) {
    this.#engine = engine;
    this.#id = id;
  }

  /** Stores the blobs that this session does not have yet, with the note that it needs them, and `others`. */
  async put(blobs: readonly BlobToPut[], others: Iterable<string> = []): Promise<void> {
    await this.#load();
    const sizeOf = ({ bytes }: BlobToPut): number =>
      Math.max(bytes.length, COMMIT_BYTES / REFS_PER_PAGE);
    const news = blobs.filter(({ sha256 }) => typeof this.#noted.get(sha256) !== 'string');
    for (const group of groupsOf(news, COMMIT_BYTES, sizeOf)) {
      await this.#commit(await this.#toNamed(group));
    }
    await this.adopt(others);
  }

  /** Notes blobs, also those that the store does not have: they may come later than the entries that refer to them. */
  async adopt(sha256s: Iterable<string>): Promise<void> {
    const wanted = [...new Set(sha256s)];
    if (wanted.length === 0) return;
    await this.#load();
    const news = wanted.filter((sha256) => typeof this.#noted.get(sha256) !== 'string');
    for (const group of groupsOf(news, REFS_PER_PAGE)) {
      const named: Named[] = [];
      for (const sha256 of group) {
        named.push({ sha256, hash: (await this.#engine.findBySha256(sha256)) ?? null });
      }
      await this.#commit(named);
    }
  }

  /** Every reference of the session, by SHA-256. */
  async all(): Promise<ReadonlySet<string>> {
    this.#pages = undefined;
    await this.#load();
    return new Set(this.#noted.keys());
  }

  /** The documents to remove with the session. */
  async names(): Promise<string[]> {
    const prefix = refsPrefix(this.#id);
    const names: string[] = [];
    const list = eachName((limit, after) => this.#engine.listDocs(prefix, limit, after));
    for await (const name of list) names.push(name);
    return names;
  }

  async #toNamed(blobs: readonly BlobToPut[]): Promise<Named[]> {
    const named: Named[] = [];
    for (const { sha256, bytes } of blobs) {
      if (bytes.length <= COMMIT_BLOB_BYTES) {
        const hash = hashBytes(bytes);
        named.push({ sha256, hash, put: { hash, bytes, sha256 } });
      } else {
        const { hash } = await this.#engine.putBlob({ chunks: inPieces(bytes), sha256: true });
        named.push({ sha256, hash });
      }
    }
    return named;
  }

  /** Another process may note something at the same moment. Then this reads the new pages and tries again. */
  async #commit(named: readonly Named[]): Promise<void> {
    await untilFirst(async () => {
      const pages = await this.#load();
      const wanted = named.filter(({ sha256, hash }) => {
        const noted = this.#noted.get(sha256);
        return noted === undefined || (noted === null && hash !== null);
      });
      if (wanted.length === 0) return;
      const docs = planPages(this.#id, pages, wanted);
      const blobs = wanted.flatMap(({ put }) => put ?? []);
      try {
        await this.#engine.commit({ blobs, docs: docs.map(({ change }) => change) });
      } catch (error) {
        this.#pages = undefined;
        throw error;
      }
      for (const { page, next } of docs) pages[page] = next;
      for (const { sha256, hash } of wanted) this.#noted.set(sha256, hash);
    });
  }

  async #load(): Promise<Page[]> {
    if (this.#pages !== undefined) return this.#pages;
    const pages: Page[] = [];
    const noted = new Map<string, string | null>();
    for (const name of await this.names()) {
      const row = await this.#engine.getDoc(name);
      if (row === undefined) continue;
      const refs = parseRefsPage(row);
      for (const [sha256, hash] of Object.entries(refs)) {
        noted.set(sha256, hash ?? noted.get(sha256) ?? null);
      }
      pages.push({ version: row.version, refs });
    }
    this.#noted = noted;
    this.#pages = pages;
    return pages;
  }
}

interface Named {
  readonly sha256: string;
  readonly hash: BlobPut['hash'] | null;
  readonly put?: BlobPut;
}

interface PlannedPage {
  readonly page: number;
  readonly next: Page;
  readonly change: DocChange;
}

/** Fills the last page, then begins new ones. */
function planPages(id: string, pages: readonly Page[], wanted: readonly Named[]): PlannedPage[] {
  const planned: PlannedPage[] = [];
  let at = 0;
  for (let page = Math.max(0, pages.length - 1); at < wanted.length; page++) {
    const old = pages[page];
    const refs = { ...old?.refs };
    const room = REFS_PER_PAGE - Object.keys(refs).length;
    for (const { sha256, hash } of wanted.slice(at, at + room)) refs[sha256] = hash;
    if (room <= 0) continue;
    at += room;
    const version = old?.version ?? 0;
    const change: DocChange = {
      name: refsDoc(id, page),
      content: JSON.stringify(refs),
      expectedVersion: version,
    };
    planned.push({ page, next: { version: version + 1, refs }, change });
  }
  return planned;
}

async function* inPieces(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  for (let start = 0; start < bytes.length; start += COMMIT_BLOB_BYTES) {
    yield bytes.subarray(start, start + COMMIT_BLOB_BYTES);
  }
}

/** The SHA-256 of each blob, and the store's name for it; null when the store had no such blob yet. */
type RefsPage = Readonly<Record<string, string | null>>;

/** The number of references on one page: each new one rewrites its page, so pages are short. */
const REFS_PER_PAGE = 32;

/** Throws CORRUPT for anything else. */
export function parseRefsPage(row: Pick<DocRow, 'name' | 'content'>): RefsPage {
  const page = parseJsonObject(row.content);
  if (page === undefined) {
    throw corrupt(row.name, `the document ${row.name} is no list of references`);
  }
  const isName = (name: unknown): boolean =>
    typeof name === 'string' && /^[0-9a-f]{64}$/.test(name);
  const isRef = ([sha256, hash]: readonly unknown[]): boolean =>
    isName(sha256) && (hash === null || isName(hash));
  if (Object.entries(page).every(isRef)) return page as RefsPage;
  throw corrupt(row.name, `the document ${row.name} names something that is no blob`);
}
