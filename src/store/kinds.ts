import { checkSignal } from '../base/check-value.ts';
import { leavable } from '../base/leavable.ts';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { unsupported } from '../base/errors.ts';
import { firstUse, loadedOnUse } from '../base/first-use.ts';
import type { Lifetime } from '../base/lifetime.ts';
import type { Upcaster } from '../chat/events/read-line.ts';
import type { Chats } from '../chat/handle/chats.ts';
import type { Engine } from '../engine/engine.ts';
import type { Database } from '../postgres/database.ts';
import type { OwnedQueues, Queues } from '../queue/events/queue.ts';
import type { Sessions } from '../session/sessions.ts';
import type { Workflows } from '../workflow/threads/workflows.ts';
import type { Blobs } from './blobs.ts';

// The kinds of thread of a store, other than contexts. The modules of a kind are loaded by its first call: most
// processes never make one.

/**
 * The place of the queues: a folder or a database, which any number of processes may use at once, or the process that
 * keeps the store. The database belongs to its owner, who closes it after the store has closed the queues.
 */
export type QueuesPlace =
  | { readonly folder: string }
  | { readonly database: Database }
  | { readonly queues: Queues };

/** The engine of a store, and the places on this machine that belong to it. */
export interface StoreHome {
  readonly engine: Engine;
  readonly lifetime: Lifetime;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** The folder of the store, if it is on this machine. */
  readonly folder: string | undefined;
  /** Undefined: the store has no place for queues. */
  readonly queues: QueuesPlace | undefined;
  /** True when the engine is a server's, and session files are kept here. */
  readonly away: boolean;
  /** True when the caller is a client of this process. */
  readonly served: boolean;
}

export function chatsOf({ engine, lifetime, clock }: StoreHome, eraseBlob: Blobs['erase']): Chats {
  const upcasting = (upcasters: readonly Upcaster[]): Chats => {
    const chats = firstUse(async () => {
      const { createChats } = await import('../chat/create-chats.ts');
      return createChats({ engine, lifetime, clock, eraseBlob }, upcasters);
    });
    return {
      ...loadedOnUse(chats, [
        ...(['create', 'open', 'list', 'remove', 'import', 'retain'] as const),
        ...(['registerType', 'forgetType', 'types'] as const),
      ]),
      upcasting,
    };
  };
  return upcasting([]);
}

export function workflowsOf(home: StoreHome, sessions: Sessions): Workflows {
  const workflows = firstUse(() => loadWorkflows(home, sessions));
  return {
    ...loadedOnUse(workflows, [
      'start',
      'step',
      'end',
      'fork',
      'compact',
      'remove',
      'get',
      'list',
      'steps',
      'context',
      'info',
      'findReachableHashes',
      'run',
      'resume',
      'pause',
      'kill',
    ]),
    bundles: loadedOnUse(
      async () => (await workflows()).bundles,
      ['add', 'list', 'get', 'describe', 'source', 'history', 'rollback', 'remove'],
    ),
    live: (id, options = {}) =>
      leavable(checkSignal(options.signal), async function* (signal) {
        yield* (await workflows()).live(id, { ...options, signal });
      }),
    watchIndex: (bundle, options = {}) =>
      leavable(checkSignal(options.signal), async function* (signal) {
        yield* (await workflows()).watchIndex(bundle, { ...options, signal });
      }),
  };
}

async function loadWorkflows(
  { engine, lifetime, clock }: StoreHome,
  sessions: Sessions,
): Promise<Workflows> {
  const { createWorkflows } = await import('../workflow/create-workflows.ts');
  return createWorkflows(engine, {
    lifetime,
    clock,
    async readArtifact(url, session) {
      return (await sessions.resolve(url, session === undefined ? {} : { session })).content;
    },
  });
}

export function sessionsOf(home: StoreHome): Sessions {
  const sessions = firstUse(() => loadSessions(home));
  return loadedOnUse(
    (method: string) => {
      home.lifetime.assertOpen(`sessions.${method}`);
      return sessions();
    },
    [
      'create',
      'open',
      'list',
      'details',
      'fork',
      'move',
      'remove',
      'recoverHeader',
      'resolve',
      'export',
      'import',
      'tidy',
    ],
  );
}

async function loadSessions(home: StoreHome): Promise<Sessions> {
  const { engine, lifetime, clock, folder, away, served } = home;
  const [{ createSessions }, { awayView }, { plainFilesIo }] = await Promise.all([
    import('../session/create-sessions.ts'),
    import('../session/keep/away-sessions.ts'),
    import('../engine/files/disk/plain-files-io.ts'),
  ]);
  return createSessions({
    io: plainFilesIo,
    engine: away ? awayView(engine) : engine,
    clock,
    confined: served,
    host: folder === undefined ? hostname() : undefined,
    root: folder === undefined ? undefined : join(folder, 'sessions'),
    onClose: (hook) => lifetime.onClose(hook),
  });
}

export function queuesOf({ lifetime, queues: place }: StoreHome): Queues {
  const queues = place && firstUse(() => openQueues(place, lifetime));
  return loadedOnUse(
    async (method: string) => {
      const what = `queues.${method}`;
      lifetime.assertOpen(what);
      if (queues !== undefined) return queues();
      const message = `${what}: queues live in a folder, and this store has none; open one by its path`;
      throw unsupported('queues', 'a store in memory', message);
    },
    ['open', 'list', 'work'],
  );
}

async function openQueues(place: QueuesPlace, lifetime: Lifetime): Promise<Queues> {
  if ('queues' in place) return place.queues;
  const queues = await createQueuesAt(place);
  lifetime.onClose(() => queues.close());
  return queues;
}

export async function createQueuesAt(
  place: { readonly folder: string } | { readonly database: Database },
): Promise<OwnedQueues> {
  if ('folder' in place) {
    const { createQueues } = await import('../queue/sqlite-queue.ts');
    return createQueues(place.folder);
  }
  const { createPostgresQueues } = await import('../queue/postgres/postgres-queue.ts');
  return createPostgresQueues(place.database);
}

/** Undefined when the queues are not in a folder at hand. */
export function queuesFolder({ queues }: StoreHome): string | undefined {
  return queues !== undefined && 'folder' in queues ? queues.folder : undefined;
}
