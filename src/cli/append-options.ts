import type { Command } from 'commander';
import type { TurnId } from '../base/brand.ts';
import type { AppendOptions } from '../context/contexts.ts';
import { parseTurnId, parseTurnIdOrNone } from './parse-argument.ts';

/** Where a turn goes and when it may. */
export interface PlaceFlags {
  readonly parent?: TurnId;
  readonly expectHead?: TurnId;
}

export interface AppendFlags extends PlaceFlags {
  readonly key?: string;
}

export function addPlaceOptions(command: Command): Command {
  return command
    .option('--parent <turn>', 'go on from this turn instead of the head', parseTurnId)
    .option(
      '--expect-head <turn>',
      'only if this is the head (0: only if the context is empty)',
      parseTurnIdOrNone,
    );
}

export function addAppendOptions(command: Command): Command {
  return addPlaceOptions(command).option(
    '--key <text>',
    'sending the same key again gives the first result again',
  );
}

export function toAppendOptions({ parent, expectHead, key }: AppendFlags): AppendOptions {
  return {
    ...(parent !== undefined && { parent }),
    ...(expectHead !== undefined && { expectedHead: expectHead }),
    ...(key !== undefined && { idempotencyKey: key }),
  };
}
