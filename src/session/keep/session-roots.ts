import type { Hash } from '../../base/brand.ts';
import { QuipuError } from '../../base/errors.ts';
import type { Engine } from '../../engine/engine.ts';
import type { Io } from '../../engine/io.ts';
import type { Root, RootSource } from '../../engine/roots.ts';
import type { DocRow } from '../../engine/rows.ts';
import { COPIES_PREFIX, REFS_PREFIX, SESSIONS_PREFIX } from './doc-names.ts';
import { FilesInUse } from './files-in-use.ts';
import { parseRefsPage } from './refs-page.ts';
import { Registry, parseRecord } from './registry.ts';

const PAGE_DOCS = 1000;

/**
 * Yields every blob that a session refers to: those that the store was told of, and those in the files themselves,
 * because other programs write lines there. While a file cannot be read, every blob that a line could name stays.
 * `hasFiles` is false for files that are on other machines, `root` is the store's own folder of sessions.
 */
export function sessionRoots(
  engine: Engine,
  io: Io,
  {
    hasFiles = true,
    root,
  }: { readonly hasFiles?: boolean; readonly root?: string | undefined } = {},
): RootSource {
  const files = new FilesInUse(engine, io, root);
  return {
    kind: 'sessions',
    async *roots() {
      for await (const row of refsPages(engine)) {
        yield* blobsOf(row);
        for (const [sha256, of] of unresolvedOf(row)) files.want(sha256, of);
      }
      const registry = new Registry(engine);
      if (hasFiles) {
        for await (const record of registry.all()) yield* files.take(record);
        for await (const record of registry.copies()) yield* files.take(record, false);
      }
      yield* files.resolve();
      yield* files.keepAll();
    },
    rootsIn({ docs }) {
      for (const row of docs) {
        if (row.name.startsWith(REFS_PREFIX)) {
          for (const [sha256, of] of unresolvedOf(row)) files.want(sha256, of);
        } else if (row.name.startsWith(SESSIONS_PREFIX) || row.name.startsWith(COPIES_PREFIX)) {
          if (hasFiles) files.hear(parseRecord(row));
        }
      }
      return docs
        .filter(({ name }) => name.startsWith(REFS_PREFIX))
        .flatMap((row) => [...blobsOf(row)]);
    },
    late: () => files.late(),
    unread: () => files.unread.map(({ id, file, why }) => `session ${id} at ${file}: ${why}`),
  };
}

async function* refsPages(engine: Engine): AsyncGenerator<DocRow> {
  let after: string | undefined;
  for (;;) {
    const names = await engine.listDocs(REFS_PREFIX, PAGE_DOCS, after);
    for (const name of names) {
      // A document that goes meanwhile belonged to a session that was removed.
      const row = await engine.getDoc(name);
      if (row !== undefined) yield row;
    }
    after = names.at(-1);
    if (names.length < PAGE_DOCS) return;
  }
}

function sessionOf(row: DocRow): string {
  const [of = ''] = row.name.slice(REFS_PREFIX.length).split('/');
  return of;
}

function* blobsOf(row: DocRow): Generator<Root> {
  for (const hash of Object.values(parseRefsPage(row))) {
    if (hash === null) continue;
    if (typeof hash !== 'string' || !/^[0-9a-f]{64}$/.test(hash)) {
      const message = `the document ${row.name} names something that is no blob`;
      throw new QuipuError('CORRUPT', message, { file: row.name, offset: 0 });
    }
    yield { blob: hash as Hash, of: sessionOf(row) };
  }
}

/** Yields references to blobs that the store lacked when they were noted. The store may have them by now. */
function* unresolvedOf(row: DocRow): Generator<[sha256: string, of: string]> {
  for (const [sha256, hash] of Object.entries(parseRefsPage(row))) {
    if (hash === null) yield [sha256, sessionOf(row)];
  }
}
