import { NO_TURN, toTurnId, type ContextId } from '../../base/brand.ts';
import type { Store } from '../../store/store.ts';
import { Ledger } from '../keep/ledger.ts';
import { countAt, listAt, textAt } from '../source/fields.ts';
import type { Source } from '../source/source.ts';
import { readHistory, type History } from './read-history.ts';
import { toHtml, toMarkdown } from './to-page.ts';
import { toClaudeCode, toCodex, toPi } from './to-session.ts';

/** The formats that a history can be written in. */
export const EXPORT_FORMATS = ['markdown', 'html', 'jsonl', 'claude-code', 'codex', 'pi'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

const SESSIONS = { 'claude-code': toClaudeCode, codex: toCodex, pi: toPi } as const;

/**
 * Writes the turns that lead to the head of a context, in pieces of text. As a session of the agent that it was imported
 * from, each record is as it was. As a session of another agent, messages, calls and results are translated.
 */
export async function* exportHistory(
  store: Store,
  id: ContextId,
  format: ExportFormat,
  sources: readonly Source[],
): AsyncGenerator<string> {
  const history = await readHistory(store, id, sources);
  switch (format) {
    case 'markdown':
      yield* toMarkdown(history);
      return;
    case 'html':
      yield* toHtml(history);
      return;
    case 'jsonl':
      yield* toRecords(store, history);
      return;
    case 'claude-code':
    case 'codex':
    case 'pi':
      if (history.source?.name === format) yield* toRecords(store, history);
      else
        for await (const record of SESSIONS[format](history)) yield `${JSON.stringify(record)}\n`;
  }
}

/** The records of the source, those that are no turns included. Turns that were not imported come as turns. */
async function* toRecords(store: Store, history: History): AsyncGenerator<string> {
  const { source, session, context } = history;
  const own: Asides =
    source !== undefined && session !== undefined
      ? await readAsides(store, source, session)
      : new Map();
  const others = new Map<ContextId, Asides>([[context.id, own]]);
  for (const line of own.get('0') ?? []) yield `${line}\n`;
  for await (const { turn, lines } of history.turns()) {
    const shown = lines.length > 0 ? lines : [JSON.stringify(turn)];
    for (const line of shown) yield `${line}\n`;
    // Turns of another session, that this one began as a copy of, have their asides there.
    const asides = others.get(turn.context) ?? (await asidesOf(store, turn.context, history, own));
    others.set(turn.context, asides);
    const after = new Set([
      ...(asides.get(String(turn.id)) ?? []),
      ...(own.get(String(turn.id)) ?? []),
    ]);
    for (const line of after) yield `${line}\n`;
  }
}

async function asidesOf(
  store: Store,
  id: ContextId,
  { source, session }: History,
  own: Asides,
): Promise<Asides> {
  const other = textAt((await store.contexts.get(id))?.meta, 'session');
  if (source === undefined || other === undefined) return new Map();
  return other === session ? own : readAsides(store, source, other);
}

/** Records of a session that are no turns, by the turn that they came after; `0` for those before all turns. */
type Asides = ReadonlyMap<string, readonly string[]>;

async function readAsides(store: Store, source: Source, session: string): Promise<Asides> {
  const ledger = await Ledger.open(store, source, true);
  const groups: (readonly unknown[])[] = [];
  for (let id = ledger.sessions.get(session)?.entry ?? NO_TURN; id !== NO_TURN;) {
    const entry = await store.contexts.turn(id);
    let before = entry?.parent ?? NO_TURN;
    for (let left = countAt(entry?.payload, 'asides'); left > 0; left -= 1) {
      const turn = await store.contexts.turn(before);
      groups.push(listAt(turn?.payload, 'records'));
      before = turn?.parent ?? NO_TURN;
    }
    id = toTurnId(textAt(entry?.payload, 'before') ?? '0', true);
  }
  const asides = new Map<string, string[]>();
  for (const row of groups.toReversed().flat()) {
    const [turn, what, raw] = Array.isArray(row) ? row.map(String) : [];
    if (what !== 'record' || turn === undefined || raw === undefined) continue;
    asides.set(turn, [...(asides.get(turn) ?? []), raw]);
  }
  return asides;
}
