import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { delimiter, resolve } from 'node:path';
import { invalid, isQuipuError } from '../../base/errors.ts';
import { parsePlace } from '../../base/place.ts';
import type { Opened } from '../../server/open-served.ts';
import type { RunningServer } from '../../server/start-server.ts';
import {
  changeTokenFile,
  tokenFileOf,
  mintToken,
  toTokenRecord,
} from '../../server/access/token-file.ts';
import { quipuVerb, type CommandIo, type QuipuVerb } from '../kit/command.ts';
import { option, preset } from '../kit/verb.ts';
import { readVersion } from '../kit/process.ts';
import { parsePort } from './serve.ts';

const TOKEN_MS = 12 * 3_600_000;
const LOOK_MS = 1000;
const CODE_MS = 10_000;

/** Where the page is, and the token that it shows the server. */
interface Place {
  readonly url: string;
  readonly token?: string;
  readonly server?: RunningServer;
}

export const ui: QuipuVerb = quipuVerb({
  name: 'ui',
  aliases: ['open'],
  summary: 'Open the page of a store in a browser.',
  more: `If a server on this machine has the store open and needs no token, this command opens the page of that server.
Otherwise it serves the store itself until Ctrl-C. Where tokens are needed, it makes one for twelve hours. The browser
gets a code in place of the token, which works once, within a minute. BROWSER names another program to open.`,
  examples: [
    'quipu ui --no-browser --port 0',
    'quipu ui --no-browser --store https://agents.example:7410',
  ],
  takes: [
    preset('--port <n>', 'where to look for a server, and where to serve', parsePort, 7410),
    option('--no-browser', 'print the address and open nothing'),
  ],
  async run(io, { port, browser }) {
    const signal = io.shell.catchInterrupt();
    const { url, token, server } = await findPlace(io, port);
    const address = token === undefined ? url : `${url}/#token=${token}`;
    try {
      await io.print({ url: address, serving: server !== undefined }, () => `${address}\n`);
      if (browser) await openBrowser(io.shell, url, token);
      if (server !== undefined && !signal.aborted) await once(signal, 'abort');
    } finally {
      await server?.close();
    }
  },
});

async function findPlace(io: CommandIo, port: number): Promise<Place> {
  const place = parsePlace(io.place);
  if (place.kind === 'server') {
    if (!/^https?:/.test(io.place)) {
      throw invalid(
        '--store',
        'is not an address for HTTP; the server printed one when it started',
      );
    }
    const url = io.place.replace(/\/+$/, '');
    return { url, ...(io.token !== undefined && { token: io.token }) };
  }
  const store = place.kind === 'folder' ? resolve(place.path) : io.place;
  const { storeIdOf } = await import('../../server/http/routes/browse.ts');
  const url = `http://127.0.0.1:${port}`;
  const isThere = port !== 0 && (await storeIdAt(url)) === storeIdOf(store);
  return isThere ? { url } : startHere(io, store, port);
}

/** The id of the store that a server has. Undefined when it needs a token, or when there is no server of ours. */
async function storeIdAt(url: string): Promise<string | undefined> {
  try {
    const response = await fetch(`${url}/v1/me`, { signal: AbortSignal.timeout(LOOK_MS) });
    return ((await response.json()) as { storeId?: string }).storeId;
  } catch {
    return undefined;
  }
}

/** A token that only this page uses and that ends by itself. */
async function mint(store: string, now: number): Promise<string> {
  const token = mintToken();
  const record = toTokenRecord(token, {
    name: `ui-${now.toString(36)}`,
    scope: 'admin',
    createdAt: now,
    expiresAt: now + TOKEN_MS,
  });
  await changeTokenFile(tokenFileOf(store), (records) => [
    // The tokens of earlier pages are of no use any more.
    ...records.filter(({ name, expiresAt = now }) => !name.startsWith('ui-') || expiresAt >= now),
    record,
  ]);
  return token;
}

async function startHere(io: CommandIo, store: string, port: number): Promise<Place> {
  const { createLog } = await import('../../server/log/log.ts');
  const { startServer } = await import('../../server/start-server.ts');
  const { openShared } = await import('../../host/host.ts');
  const log = createLog({
    level: 'warn',
    forPeople: io.shell.isTerminal,
    write: (text) => io.shell.err(text),
  });
  const isFolder = parsePlace(store).kind === 'folder';
  const start = (httpPort: number): Promise<RunningServer> =>
    startServer({
      store,
      host: '127.0.0.1',
      httpPort,
      tcpPort: 0,
      tokenFile: isFolder ? tokenFileOf(store) : resolve(io.shell.cwd, 'tokens.json'),
      allowAnonymous: false,
      allowHandlers: false,
      origins: [],
      demo: false,
      version: readVersion(),
      limits: {},
      log,
      ...(isFolder && { open: (folder: string): Promise<Opened> => openShared(folder) }),
    });
  let server: RunningServer;
  try {
    server = await start(port);
  } catch (error) {
    if (!isQuipuError(error, 'LOCKED') || error.data.what !== 'port') throw error;
    // Something else has the port. The page needs no particular one.
    server = await start(0);
  }
  const token = server.tokensNeeded && isFolder ? await mint(store, io.shell.now()) : undefined;
  return { url: server.http, server, ...(token !== undefined && { token }) };
}

const OPENERS: Readonly<Partial<Record<NodeJS.Platform, string>>> = {
  darwin: 'open',
  win32: 'explorer',
};

/**
 * Every user of the machine can read the arguments of a program, so the browser is given a one-time code and no token.
 * Says so when there is no browser to open; the address was printed.
 */
async function openBrowser(
  shell: CommandIo['shell'],
  url: string,
  token: string | undefined,
): Promise<void> {
  const giveUp = (): void =>
    shell.err('quipu: no browser could be opened; open the address yourself\n');
  const code = token === undefined ? undefined : await codeFor(url, token);
  if (token !== undefined && code === undefined) {
    giveUp();
    return;
  }
  const [named = ''] = (shell.env['BROWSER'] ?? '').split(delimiter);
  const program = named || (OPENERS[process.platform] ?? 'xdg-open');
  const address = code === undefined ? url : `${url}/#code=${code}`;
  const opener = spawn(program, [address], { stdio: 'ignore', detached: true });
  opener.on('error', giveUp);
  opener.unref();
}

/** Undefined when the server has no such codes, or cannot be reached. */
async function codeFor(url: string, token: string): Promise<string | undefined> {
  try {
    const headers = { Authorization: `Bearer ${token}` };
    const signal = AbortSignal.timeout(CODE_MS);
    const response = await fetch(`${url}/v1/sign-in/code`, { method: 'POST', headers, signal });
    return ((await response.json()) as { code?: string }).code;
  } catch {
    return undefined;
  }
}
