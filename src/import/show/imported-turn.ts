import { isFields } from '../../base/fields.ts';
import { given } from '../../base/given.ts';
import type { BlobForm } from '../fold/externalise.ts';
import { at, countAt, listAt, textAt } from '../source/fields.ts';
import type { TurnHead } from '../source/source.ts';

/** The kind of the context in which an import keeps how far it is. Nobody said what is in it. */
export const LEDGER_KIND = 'import.ledger';

/** An imported turn, read again. */
export interface ImportedTurn {
  readonly source: string;
  readonly what: string;
  readonly head: TurnHead;
  readonly places: readonly (readonly [string, BlobForm])[];
  readonly attached: readonly (readonly [string, string])[];
  readonly records: readonly unknown[];
}

const TYPE = /^import\.([a-z0-9-]+)\.(message|marker|event)$/;

/** Undefined for a turn that no import has written. */
export function readImportedTurn(type: string, payload: unknown): ImportedTurn | undefined {
  const [, source, what] = TYPE.exec(type) ?? [];
  if (source === undefined || what === undefined || !isFields(payload)) return undefined;
  return {
    source,
    what,
    head: readHead(payload),
    places: pairs(listAt(payload, 'blobs')) as readonly (readonly [string, BlobForm])[],
    attached: pairs(listAt(payload, 'attached')),
    records: listAt(payload, 'records'),
  };
}

const ROLES = ['user', 'assistant', 'tool', 'system'] as const;
/** The last moment that a date can tell. */
const MS_MAX = 8.64e15;
const FLAGS = ['meta', 'truncated', 'interrupted'] as const;

/** Anybody who may append can write a turn of such a type: what is not as an import writes it is left out. */
function readHead(payload: unknown): TurnHead {
  const flags = FLAGS.filter((flag) => listAt(payload, 'flags').includes(flag));
  const [ms, usage] = [at(payload, 'at'), at(payload, 'usage')];
  return given({
    at:
      typeof ms === 'number' && Number.isSafeInteger(ms) && Math.abs(ms) <= MS_MAX ? ms : undefined,
    role: ROLES.find((role) => role === textAt(payload, 'role')),
    model: textAt(payload, 'model'),
    usage: isFields(usage)
      ? {
          input: countAt(usage, 'input'),
          output: countAt(usage, 'output'),
          cacheRead: countAt(usage, 'cacheRead'),
          cacheWrite: countAt(usage, 'cacheWrite'),
        }
      : undefined,
    flags: flags.length > 0 ? flags : undefined,
    kind: textAt(payload, 'kind'),
    summary: textAt(payload, 'summary'),
  });
}

function pairs(list: readonly unknown[]): readonly (readonly [string, string])[] {
  return list.filter(
    (item): item is [string, string] =>
      Array.isArray(item) && typeof item[0] === 'string' && typeof item[1] === 'string',
  );
}
