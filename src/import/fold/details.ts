import { isFields } from '../../base/fields.ts';
import { hashText } from '../../base/hash.ts';
import type { SessionDetails, TurnHead } from '../source/source.ts';

// Details of a session from records and names of files are bounded here, before they are used: the names of
// contexts, their metadata and the ledger have limits, and one session must not keep the others out.

/** A session is part of the key of its contexts. */
const NAME_BYTES_MAX = 512;
const VALUE_CHARS_MAX = 4096;
const MODEL_CHARS_MAX = 512;
const SUMMARY_CHARS_MAX = 4096;

/** The name itself, or one of the same beginning that no other session has. */
export function toSessionName(name: string): string {
  const isFit = Buffer.byteLength(name) <= NAME_BYTES_MAX && !/[\p{Cc}\p{Surrogate}]/u.test(name);
  if (isFit) return name;
  const shown = name.slice(0, 64).replaceAll(/[\p{Cc}\p{Surrogate}]/gu, '\ufffd');
  // As JSON each lone surrogate has a form of its own.
  return `${shown}~${hashText(JSON.stringify(name)).slice(0, 32)}`;
}

export function boundDetails({ parent, copyOf, ...rest }: SessionDetails): SessionDetails {
  return {
    ...cutAll(rest),
    ...(parent && { parent: { ...cutAll(parent), session: toSessionName(parent.session) } }),
    ...(copyOf && { copyOf: { ...copyOf, session: toSessionName(copyOf.session) } }),
  };
}

export function boundHead<T extends Pick<TurnHead, 'model' | 'kind' | 'summary'>>(head: T): T {
  const { model, kind, summary } = head;
  return {
    ...head,
    ...(model !== undefined && { model: cut(model, MODEL_CHARS_MAX) }),
    ...(kind !== undefined && { kind: cut(kind, MODEL_CHARS_MAX) }),
    ...(summary !== undefined && { summary: cut(summary, SUMMARY_CHARS_MAX) }),
  };
}

/** Cuts all texts, also those in a title and in what else is known. */
function cutAll<T extends object>(fields: T): T {
  const entries = Object.entries(fields).map(([name, value]: [string, unknown]) => {
    if (typeof value === 'string') return [name, cut(value, VALUE_CHARS_MAX)];
    return [name, isFields(value) ? cutAll(value) : value];
  });
  return Object.fromEntries(entries) as T;
}

/** A cut in the middle of a surrogate pair leaves half of it, which has no UTF-8 form. */
function cut(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : text.slice(0, maxChars).replace(/\p{Surrogate}$/u, '');
}

const RANKS = ['text', 'summary', 'generated', 'user'];

export function betterTitle(
  before: SessionDetails['title'],
  next: SessionDetails['title'],
): SessionDetails['title'] {
  if (next === undefined || before === undefined) return next ?? before;
  if (next.from === 'text' && before.from === 'text') return before;
  return RANKS.indexOf(next.from) >= RANKS.indexOf(before.from) ? next : before;
}
