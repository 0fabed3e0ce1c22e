import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { InvalidArgumentError } from 'commander';
import { exists, invalid, notFound } from '../../base/errors.ts';
import {
  changeTokenFile,
  readTokenFile,
  tokenFileOf,
  SCOPES,
  isTokenName,
  hasExpired,
  mintToken,
  toTokenRecord,
} from '../../server/access/token-file.ts';
import type { TokenRecord } from '../../server/access/token-file.ts';
import { isAddress, quipuVerb, type CommandIo, type QuipuVerb } from '../kit/command.ts';
import { parseDuration } from '../kit/parse.ts';
import { tableOf, toFacts, toTime } from '../kit/text.ts';
import { argument, oneOf, option, type OptionOf } from '../kit/verb.ts';

export const TOKEN_FILE_OPTION: OptionOf<{ readonly tokenFile?: string }> = option(
  '--token-file <file>',
  "file with the tokens (default: tokens.json in the store's folder)",
);

/** The file may be absent. The store must exist, so that a typing error makes no folder a store. */
function locateTokenFile(io: CommandIo, given: string | undefined): string {
  if (given !== undefined) return resolve(io.shell.cwd, given);
  if (isAddress(io.place)) {
    throw invalid(
      '--store',
      'is an address, and tokens are kept beside the data; run this on the machine of the server with --store <dir>, or with --token-file',
    );
  }
  if (existsSync(join(io.place, 'FORMAT'))) return tokenFileOf(io.place);
  throw notFound(
    'store',
    io.place,
    `there is no store at ${io.place}; create one with "quipu init"`,
  );
}

export const tokenVerbs: readonly QuipuVerb[] = [
  quipuVerb({
    name: 'create',
    summary: 'Create a token for a server and print it once.',
    examples: [
      'quipu token create laptop',
      'quipu token create dashboard --scope read --expires 90d',
    ],
    takes: [
      argument('<name>', 'name of the token', parseTokenName),
      oneOf('--scope <scope>', 'what it allows', SCOPES, 'write'),
      option(
        '--expires <time>',
        'how long the token is valid, such as 90d (default: for ever)',
        parseDuration,
      ),
      TOKEN_FILE_OPTION,
    ],
    async run(io, name, { scope, expires, tokenFile }) {
      const { shell } = io;
      if (expires === 0) throw invalid('--expires', 'is 0: the token would never be valid');
      const path = locateTokenFile(io, tokenFile);
      const token = mintToken();
      const createdAt = shell.now();
      const expiry = expires === undefined ? {} : { expiresAt: createdAt + Math.ceil(expires) };
      const record = toTokenRecord(token, { name, scope, createdAt, ...expiry });
      await changeTokenFile(path, (records) => {
        if (records.some((other) => other.name === name)) {
          throw exists(
            'token',
            name,
            `there is a token ${name}; choose another name, or remove that token first`,
          );
        }
        return [...records, record];
      });
      if (io.json) return await io.printJson({ name, scope, token, createdAt, ...expiry });
      shell.err('quipu: this is shown once; only its hash is kept\n');
      return await shell.out(`${token}\n`);
    },
  }),
  quipuVerb({
    name: 'list',
    summary: 'List the tokens by name; the tokens themselves are not kept.',
    examples: ['quipu token list', 'quipu token list --json'],
    takes: [TOKEN_FILE_OPTION],
    async run(io, { tokenFile }) {
      const records = await readTokenFile(locateTokenFile(io, tokenFile));
      await io.printRows(
        records.map(withoutHash),
        tableOf([
          ['NAME', ({ name }) => name],
          ['SCOPE', ({ scope }) => scope],
          ['ENDS', ({ ends }) => `…${ends}`],
          ['CREATED', ({ createdAt }, screen) => screen.time(createdAt)],
          [
            'EXPIRES',
            ({ expiresAt: at }, screen) => (at === undefined ? 'never' : screen.time(at)),
          ],
          ['STATE', (token) => stateOf(token, io)],
        ]),
      );
    },
  }),
  quipuVerb({
    name: 'show',
    summary: 'Show what a token allows, and until when.',
    examples: ['quipu token show laptop', 'quipu token show laptop --json'],
    takes: [argument('<name>', 'as in quipu token list'), TOKEN_FILE_OPTION],
    async run(io, name, { tokenFile }) {
      const records = await readTokenFile(locateTokenFile(io, tokenFile));
      const record = records.find((other) => other.name === name);
      if (record === undefined) throw notFound('token', name);
      await io.print(withoutHash(record), () =>
        toFacts([
          ['token', record.name],
          ['scope', record.scope],
          ['ends', `…${record.ends}`],
          ['created', toTime(record.createdAt)],
          ['expires', record.expiresAt === undefined ? 'never' : toTime(record.expiresAt)],
          ['state', stateOf(record, io)],
        ]),
      );
    },
  }),
  quipuVerb({
    name: 'rm',
    aliases: ['revoke'],
    summary: 'Revoke a token; a running server notices within a second.',
    examples: ['quipu token rm laptop'],
    takes: [argument('<name>', 'as in quipu token list'), TOKEN_FILE_OPTION],
    async give(io, name, { tokenFile }) {
      await changeTokenFile(locateTokenFile(io, tokenFile), (records) => {
        const kept = records.filter((record) => record.name !== name);
        if (kept.length < records.length) return kept;
        throw notFound('token', name);
      });
      return { revoked: name };
    },
  }),
];

function parseTokenName(text: string): string {
  if (isTokenName(text)) return text;
  throw new InvalidArgumentError('Expected 1 to 64 letters, digits, ".", "_", "@" or "-".');
}

function withoutHash(record: TokenRecord): Omit<TokenRecord, 'sha256'> {
  const { sha256: _, ...shown } = record;
  return shown;
}

function stateOf(token: Omit<TokenRecord, 'sha256'>, { shell }: CommandIo): string {
  return hasExpired(token, shell.now()) ? 'expired' : 'good';
}
