import { invalid } from '../../base/errors.ts';
import type { QuipuError } from '../../base/errors.ts';

export function hasMoved(queue: string): QuipuError<'INVALID'> {
  return invalid(
    'target',
    `is being written to: queue ${queue} has changed meanwhile; stop whoever uses it, and copy into an empty place`,
  );
}
