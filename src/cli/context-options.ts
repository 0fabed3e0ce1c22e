import type { Option } from 'commander';
import type { ContextDetails } from '../context/contexts.ts';
import { collect, parseJson } from './parse-argument.ts';
import { option } from './verb.ts';

/** The details that people give about a context. */
export interface DetailsOptions {
  readonly title?: string;
  readonly kind?: string;
  readonly label?: readonly string[];
  readonly meta?: unknown;
}

export const DETAILS_OPTIONS: readonly Option[] = [
  option('--title <text>', 'a title for listings'),
  option('--kind <word>', 'what sort of thread it is'),
  option('--label <word>', 'a label; may be given many times', collect),
  option('--meta <json>', 'anything else to remember, as JSON', parseJson),
];

export function toDetails(options: DetailsOptions): ContextDetails {
  const { title, kind, label, meta } = options;
  return {
    ...(title !== undefined && { title }),
    ...(kind !== undefined && { kind }),
    ...(label !== undefined && { labels: label }),
    ...(meta !== undefined && { meta }),
  };
}
