import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isQuipuError } from '../../src/base/errors.ts';
import { openStore } from '../../src/open-store.ts';
import type { Scope } from '../../src/server/access/access.ts';
import { startServer } from '../../src/server/start-server.ts';
import type { ServerOptions } from '../../src/server/server-options.ts';
import { changeTokenFile, toTokenRecord } from '../../src/server/access/token-file.ts';
import type { Store } from '../../src/store/store.ts';
import { freshFolder } from '../../src/testing/fresh-folder.ts';

// Who may have the server's user, or everyone who runs workflows, run a program.

const quiet = (): void => undefined;
const BUNDLE = `
  export const descriptor = { name: 'far', roles: { a: {} } };
  export const roles = { a: () => 'x' };
  export const table = { __start__: 'a', a: '__end__' };`;

async function serve(
  given: Partial<ServerOptions>,
  scopes: readonly Scope[],
): Promise<{ tcp: string; http: string; access: string; folder: string }> {
  const folder = freshFolder('quipu-handlers-');
  const tokenFile = join(folder, 'tokens.json');
  const records = scopes.map((scope) => toTokenRecord(scope, { name: scope, scope, createdAt: 1 }));
  if (records.length > 0) await changeTokenFile(tokenFile, () => records);
  const store = join(folder, 'store');
  const server = await startServer({
    store,
    host: '127.0.0.1',
    httpPort: 0,
    tcpPort: 0,
    tokenFile,
    allowAnonymous: false,
    allowHandlers: false,
    origins: [],
    limits: {},
    demo: false,
    version: 'test',
    log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    ...given,
  });
  onTestFinished(() => server.close(0));
  return { ...server, folder: store };
}

/** Which programs a store takes. */
async function taken(store: Store): Promise<string[]> {
  const inbox = await store.queues.open('inbox');
  const ways = {
    handler: () => inbox.subscribe({ consumer: 'w', handler: 'true' }),
    bundle: () => store.workflows.bundles.add(BUNDLE),
  };
  const accepted: string[] = [];
  for (const [what, bring] of Object.entries(ways)) {
    try {
      await bring();
      accepted.push(what);
    } catch (error) {
      if (!isQuipuError(error, 'FORBIDDEN') || error.data.scope !== 'handlers') throw error;
    }
  }
  return accepted;
}

async function takenOver(url: string, token: Scope | undefined): Promise<string[]> {
  await using store = await openStore(url, token === undefined ? {} : { token });
  return await taken(store);
}

async function subscribeOverHttp(http: string, token: Scope | undefined): Promise<number> {
  const answer = await fetch(`${http}/v1/queues/inbox/consumers/h`, {
    method: 'PUT',
    headers: {
      'content-type': 'application/json',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ handler: 'true' }),
  });
  return answer.status;
}

interface Case {
  readonly scopes: readonly Scope[];
  readonly token?: Scope;
  readonly allowHandlers?: boolean;
  readonly taken?: readonly string[];
}

describe('programs from outside', () => {
  it.each<[string, Case]>([
    ['nobody, without tokens', { scopes: [] }],
    ['nobody, without tokens, though allowed', { scopes: [], allowHandlers: true }],
    ['no admin of a server that was not told so', { scopes: ['admin'], token: 'admin' }],
    [
      'no one who may only write',
      { scopes: ['admin', 'write'], token: 'write', allowHandlers: true },
    ],
    [
      'an admin of a server that allows them',
      { scopes: ['admin'], token: 'admin', allowHandlers: true, taken: ['handler', 'bundle'] },
    ],
  ])(
    'are taken from %s',
    async (_, { allowHandlers = false, token, scopes, taken: expected = [] }) => {
      for (const way of ['tcp', 'http'] as const) {
        const server = await serve({ allowHandlers }, scopes);
        expect(await takenOver(server[way], token)).toEqual(expected);
        const status = await subscribeOverHttp(server.http, token);
        expect(status).toBe(expected.length === 0 ? 403 : 201);
      }
    },
  );

  it('are never taken from the anonymous', async () => {
    const server = await serve({ allowAnonymous: true }, ['admin']);
    expect(server.access).toContain('no handlers');
    expect(await takenOver(server.tcp, undefined)).toEqual([]);
    expect(await takenOver(server.http, 'admin')).toEqual([]);
    const both = serve({ allowAnonymous: true, allowHandlers: true }, []);
    await expect(both).rejects.toMatchObject({ code: 'INVALID' });
  });

  it('are taken from another process of the owner, on the socket in the folder', async () => {
    const { folder } = await serve({}, []);
    await using store = await openStore(folder);
    expect(await taken(store)).toEqual(['handler', 'bundle']);
  });
});
