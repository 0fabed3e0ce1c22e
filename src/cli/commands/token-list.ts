import type { Command } from 'commander';
import { readTokenFile } from '../../server/tokens/token-file.ts';
import { hasExpired } from '../../server/tokens/token.ts';
import { defineCommand, withIo } from '../command.ts';
import { toTime } from '../quantity.ts';
import { toTable } from '../table.ts';
import { addTokenFileOption, locateTokenFile } from '../token-file-option.ts';
import type { TokenFileOption } from '../token-file-option.ts';
import type { World } from '../world.ts';

export function tokenList(world: World): Command {
  return addTokenFileOption(
    defineCommand('list', 'List the tokens by name; the tokens themselves are not kept.', [
      'quipu token list',
      'quipu token list --json',
    ]),
  ).action(
    withIo(world, async (io, { tokenFile }: TokenFileOption) => {
      const records = await readTokenFile(locateTokenFile(io, tokenFile));
      if (io.json) {
        for (const { sha256: _, ...shown } of records) await io.printJson(shown);
        return;
      }
      const rows = records.map((record) => [
        record.name,
        record.scope,
        `…${record.ends}`,
        toTime(record.createdAt),
        record.expiresAt === undefined ? 'never' : toTime(record.expiresAt),
        hasExpired(record, world.now()) ? 'expired' : 'good',
      ]);
      await world.out(toTable(['NAME', 'SCOPE', 'ENDS', 'CREATED', 'EXPIRES', 'STATE'], rows));
    }),
  );
}
