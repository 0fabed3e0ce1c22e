import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Lifetime } from '../base/lifetime.ts';
import type { Engine } from '../engine/engine.ts';
import type { Sessions } from '../session/sessions.ts';

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

/** Sessions, loaded with the first call: most processes never have one. */
export function sessionsDoor(place: SessionsPlace): Sessions {
  let loading: Promise<Sessions> | undefined;
  const load = (what: string): Promise<Sessions> => {
    place.lifetime.assertOpen(`sessions.${what}`);
    loading ??= loadSessions(place);
    return loading;
  };
  return {
    create: async (options) => (await load('create')).create(options),
    open: async (session, options) => (await load('open')).open(session, options),
    list: async (options) => (await load('list')).list(options),
    details: async (session) => (await load('details')).details(session),
    fork: async (session, options) => (await load('fork')).fork(session, options),
    move: async (session, folder, options) => (await load('move')).move(session, folder, options),
    remove: async (session) => (await load('remove')).remove(session),
    recoverHeader: async (file) => (await load('recoverHeader')).recoverHeader(file),
    resolve: async (url, options) => (await load('resolve')).resolve(url, options),
    export: async (session, folder) => (await load('export')).export(session, folder),
    import: async (from, options) => (await load('import')).import(from, options),
    tidy: async (options) => (await load('tidy')).tidy(options),
  };
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
