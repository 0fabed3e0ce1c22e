import { checkString } from '../base/check-text.ts';
import { invalid } from '../base/errors.ts';
import { exportSession, importSession } from './carry/export-session.ts';
import { toTarget } from './carry/move-session.ts';
import { describeSession, summarize } from './keep/describe-session.ts';
import { findSession } from './keep/find-session.ts';
import { recoverHeader } from './keep/recover-header.ts';
import { Registry } from './keep/registry.ts';
import { removeSession } from './keep/remove-session.ts';
import { tidySessions } from './keep/tidy-sessions.ts';
import { standingOf } from './keep/own-file.ts';
import { artifactsFolderOf } from './log/session-names.ts';
import { SessionShelf } from './session-shelf.ts';
import type { Sessions, SessionSummary, SessionsPage, TidyOptions } from './sessions.ts';
import type { SessionsWorld } from './sessions-world.ts';
import { resolveUrl } from './urls/resolve-url.ts';

const LIST_DEFAULT = 50;
const LIST_MAX = 1000;

export interface SessionsOptions extends Omit<SessionsWorld, 'registry'> {
  /** Throws when the store is closed; `what` names the call. */
  readonly assertOpen: (what: string) => void;
  /** Called when the store closes, before the engine does. */
  readonly onClose: (hook: () => Promise<void>) => unknown;
}

export function createSessions({ assertOpen, onClose, ...given }: SessionsOptions): Sessions {
  const world: SessionsWorld = { ...given, registry: new Registry(given.engine, given.host) };
  const shelf = new SessionShelf(world);
  onClose(() => shelf.closeAll());
  const find = async (what: string, session: string): ReturnType<typeof findSession> => {
    assertOpen(`sessions.${what}`);
    return findSession(world, session);
  };
  return {
    async create(options = {}) {
      assertOpen('sessions.create');
      return shelf.create(options);
    },
    async open(session, options = {}) {
      return shelf.open(await find('open', session), options);
    },
    async list({ limit = LIST_DEFAULT, cursor } = {}) {
      assertOpen('sessions.list');
      return listSessions(world, limit, cursor);
    },
    async details(session) {
      return describeSession(world, await find('details', session));
    },
    async fork(session, options = {}) {
      return shelf.forkFile((await find('fork', session)).file, options);
    },
    async move(session, to, { cwd } = {}) {
      const target = toTarget(to, cwd);
      return shelf.moveFile(await find('move', session), target);
    },
    async remove(session) {
      const record = await find('remove', session);
      // Nobody knows whose files those are, so they stay.
      if ((await standingOf(world, record)) === 'unproved') await world.registry.remove(record.id);
      else await removeSession(world, record);
    },
    async recoverHeader(file) {
      assertOpen('sessions.recoverHeader');
      return recoverHeader(world.io, file);
    },
    async resolve(url, { session, ...range } = {}) {
      assertOpen('sessions.resolve');
      if (session === undefined) return resolveUrl(shelf.sources(), url, range);
      const record = await find('resolve', session);
      const folder = artifactsFolderOf(record.file);
      const isOwn = (await standingOf(world, record)) === 'own';
      const own =
        folder === undefined || !isOwn ? undefined : { io: world.io, folder, inMemory: false };
      return resolveUrl(shelf.sources(own), url, range);
    },
    async export(session, folder) {
      return exportSession(world, await find('export', session), folder);
    },
    async import(from, { folder } = {}) {
      assertOpen('sessions.import');
      const folderFor = (cwd: string): string => shelf.folderFor(folder, cwd);
      return shelf.open(await importSession(world, from, folderFor), {});
    },
    async tidy(options = {}) {
      assertOpen('sessions.tidy');
      checkTidy(options);
      return tidySessions(world, options);
    },
  };
}

async function listSessions(
  world: SessionsWorld,
  limit: number,
  after: string | undefined,
): Promise<SessionsPage> {
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > LIST_MAX) {
    throw invalid('limit', `is a whole number from 1 to ${LIST_MAX}, got ${String(limit)}`);
  }
  if (after !== undefined) checkString(after, 'cursor');
  const { records, cursor } = await world.registry.list(limit, after);
  const items: SessionSummary[] = [];
  for (const record of records) items.push(await summarize(world, record));
  return { items, ...(cursor !== undefined && { cursor }) };
}

function checkTidy(options: TidyOptions): void {
  for (const name of ['maxAgeMs', 'maxBytes'] as const) {
    const amount = options[name];
    if (amount === undefined || (Number.isFinite(amount) && amount >= 0)) continue;
    throw invalid(name, `is a number from 0, got ${String(amount)}`);
  }
}
