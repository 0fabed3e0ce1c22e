import { checkWhole } from '../base/check-value.ts';
import { invalid } from '../base/errors.ts';
import { checkString, shown } from '../base/text.ts';
import { exportSession, importSession } from './carry/export-session.ts';
import { toTarget } from './carry/move-session.ts';
import { artifactsFolderOf } from './files/session-names.ts';
import { describeSession, summarize, type SessionSummary } from './keep/describe-session.ts';
import { findSession, standingOf } from './keep/find-session.ts';
import { removeSession, tidySessions, type TidyOptions } from './keep/tidy-sessions.ts';
import { recoverHeader } from './log/session-file.ts';
import { Registry, type SessionsHome } from './records/registry.ts';
import { SessionShelf } from './session-shelf.ts';
import type { Sessions, SessionsPage } from './sessions.ts';
import { resolveUrl } from './urls/resolve-url.ts';

const LIST_DEFAULT = 50;
const LIST_MAX = 1000;

export interface SessionsOptions extends Omit<SessionsHome, 'registry'> {
  /** Throws when the store is closed; `what` names the call. */
  readonly assertOpen: (what: string) => void;
  /** Called when the store closes, before the engine does. */
  readonly onClose: (hook: () => Promise<void>) => unknown;
}

export function createSessions({ assertOpen, onClose, ...given }: SessionsOptions): Sessions {
  const home: SessionsHome = { ...given, registry: new Registry(given.engine, given.host) };
  const shelf = new SessionShelf(home);
  onClose(() => shelf.closeAll());
  const find = async (what: string, session: string): ReturnType<typeof findSession> => {
    assertOpen(`sessions.${what}`);
    return findSession(home, session);
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
      return listSessions(home, limit, cursor);
    },
    async details(session) {
      return describeSession(home, await find('details', session));
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
      if ((await standingOf(home, record)) === 'unproved') await home.registry.remove(record.id);
      else await removeSession(home, record);
    },
    async recoverHeader(file) {
      assertOpen('sessions.recoverHeader');
      return recoverHeader(home.io, file);
    },
    async resolve(url, { session, ...range } = {}) {
      assertOpen('sessions.resolve');
      if (session === undefined) return resolveUrl(shelf.sources(), url, range);
      const record = await find('resolve', session);
      const folder = artifactsFolderOf(record.file);
      const isOwn = (await standingOf(home, record)) === 'own';
      const own =
        folder === undefined || !isOwn ? undefined : { io: home.io, folder, inMemory: false };
      return resolveUrl(shelf.sources(own), url, range);
    },
    async export(session, folder) {
      return exportSession(home, await find('export', session), folder);
    },
    async import(from, { folder } = {}) {
      assertOpen('sessions.import');
      const folderFor = (cwd: string): string => shelf.folderFor(folder, cwd);
      return shelf.open(await importSession(home, from, folderFor), {});
    },
    async tidy(options = {}) {
      assertOpen('sessions.tidy');
      checkTidy(options);
      return tidySessions(home, options);
    },
  };
}

async function listSessions(
  home: SessionsHome,
  limit: number,
  after: string | undefined,
): Promise<SessionsPage> {
  checkWhole(limit, 'limit', 1, LIST_MAX);
  if (after !== undefined) checkString(after, 'cursor');
  const { records, cursor } = await home.registry.list(limit, after);
  const items: SessionSummary[] = [];
  for (const record of records) items.push(await summarize(home, record));
  return { items, ...(cursor !== undefined && { cursor }) };
}

function checkTidy(options: TidyOptions): void {
  for (const name of ['maxAgeMs', 'maxBytes'] as const) {
    const amount = options[name];
    if (amount === undefined || (Number.isFinite(amount) && amount >= 0)) continue;
    throw invalid(name, `must be a number from 0, got ${shown(amount)}`);
  }
}
