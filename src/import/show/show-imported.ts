import { isFields } from '../../base/fields.ts';
import type { Block } from '../source/block.ts';
import { at, inTable } from '../source/fields.ts';
import type { TurnHead } from '../source/source.ts';
import { readImportedTurn } from './imported-turn.ts';
import { SHOWS } from './show-records.ts';

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
    const value = valueAt(payload, pointer);
    if (typeof value !== 'string') continue;
    references.add(value);
    if (form.startsWith('data:')) forms.set(value, form);
  }
  const records = forms.size === 0 ? imported.records : withDataUrls(imported.records, forms);
  return { ...imported.head, blocks: records.flatMap((record) => show(record)), references };
}

function valueAt(payload: unknown, pointer: string): unknown {
  const path = pointer.split('/').slice(1);
  let found = payload;
  for (const step of path) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    found = Array.isArray(found) ? (found as unknown[])[Number(name)] : at(found, name);
  }
  return found;
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
