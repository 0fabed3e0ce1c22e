import { QuipuError } from '../../base/errors.ts';
import type { DocChange } from '../../engine/batch.ts';
import type { Engine } from '../../engine/engine.ts';
import type { Io } from '../../engine/io.ts';
import type { RootSource } from '../../engine/roots.ts';
import type { DocRow } from '../../engine/rows.ts';
import { parseRefsPage } from './refs-page.ts';
import { sessionRoots } from './session-roots.ts';

// Sessions whose files are with a client of a server. What is noted about them stands below a folder of its own, because a path
// in it is one of another machine, and because whoever has a token may have written it: the server opens none of those
// files, and keeps the blobs that they refer to.

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

/** Every blob that such a session refers to, as the server was told. */
export function awayRoots(engine: Engine, io: Io): RootSource {
  const source = sessionRoots(awayView(engine), io, false);
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

/** CORRUPT for what is no page of references. */
export function checkAwayRefs(row: Pick<DocRow, 'name' | 'content'>): void {
  const names = Object.entries(parseRefsPage(row)).flat();
  if (names.every((name) => name === null || /^[0-9a-f]{64}$/.test(String(name)))) return;
  const message = `the document ${row.name} names something that is no blob`;
  throw new QuipuError('CORRUPT', message, { file: row.name, offset: 0 });
}

/** Whether a client could read it as the record of a session. */
export function isAwayRecord(content: string): boolean {
  const record: unknown = JSON.parse(content);
  if (typeof record !== 'object' || record === null) return false;
  const { id, file, movingTo = '', host = '', ...more } = record as Record<string, unknown>;
  const isText = [id, file, movingTo, host].every((text) => typeof text === 'string');
  return isText && Object.keys(more).length === 0;
}
