import { once } from 'node:events';
import { resolve } from 'node:path';
import { InvalidArgumentError } from 'commander';
import { given } from '../../base/given.ts';
import { invalid } from '../../base/errors.ts';
import { parsePlace } from '../../base/place.ts';
import { LOG_LEVELS } from '../../server/server-options.ts';
import type { ServerOptions } from '../../server/server-options.ts';
import type { McpAnswer } from '../../server/http/routes/mcp.ts';
import type { RunningServer } from '../../server/start-server.ts';
import { tokenFileOf } from '../../server/access/token-file.ts';
import { quipuVerb, type CommandIo, type QuipuVerb } from '../kit/command.ts';
import { collect, parseCount, parseDuration, parseSize } from '../kit/parse.ts';
import { TOKEN_FILE_OPTION } from './token.ts';
import { oneOf, option, preset, type OptionsIn } from '../kit/verb.ts';
import { readVersion } from '../kit/process.ts';

const LIMITS = [
  option(
    '--max-connections <n>',
    'most connections at a time, per listener (default: 1024)',
    parseConnections,
  ),
  option('--max-body <size>', 'largest body of an HTTP request (default: 64MiB)', parseSize),
  option(
    '--max-pending <size>',
    'most bytes of unanswered requests, per connection (default: 64MiB)',
    parseSize,
  ),
  option('--answer-timeout <time>', 'time for one request (default: 25s)', parseDuration),
  option(
    '--stall-timeout <time>',
    'time before a client that stops midway is cut off (default: 30s)',
    parseDuration,
  ),
  option(
    '--idle-timeout <time>',
    'time between two HTTP requests of a connection (default: 65s)',
    parseDuration,
  ),
  option('--grace <time>', 'time to finish requests when stopping (default: 10s)', parseDuration),
] as const;

const SERVING = [
  preset(
    '--host <address>',
    'address to listen on; one that other machines can reach needs tokens',
    undefined,
    '127.0.0.1',
  ),
  preset('--port <n>', 'port for HTTP; 0 for any free port', parsePort, 7410),
  preset('--tcp-port <n>', 'port for the binary protocol; 0 for any free port', parsePort, 7411),
  option(
    '--cxdb-port <n>',
    'a second port for HTTP that answers as cxdb does, for its clients and its page',
    parsePort,
  ),
  option(
    '--allow-anonymous',
    'let every client that can connect read, write and erase, without a token; not with --allow-handlers',
  ),
  option(
    '--allow-handlers',
    'let tokens with the scope admin register programs: handlers of queues, bundles of workflows',
  ),
  option(
    '--allow-origin <origin>',
    'let pages of this origin use HTTP; repeat for more',
    collectOrigin,
  ),
  option('--tls-cert <file>', 'certificate (PEM); all listeners then speak TLS'),
  option('--tls-key <file>', 'private key of the certificate (PEM)'),
  option('--demo', 'fill the store with sample data first; the store must be empty'),
  option('--no-search', 'make no search index, and refuse searches'),
  option('--mcp', 'let MCP clients search and read, at /mcp'),
  option('--mcp-writes', 'like --mcp; clients with the scope write may also fork and append notes'),
  oneOf('--log-level <level>', 'the least severe messages to log', LOG_LEVELS, 'info'),
  ...LIMITS,
  TOKEN_FILE_OPTION,
] as const;
type ServeGiven = OptionsIn<typeof SERVING>;

export const serve: QuipuVerb = quipuVerb({
  name: 'serve',
  summary: 'Serve a store to other processes and machines.',
  examples: [
    'quipu serve',
    'quipu serve --demo --store ./sample',
    'quipu serve --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem',
  ],
  takes: SERVING,
  async run(io, options) {
    const { shell } = io;
    const signal = shell.catchInterrupt();
    // These modules are loaded here: every command starts with this file, and few of them are servers.
    const { createLog } = await import('../../server/log/log.ts');
    const { startServer } = await import('../../server/start-server.ts');
    const log = createLog({
      level: options.logLevel,
      forPeople: shell.isTerminal,
      write: (text) => shell.err(text),
    });
    const server = await startServer({ ...toServerOptions(io, options), ...toMcp(options), log });
    try {
      await tell(io, server, options.demo === true);
      if (!signal.aborted) await once(signal, 'abort');
      log.info({}, 'stopping: what was begun is finished; a second signal ends it at once');
    } finally {
      await server.close(options.grace);
    }
    log.info({}, 'stopped');
  },
});

function toMcp({ mcp, mcpWrites = false }: ServeGiven): Pick<ServerOptions, 'mcp'> {
  if (mcp !== true && !mcpWrites) return {};
  // The protocol is loaded with the first message.
  const answer: McpAnswer = async (request) =>
    (await import('../../mcp/answer-http.ts')).answerHttp(request);
  return { mcp: { answer, allowWrites: mcpWrites } };
}

/** Prints the addresses alone for a program, everything for a person. */
async function tell(io: CommandIo, server: RunningServer, demo: boolean): Promise<void> {
  const { store, http, tcp, cxdb, tokensNeeded } = server;
  const { program } = io.shell;
  try {
    if (io.json) await io.printJson({ store, http, tcp, cxdb, tokensNeeded });
    else await io.shell.out(toBanner(server, program, demo));
  } catch (error) {
    // Nobody reads the output. The server runs on without it.
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error;
  }
}

function toServerOptions(io: CommandIo, options: ServeGiven): Omit<ServerOptions, 'log'> {
  const { cwd } = io.shell;
  const place = parsePlace(io.place);
  if (place.kind === 'server' || place.kind === 'unknown') {
    throw invalid('--store', 'is the address of a server; serve a folder or a database');
  }
  const store = place.kind === 'folder' ? place.path : io.place;
  // A database has no folder for the tokens.
  const ownTokens = place.kind === 'folder' ? tokenFileOf(store) : resolve(cwd, 'tokens.json');
  const { tlsCert, tlsKey, tokenFile, maxConnections, maxBody, maxPending } = options;
  if ((tlsCert === undefined) !== (tlsKey === undefined)) {
    throw invalid('--tls-cert', 'and --tls-key belong together: give both or neither');
  }
  const { answerTimeout, stallTimeout, idleTimeout } = options;
  return {
    store,
    host: options.host,
    httpPort: options.port,
    tcpPort: options.tcpPort,
    ...(options.cxdbPort !== undefined && { cxdbPort: options.cxdbPort }),
    tokenFile: tokenFile === undefined ? ownTokens : resolve(cwd, tokenFile),
    allowAnonymous: options.allowAnonymous ?? false,
    allowHandlers: options.allowHandlers ?? false,
    origins: options.allowOrigin ?? [],
    demo: options.demo ?? false,
    search: options.search ?? true,
    version: readVersion(),
    ...(tlsCert !== undefined &&
      tlsKey !== undefined && {
        tls: { certFile: resolve(cwd, tlsCert), keyFile: resolve(cwd, tlsKey) },
      }),
    limits: given({
      connections: maxConnections,
      bodyBytes: maxBody,
      pipelinedBytes: maxPending,
      answerMs: answerTimeout,
      stallMs: stallTimeout,
      keepAliveMs: idleTimeout,
    }),
  };
}

export function parsePort(text: string): number {
  const port = parseCount(text);
  if (port <= 65_535) return port;
  throw new InvalidArgumentError('Expected a port, 0 to 65535.');
}

function parseConnections(text: string): number {
  const count = parseCount(text);
  if (count > 0) return count;
  throw new InvalidArgumentError('Expected a number from 1: with 0, nobody could connect.');
}

/** Browsers send an origin in one form, so any other would never match. Extensions have schemes of their own. */
function collectOrigin(text: string, before?: readonly string[]): readonly string[] {
  const isWeb = /^https?:/i.test(text);
  const origin = isWeb && URL.canParse(text) ? new URL(text).origin : text;
  if (origin === text && /^[a-z][a-z0-9+.-]*:\/\/[^/?#\s]+$/.test(text))
    return collect(text, before);
  const hint = origin === text ? '' : ` Did you mean ${origin}?`;
  throw new InvalidArgumentError(`Expected an origin such as https://app.example.${hint}`);
}

/** Shows the addresses, and lines that can be copied into another shell as they are, where `program` is called. */
function toBanner(server: RunningServer, program: string, demo: boolean): string {
  const { store, http, tcp, cxdb, access, tokensNeeded } = server;
  const token = tokensNeeded ? [`export QUIPU_TOKEN=<a token from: ${program} token create>`] : [];
  const append = [
    `ctx=$(${program} context create --title "my first thread")`,
    `${program} context append $ctx --type chat.message --json-payload '{"role":"user","text":"hi"}'`,
    `${program} context last $ctx`,
  ];
  const look = [`${program} context list`, `${program} context last 1`, `${program} stats`];
  const lines = [
    `Quipu ${readVersion()} is serving ${store}`,
    '',
    `  http    ${http}`,
    `  tcp     ${tcp}`,
    ...(cxdb === undefined ? [] : [`  cxdb    ${cxdb}`]),
    `  access  ${access}`,
    '',
    demo ? 'Look at the sample from another shell:' : 'Append the first turn from another shell:',
    '',
    ...[`export QUIPU_STORE=${tcp}`, ...token, ...(demo ? look : append)].map(
      (line) => `  ${line}`,
    ),
    '',
    'Ctrl-C stops it.',
  ];
  return `${lines.join('\n')}\n`;
}
