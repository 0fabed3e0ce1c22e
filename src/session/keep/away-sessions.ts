import type { DocChange } from '../../engine/batch.ts';
import type { Engine } from '../../engine/engine.ts';
import type { Io } from '../../engine/io.ts';
import type { RootSource } from '../../engine/roots.ts';
import type { DocRow } from '../../engine/rows.ts';
import { parseRecord } from '../records/registry.ts';
import { parseRefsPage, type SessionPrefix } from '../records/session-refs.ts';
import { sessionRoots } from './session-roots.ts';

// Sessions whose files are with a client of a server. Their documents stand below a folder of their own, for two
// reasons. A path in them belongs to another machine, and any client with a token may have written them. The server
// opens none of those files, and keeps the blobs that they refer to.

const AWAY = 'away/';

function near(row: DocRow): DocRow {
  return { ...row, name: row.name.slice(AWAY.length) };
}

/** The engine of a server as the sessions of a client see it. */
export function awayView(engine: Engine): Engine {
  const own: Pick<Engine, 'commit' | 'getDoc' | 'listDocs'> = {
    async commit({ docs = [], ...batch }) {
      const far = docs.map((change): DocChange => ({ ...change, name: AWAY + change.name }));
      const committed = await engine.commit({ ...batch, docs: far });
      return { ...committed, docs: committed.docs.map(near) };
    },
    async getDoc(name) {
      const row = await engine.getDoc(AWAY + name);
      return row && near(row);
    },
    async listDocs(prefix, limit, after) {
      const from = after === undefined ? undefined : AWAY + after;
      const names = await engine.listDocs(AWAY + prefix, limit, from);
      return names.map((name) => name.slice(AWAY.length));
    },
  };
  return new Proxy(engine, {
    get(target, name) {
      if (Object.hasOwn(own, name)) return own[name as keyof typeof own];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

/** Yields every blob that such a session refers to, according to its client. */
export function awayRoots(engine: Engine, io: Io): RootSource {
  const source = sessionRoots(awayView(engine), io, { hasFiles: false });
  return {
    ...source,
    kind: 'sessions of clients',
    rootsIn: ({ docs, ...change }) =>
      source.rootsIn({
        ...change,
        docs: docs.filter(({ name }) => name.startsWith(AWAY)).map(near),
      }),
  };
}

/**
 * A document that a client may write: the rest of its name, and a check that throws CORRUPT when its content is
 * something else.
 */
interface AwayDoc {
  readonly rest: string;
  readonly check: (row: Pick<DocRow, 'name' | 'content'>) => unknown;
}

const KEY = '[A-Za-z0-9_-]{1,128}';

const AWAY_DOCS: Readonly<Record<SessionPrefix, AwayDoc | undefined>> = {
  'session/': { rest: KEY, check: parseRecord },
  'session-copies/': { rest: KEY, check: parseRecord },
  'session-refs/': { rest: `${KEY}/\\d{6}`, check: parseRefsPage },
  // Garbage collections write this document, and they run where the data is.
  'session-seen/': undefined,
};

/** The names of all these documents, each with its check. */
export function awayDocs(): { names: RegExp; check: AwayDoc['check'] }[] {
  return Object.entries(AWAY_DOCS).flatMap(([prefix, doc]) => {
    if (doc === undefined) return [];
    return [{ names: new RegExp(`^${AWAY}${prefix}${doc.rest}$`), check: doc.check }];
  });
}
