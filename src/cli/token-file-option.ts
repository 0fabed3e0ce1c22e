import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Option } from 'commander';
import { QuipuError, invalid } from '../base/errors.ts';
import { tokenFileOf } from '../server/access/token-file.ts';
import type { CommandIo } from './command.ts';
import { isAddress } from './locate-store.ts';
import { option } from './verb.ts';

export interface TokenFileOption {
  readonly tokenFile?: string;
}

export const TOKEN_FILE_OPTION: readonly Option[] = [
  option(
    '--token-file <file>',
    "where the tokens are (default: tokens.json in the store's folder)",
  ),
];

/** The file may be absent. The store must exist, so that a typing error makes no folder a store. */
export function locateTokenFile(io: CommandIo, given: string | undefined): string {
  if (given !== undefined) return resolve(io.shell.cwd, given);
  if (isAddress(io.place)) {
    throw invalid(
      '--store',
      'is an address, and tokens are kept beside the data; run this on the machine of the server with --store <dir>, or with --token-file',
    );
  }
  if (existsSync(join(io.place, 'FORMAT'))) return tokenFileOf(io.place);
  throw new QuipuError(
    'NOT_FOUND',
    `there is no store at ${io.place}; create one with "quipu init"`,
    {
      what: 'store',
      id: io.place,
    },
  );
}
