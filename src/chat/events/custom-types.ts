import { isFields } from '../../base/fields.ts';
import { corrupt, invalid, notFound } from '../../base/errors.ts';
import { checkLine, shown } from '../../base/text.ts';
import { untilFirst } from '../../base/retry.ts';
import type { Engine } from '../../engine/engine.ts';
import { TITLE_CHARS_MAX, TYPE_CHARS_MAX, TYPES_MAX } from './limits.ts';
import { isKnownType } from './payloads.ts';

// The types of events that programs have added to those of version 1. Readers everywhere know them: the list is a
// document of the store. A registered type is no problem of a chat; its payload means something to its program alone.

const TYPES_DOC = 'chats-types/types.json';

export interface CustomType {
  readonly type: string;
  /** The text that tells people about such an event. */
  readonly about: string;
  /** ISO 8601, UTC. */
  readonly since: string;
}

export function checkType(type: unknown): string {
  if (
    typeof type === 'string' &&
    type.length <= TYPE_CHARS_MAX &&
    /^[a-z0-9][a-z0-9_.]*$/.test(type)
  )
    return type;
  throw invalid('type', `must be a short name such as message_added, got ${shown(type)}`);
}

export async function readTypes(engine: Engine): Promise<readonly CustomType[]> {
  const doc = await engine.getDoc(TYPES_DOC);
  return doc === undefined ? [] : parseTypes(doc.content);
}

export async function knownTypes(engine: Engine): Promise<ReadonlySet<string>> {
  return new Set((await readTypes(engine)).map(({ type }) => type));
}

/** Throws CORRUPT for anything that `registerType` does not write. */
export function parseTypes(content: string): readonly CustomType[] {
  const value: unknown = JSON.parse(content);
  const list = isFields(value) ? value['types'] : undefined;
  const fits = (one: unknown): boolean =>
    isFields(one) &&
    ['type', 'about', 'since'].every((name) => typeof one[name] === 'string') &&
    Object.keys(one).length === 3;
  if (Array.isArray(list) && list.length <= TYPES_MAX && list.every(fits)) {
    return list as readonly CustomType[];
  }
  throw corrupt(TYPES_DOC, 'the document is not a list of event types');
}

export async function registerType(
  { engine, clock }: { readonly engine: Engine; readonly clock: () => number },
  given: string,
  about: string = '',
): Promise<CustomType> {
  const type = checkType(given);
  checkLine(about, 'about', TITLE_CHARS_MAX);
  if (isKnownType(type)) throw invalid('type', `${type} is one of the types that chats have`);
  const added = { type, about, since: new Date(clock()).toISOString() };
  await changeTypes(engine, (types) => {
    if (types.length >= TYPES_MAX)
      throw invalid('type', `is one too many: at most ${TYPES_MAX} types can be registered`);
    return [...types.filter((one) => one.type !== type), added].toSorted(byType);
  });
  return added;
}

/** The events stay. Readers that do not know the type report it again. */
export async function forgetType(engine: Engine, given: string): Promise<void> {
  const type = checkType(given);
  await changeTypes(engine, (types) => {
    if (types.some((one) => one.type === type)) return types.filter((one) => one.type !== type);
    throw notFound('type', type, `no type ${type} is registered`);
  });
}

async function changeTypes(
  engine: Engine,
  change: (types: readonly CustomType[]) => readonly CustomType[],
): Promise<void> {
  await untilFirst(async () => {
    const doc = await engine.getDoc(TYPES_DOC);
    const types = change(doc === undefined ? [] : parseTypes(doc.content));
    const content = JSON.stringify({ types });
    await engine.commit({
      docs: [{ name: TYPES_DOC, content, expectedVersion: doc?.version ?? 0 }],
    });
  });
}

function byType(a: CustomType, b: CustomType): number {
  return a.type < b.type ? -1 : 1;
}
