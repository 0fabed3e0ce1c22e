import type { ContextId, TurnId } from '../../base/brand.ts';
import type { ContextUpdate } from '../../context/contexts.ts';
import type { Session, Slot } from '../fold/session.ts';
import { isObject } from '../source/fields.ts';

// The title and the metadata of an imported context: docs/format/import.md.

const TITLE_CHARS = 200;
/** So that all of them fit: the metadata of a context have 64 KiB. */
const VALUE_CHARS = 1280;

/** Where the session was started. */
export interface ParentPlace {
  readonly context: ContextId;
  readonly turn: TurnId | undefined;
}

/** The names of the contexts of a session. */
export function describeSlot(
  session: Session,
  slot: Slot,
  path: string,
  parent: ParentPlace | undefined,
): ContextUpdate {
  const { details, name, source, slots, main } = session;
  const { title, cwd, branch, model, version, startedAt, more } = details;
  const mainContext = slots[main]?.context;
  const link = details.parent && {
    session: details.parent.session,
    ...(details.parent.call !== undefined && { call: details.parent.call }),
    ...(parent?.context !== undefined && { context: String(parent.context) }),
    ...(parent?.turn !== undefined && { turn: String(parent.turn) }),
  };
  const meta = {
    source,
    session: name,
    path,
    cwd,
    branch,
    model,
    version,
    startedAt,
    parent: link,
    // A branch that the session has left names the context that goes on.
    ...(slot.number !== main && mainContext !== undefined && { branchOf: String(mainContext) }),
    ...more,
  };
  return {
    meta: cutTexts(meta),
    ...(title !== undefined && { title: toLine(title.text) }),
  };
}

/** Text for one line: what a record says may be long, and have line breaks. */
function toLine(text: string): string {
  const line = text
    .slice(0, 4 * TITLE_CHARS)
    .replaceAll(/\p{Cc}+/gu, ' ')
    .trim();
  return Array.from(line)
    .slice(0, TITLE_CHARS)
    .join('')
    .replaceAll(/\p{Surrogate}/gu, '\ufffd');
}

function cutTexts(meta: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(meta)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [
        name,
        typeof value === 'string'
          ? value.slice(0, VALUE_CHARS).replaceAll(/[\p{Surrogate}\p{Cc}]/gu, '\ufffd')
          : isObject(value)
            ? cutTexts(value)
            : value,
      ]),
  );
}
