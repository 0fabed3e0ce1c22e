import { given } from '../../base/given.ts';
import { at, countAt, isObject, listAt, textAt } from '../source/fields.ts';
import type { TakenPart, TakenTurn, TurnHead } from '../source/source.ts';
import { externalise } from './externalise.ts';
import type { BlobBytes, BlobForm } from './externalise.ts';

// The payload of an imported turn: docs/format/import.md. The records stand in it as they were found, byte for byte,
// so that each can be printed again. Only where a value became a blob is the record written anew.

/** A turn that is not stored yet. */
export interface PlannedTurn {
  readonly type: string;
  readonly payload: Uint8Array;
  readonly blobs: readonly BlobBytes[];
}

/** A text beside the session that a record has only the beginning of. */
export interface Attached {
  /** The place of the beginning; absent for a blob that the record refers to itself. */
  readonly pointer?: string;
  readonly blob: BlobBytes;
}

/** `parts` are the records that are new: those that an earlier import has not seen. */
export function planTurn(
  source: string,
  turn: TakenTurn,
  parts: readonly TakenPart[],
  attached: readonly Attached[],
): PlannedTurn {
  const { head, heavy = [] } = turn;
  const places: [string, BlobForm][] = [];
  const blobs: BlobBytes[] = attached.map(({ blob }) => blob);
  const keepsText = head.role === 'user';
  const raws = parts.map(({ raw, value }, index) => {
    const made = externalise({ raw, value, keepsText, heavy });
    for (const [pointer, form] of made.places) places.push([`/records/${index}${pointer}`, form]);
    blobs.push(...made.blobs);
    return made.raw;
  });
  const texts = attached.filter(({ pointer }) => pointer !== undefined);
  const before = {
    ...head,
    ...(places.length > 0 && { blobs: places }),
    ...(texts.length > 0 && {
      attached: texts.map(({ pointer = '', blob }) => [
        `/records/0${pointer}`,
        `blob:sha256:${blob.sha256}`,
      ]),
    }),
  };
  const fields = JSON.stringify(before).slice(1, -1);
  const text = `{${fields}${fields === '' ? '' : ','}"records":[${raws.join(',')}]}`;
  return { type: `import.${source}.${turn.what}`, payload: Buffer.from(text), blobs };
}

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
  if (source === undefined || what === undefined || !isObject(payload)) return undefined;
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
    usage: isObject(usage)
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
