import { invalid, type QuipuError } from '../../base/errors.ts';

/** `so far`: the target holds only a beginning of the source. `whole`: the target holds all of it. */
export type Extent = 'so far' | 'whole';

export function differs(extent: Extent, what: string): QuipuError<'INVALID'> {
  const todo =
    extent === 'whole'
      ? 'if something wrote to the source or the target meanwhile, stop it and run the same copy again'
      : 'a copy goes into an empty place, or on where a copy of the same source was cut off';
  return invalid('target', `is no copy of the source: ${what}; ${todo}`);
}
