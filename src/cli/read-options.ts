import type { Option } from 'commander';
import type { ReadOptions } from '../context/contexts.ts';
import { parseAs, parseCount } from './parse-argument.ts';
import { option } from './verb.ts';

/** The options of every command that prints turns. */
export const READ_OPTIONS: readonly Option[] = [
  option('--as <when>', 'patches in force: latest, original or the number of a patch', parseAs),
  option('--no-payload', 'leave the payloads out'),
];

/** Pages also have a limit in bytes. */
export const PAGE_OPTIONS: readonly Option[] = [
  ...READ_OPTIONS,
  option('--max-bytes <n>', 'end the page before its payloads exceed this', parseCount),
];

/** Picks the options of a read from a command's options. */
export function toReadOptions(options: ReadOptions): ReadOptions {
  const { payload, as, maxBytes } = options;
  return {
    ...(payload !== undefined && { payload }),
    ...(as !== undefined && { as }),
    ...(maxBytes !== undefined && { maxBytes }),
  };
}
