import type { Option } from 'commander';
import type { TurnId } from '../base/brand.ts';
import type { AppendOptions } from '../context/contexts.ts';
import { parseTurnId, parseTurnIdOrNone } from './parse-argument.ts';
import { option } from './verb.ts';

/** The place of a new turn, and the conditions for appending it. */
export interface PlaceFlags {
  readonly parent?: TurnId;
  readonly expectHead?: TurnId;
}

export interface KeyFlag {
  readonly key?: string;
}

export interface AppendFlags extends PlaceFlags, KeyFlag {}

export const PLACE_OPTIONS: readonly Option[] = [
  option('--parent <turn>', 'go on from this turn instead of the head', parseTurnId),
  option(
    '--expect-head <turn>',
    'only if this is the head (0: only if the context is empty)',
    parseTurnIdOrNone,
  ),
];

export const KEY_OPTION: readonly Option[] = [
  option('--key <text>', 'sending the same key again gives the first result again'),
];

export function toKey({ key }: KeyFlag): { idempotencyKey?: string } {
  return key === undefined ? {} : { idempotencyKey: key };
}

export const APPEND_OPTIONS: readonly Option[] = [...PLACE_OPTIONS, ...KEY_OPTION];

export function toAppendOptions(flags: AppendFlags): AppendOptions {
  const { parent, expectHead } = flags;
  return {
    ...(parent !== undefined && { parent }),
    ...(expectHead !== undefined && { expectedHead: expectHead }),
    ...toKey(flags),
  };
}
