import { hostname } from 'node:os';
import { join } from 'node:path';
import { firstUse, loadedOnUse } from '../base/first-use.ts';
import type { Lifetime } from '../base/lifetime.ts';
import type { Upcaster } from '../chat/events/read-line.ts';
import type { Chats } from '../chat/handle/chats.ts';
import type { Engine } from '../engine/engine.ts';
import type { Sessions } from '../session/sessions.ts';
import type { Workflows } from '../workflow/threads/workflows.ts';

// Kinds of thread whose modules are loaded by the first call: most processes never make one.

export function workflowsOnUse(load: () => Promise<Workflows>): Workflows {
  const workflows = firstUse(load);
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
    live: (...given) => later(async () => (await workflows()).live(...given)),
    watchIndex: (...given) => later(async () => (await workflows()).watchIndex(...given)),
  };
}

async function* later<T>(
  source: () => Promise<AsyncIterable<T>>,
): AsyncGenerator<T, void, undefined> {
  yield* await source();
}

export function chatsOnUse(load: (upcasters: readonly Upcaster[]) => Promise<Chats>): Chats {
  const reading = (upcasters: readonly Upcaster[]): Chats => {
    const chats = firstUse(() => load(upcasters));
    return {
      ...loadedOnUse(chats, ['create', 'open', 'list', 'remove', 'import', 'retain']),
      upcasting: reading,
    };
  };
  return reading([]);
}

export interface SessionsPlace {
  readonly engine: Engine;
  readonly lifetime: Lifetime;
  readonly clock: () => number;
  /** The folder of the store, if it is on this machine. */
  readonly folder: string | undefined;
  /** True when the engine is a server's, and session files are kept here. */
  readonly away: boolean;
  /** True when the caller is a client of this process. */
  readonly served: boolean;
}

export function sessionsOnUse(place: SessionsPlace): Sessions {
  const sessions = firstUse(() => loadSessions(place));
  return loadedOnUse(
    (method: string) => {
      place.lifetime.assertOpen(`sessions.${method}`);
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

async function loadSessions(place: SessionsPlace): Promise<Sessions> {
  const { lifetime, clock, folder } = place;
  const [{ createSessions }, { awayView }, { plainFilesIo }] = await Promise.all([
    import('../session/create-sessions.ts'),
    import('../session/keep/away-sessions.ts'),
    import('../engine/files/disk/plain-files-io.ts'),
  ]);
  return createSessions({
    io: plainFilesIo,
    engine: place.away ? awayView(place.engine) : place.engine,
    clock,
    confined: place.served,
    host: folder === undefined ? hostname() : undefined,
    root: folder === undefined ? undefined : join(folder, 'sessions'),
    assertOpen: (what) => lifetime.assertOpen(what),
    onClose: (hook) => lifetime.onClose(hook),
  });
}
