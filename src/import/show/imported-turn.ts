import { isFields } from '../../base/fields.ts';
import { given } from '../../base/given.ts';
import type { BlobForm } from '../fold/externalise.ts';
import { at, countAt, listAt, textAt, inTable, pathOf, reach } from '../source/fields.ts';
import type { TurnHead, Block } from '../source/source.ts';
import { SHOWS } from './show-records.ts';

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

/** What an imported turn says, and the facts about it. */
export interface ShownImport extends TurnHead {
  /** A text or the data of a picture may be a reference to a blob: see `references`. */
  readonly blocks: readonly Block[];
  /** The references, `blob:sha256:<hash>`, that stand for a value which is a blob. */
  readonly references: ReadonlySet<string>;
}

/** Undefined for a turn that no import has written, and for one of a source that the caller made. */
export function showImported(type: string, payload: unknown): ShownImport | undefined {
  const imported = readImportedTurn(type, payload);
  const show = inTable(SHOWS, imported?.source);
  if (imported === undefined || show === undefined) return undefined;
  const references = new Set<string>();
  const forms = new Map<unknown, string>();
  for (const [pointer, form] of imported.places) {
    const value = reach(payload, pathOf(pointer));
    if (typeof value !== 'string') continue;
    references.add(value);
    if (form.startsWith('data:')) forms.set(value, form);
  }
  const records = forms.size === 0 ? imported.records : withDataUrls(imported.records, forms);
  return { ...imported.head, blocks: records.flatMap((record) => show(record)), references };
}

/** Pictures are known by their data URLs: the reference takes the place of the data. */
function withDataUrls(value: unknown, forms: ReadonlyMap<unknown, string>): unknown[] {
  const visit = (found: unknown): unknown => {
    const form = forms.get(found);
    if (form !== undefined) return `${form};base64,${String(found)}`;
    if (Array.isArray(found)) return found.map(visit);
    if (!isFields(found)) return found;
    return Object.fromEntries(Object.entries(found).map(([name, item]) => [name, visit(item)]));
  };
  return visit(value) as unknown[];
}
