import type { Operation } from './operation.ts';

/** SHORT_ENOSPC takes half of a write and reports that; every later operation that needs room fails. */
export type FaultKind = 'EIO' | 'ENOSPC' | 'SHORT_ENOSPC' | 'EMFILE' | 'EROFS' | 'EACCES';

export interface FaultPlan {
  /**
   * The number of the operation that fails, counted from 1. An operation that cannot fail in this way is left alone.
   */
  readonly at: number;
  readonly kind: FaultKind;
  /** `forever`: that operation and every later one that can fail in this way. */
  readonly times: 'once' | 'forever';
}

/** Returns whether an operating system would ever answer `operation` with this fault. */
export function canFail(kind: FaultKind, operation: Operation): boolean {
  const { name } = operation;
  switch (kind) {
    case 'EIO':
      return true;
    case 'ENOSPC':
      // An operating system may look for room as late as the sync.
      return needsRoom(operation) || name === 'sync';
    case 'SHORT_ENOSPC':
      return name === 'write';
    case 'EMFILE':
      return name === 'open' || name === 'list' || name === 'syncDir' || name === 'lock';
    case 'EROFS':
      return changesNames(operation) || name === 'write' || name === 'truncate';
    case 'EACCES':
      return changesNames(operation);
  }
}

/** Returns whether the operation fails on a full disk. */
export function needsRoom({ name, detail }: Operation): boolean {
  const creates = name === 'open' && detail === 'create';
  return creates || ['mkdir', 'link', 'rename', 'write', 'truncate'].includes(name);
}

function changesNames({ name, detail }: Operation): boolean {
  if (name === 'open') return detail !== 'read';
  return ['mkdir', 'link', 'rename', 'remove', 'removeFolder', 'lock'].includes(name);
}

const DISK_FAULTS: readonly FaultKind[] = ['EIO', 'ENOSPC', 'SHORT_ENOSPC', 'EMFILE'];

/**
 * Returns every way in which a run with this trace can fail: each operation, each fault it can have, once and forever.
 */
export function planFaults(
  trace: readonly Operation[],
  kinds: readonly FaultKind[] = DISK_FAULTS,
): FaultPlan[] {
  return trace.flatMap((operation, index) =>
    kinds
      .filter((kind) => canFail(kind, operation))
      .flatMap((kind): FaultPlan[] => [
        { at: index + 1, kind, times: 'once' },
        { at: index + 1, kind, times: 'forever' },
      ]),
  );
}
