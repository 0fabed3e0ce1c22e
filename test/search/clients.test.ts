import { join } from 'node:path';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { Database } from '../../src/base/sqlite.ts';
import { WebClient } from '../../src/browser.ts';
import { RemoteEngine } from '../../src/client/remote-engine.ts';
import { storeOver } from '../../src/connect-store.ts';
import { openStore } from '../../src/open-store.ts';
import { ownerAccess, type Access, type Identity } from '../../src/server/access/access.ts';
import { createCalls } from '../../src/server/calls/create-calls.ts';
import { createHttpServer } from '../../src/server/http/create-http-server.ts';
import { openServed } from '../../src/server/open-served.ts';
import { ask } from '../../src/testing/search-suite/fixture.ts';
import { searchSuite } from '../../src/testing/search-suite/search-suite.ts';
import { serveOpened } from '../support/serve-engine.ts';
import type { Way } from '../support/serve-engine.ts';
import { freshFolder } from '../../src/testing/fresh-folder.ts';

const root = freshFolder('quipu-search-', afterAll);
let count = 0;
const newFolder = (): string => join(root, String((count += 1)));

for (const way of ['tcp', 'http'] satisfies Way[]) {
  searchSuite({
    name: `files over ${way}`,
    randomRuns: 1,
    takesExtractors: false,
    keepsSessions: false,
    async open() {
      const transport = await serveOpened(await openServed(newFolder()), way);
      return storeOver(new RemoteEngine(transport, { timeoutMs: 30_000 }));
    },
  });
}

describe('search', () => {
  it('is asked of the process that owns the folder', async () => {
    const folder = newFolder();
    const owner = await openStore(folder);
    onTestFinished(() => owner.close());
    const { id } = await owner.contexts.create();
    await owner.contexts.append(id, { type: 'm', payload: 'said by the owner' });
    // Each store of this process asks for the folder as another process would.
    const other = await openStore(folder);
    onTestFinished(() => other.close());
    await other.contexts.append(id, { type: 'm', payload: 'said by another' });
    expect((await ask(other, 'said')).hits).toHaveLength(2);
    expect((await ask(owner, 'another')).hits).toHaveLength(1);
  });

  it('answers a web page', async () => {
    const served = await openServed(newFolder());
    onTestFinished(() => served.store.close());
    const server = createHttpServer({ served, calls: createCalls(served), access: ownerAccess });
    const { url } = await server.listen(0, '127.0.0.1');
    onTestFinished(() => server.close(100));
    const { id } = await served.store.contexts.create();
    await served.store.contexts.append(id, { type: 'm', payload: 'a page & more' });
    const client = new WebClient(url);
    const wish = { facets: true, limit: 5, around: 1, waitMs: 20_000 };
    const answer = await client.search('page OR "& more"', wish);
    expect(answer.hits).toMatchObject([{ id: '1', snippet: { text: 'a page & more' } }]);
    expect(answer.facets?.kind).toEqual([{ value: 'context', count: 1 }]);
    await expect(client.search('"open')).rejects.toMatchObject({ code: 'INVALID' });
    await expect(client.search('x', { limit: 1000 })).rejects.toMatchObject({ code: 'INVALID' });
  });

  it('shows nothing to whoever may not read', async () => {
    const served = await openServed(newFolder());
    onTestFinished(() => served.store.close());
    const { id } = await served.store.contexts.create();
    await served.store.contexts.append(id, { type: 'm', payload: 'the secret plan' });
    const holders: Record<string, Identity> = {
      reader: { name: 'reader', scope: 'read' },
      admin: { name: 'admin', scope: 'admin' },
    };
    const access: Access = {
      tokensNeeded: true,
      identify: (token = '') => Promise.resolve(holders[token]),
    };
    const server = createHttpServer({ served, calls: createCalls(served), access });
    const { url } = await server.listen(0, '127.0.0.1');
    onTestFinished(() => server.close(100));
    const search = async (token: string): Promise<readonly [number, string]> => {
      const headers = token === '' ? {} : { authorization: `Bearer ${token}` };
      const response = await fetch(new URL('/v1/search?q=secret&waitMs=20000', url), { headers });
      return [response.status, await response.text()];
    };
    for (const token of ['', 'nobody']) {
      const [status, text] = await search(token);
      expect([token, status, text.includes('plan')]).toEqual([token, 401, false]);
    }
    for (const token of ['reader', 'admin']) {
      const [status, text] = await search(token);
      expect([token, status, text.includes('the secret plan')]).toEqual([token, 200, true]);
    }
    // A token that is taken back finds nothing more.
    delete holders['reader'];
    expect((await search('reader'))[0]).toBe(401);
  });

  it.each([
    ['of another version', (db: Database) => db.exec('PRAGMA user_version = 2')],
    ['of a version that is to come', (db: Database) => db.exec('PRAGMA user_version = 99')],
  ])('builds an index again that is %s', async (_, change) => {
    const folder = newFolder();
    const first = await openStore(folder);
    const { id } = await first.contexts.create();
    await first.contexts.append(id, { type: 'm', payload: 'said before' });
    expect((await ask(first, 'said')).hits).toHaveLength(1);
    await first.close();
    const db = new Database(join(folder, 'search.db'));
    change(db);
    db.close();
    const store = await openStore(folder);
    onTestFinished(() => store.close());
    expect((await ask(store, 'said')).hits).toHaveLength(1);
  });

  it('is off where it was turned off, and leaves an index that is there to the first erasure', async () => {
    const folder = newFolder();
    const store = await openStore(folder);
    const { id } = await store.contexts.create();
    const turn = await store.contexts.append(id, { type: 'm', payload: 'said' });
    await ask(store, 'said');
    await store.close();
    const without = await openStore(folder, { search: false });
    onTestFinished(() => without.close());
    await expect(without.search('said')).rejects.toMatchObject({ code: 'UNSUPPORTED' });
    const { existsSync } = await import('node:fs');
    expect(existsSync(join(folder, 'search.db'))).toBe(true);
    await without.contexts.erase(turn.id, { reason: 'asked to' });
    expect(existsSync(join(folder, 'search.db'))).toBe(false);
  });
});
