import type { Command } from 'commander';
import { QuipuError } from '../../base/errors.ts';
import { changeTokenFile } from '../../server/tokens/token-file.ts';
import { defineCommand, withIo } from '../command.ts';
import { addTokenFileOption, locateTokenFile } from '../token-file-option.ts';
import type { TokenFileOption } from '../token-file-option.ts';
import type { World } from '../world.ts';

export function tokenRevoke(world: World): Command {
  return addTokenFileOption(
    defineCommand('revoke', 'Make a token worthless; a running server notices within a second.', [
      'quipu token revoke laptop',
    ]).argument('<name>', 'as in quipu token list'),
  ).action(
    withIo(world, async (io, name: string, { tokenFile }: TokenFileOption) => {
      await changeTokenFile(locateTokenFile(io, tokenFile), (records) => {
        const kept = records.filter((record) => record.name !== name);
        if (kept.length < records.length) return kept;
        throw new QuipuError('NOT_FOUND', `there is no token ${name}`, { what: 'token', id: name });
      });
      if (io.json) await io.printJson({ revoked: name });
    }),
  );
}
