import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import { invalid } from '../../base/errors.ts';
import type { Scope } from '../../server/access.ts';
import { changeTokenFile } from '../../server/tokens/token-file.ts';
import { isScope, isTokenName } from '../../server/tokens/token-list.ts';
import { mintToken, toTokenRecord } from '../../server/tokens/token.ts';
import { defineCommand, withIo } from '../command.ts';
import { parseDuration } from '../parse-amount.ts';
import { addTokenFileOption, locateTokenFile } from '../token-file-option.ts';
import type { TokenFileOption } from '../token-file-option.ts';
import type { World } from '../world.ts';

interface Options extends TokenFileOption {
  readonly scope?: Scope;
  readonly expires?: number;
}

export function tokenCreate(world: World): Command {
  return addTokenFileOption(
    defineCommand('create', 'Create a token for a server and print it, this one time.', [
      'quipu token create laptop',
      'quipu token create dashboard --scope read --expires 90d',
    ])
      .argument('<name>', 'what to call it', parseTokenName)
      .option('--scope <scope>', 'read, write (default) or admin', parseScope)
      .option(
        '--expires <time>',
        'good for this long, such as 90d (default: for ever)',
        parseDuration,
      ),
  ).action(
    withIo(world, async (io, name: string, { scope = 'write', expires, tokenFile }: Options) => {
      if (expires === 0) throw invalid('--expires', 'is 0: such a token is never good');
      const path = locateTokenFile(io, tokenFile);
      const token = mintToken();
      const createdAt = world.now();
      const expiry = expires === undefined ? {} : { expiresAt: createdAt + Math.ceil(expires) };
      const record = toTokenRecord(token, { name, scope, createdAt, ...expiry });
      await changeTokenFile(path, (records) => {
        if (records.some((other) => other.name === name)) {
          throw invalid('name', `${name} is taken; choose another, or revoke that token first`);
        }
        return [...records, record];
      });
      if (io.json) return await io.printJson({ name, scope, token, createdAt, ...expiry });
      world.err('quipu: this is shown once; only its hash is kept\n');
      return await world.out(`${token}\n`);
    }),
  );
}

function parseTokenName(text: string): string {
  if (isTokenName(text)) return text;
  throw new InvalidArgumentError('Expected 1 to 64 letters, digits, ".", "_", "@" or "-".');
}

function parseScope(text: string): Scope {
  if (isScope(text)) return text;
  throw new InvalidArgumentError('Expected read, write or admin.');
}
