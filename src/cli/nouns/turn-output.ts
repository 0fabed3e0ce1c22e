import { notFound } from '../../base/errors.ts';
import type { Turn } from '../../context/turn.ts';
import type { CommandIo } from '../kit/command.ts';
import { tableOf, toPlainLine, toSize, toTime, type ShowRows } from '../kit/text.ts';
import type { Contexts, ReadOptions, TurnPage } from '../../context/contexts.ts';
import type { ContextId, TurnId } from '../../base/brand.ts';
import type { Context } from '../../context/context.ts';
import type { Store } from '../../store/store.ts';
import type { GivenContext } from '../kit/parse.ts';

const PREVIEW_CHARS = 60;

export const showTurns: ShowRows<Turn> = tableOf([
  ['TURN', ({ id }) => id, 'right'],
  ['DEPTH', ({ depth }) => depth, 'right'],
  ['TYPE', ({ type }) => type],
  ['CREATED', ({ createdAt }, screen) => screen.time(createdAt)],
  ['SIZE', ({ size }) => toSize(size), 'right'],
  ['PAYLOAD', toPreview],
]);

/** Shows a turn on one line, for output that goes on while turns arrive. */
export function toTurnLine(turn: Turn): string {
  const facts = `${turn.id}  ${toTime(turn.createdAt)}  ${toPlainLine(turn.type, PREVIEW_CHARS)}`;
  return `${facts}  ${toPreview(turn)}`.trimEnd() + '\n';
}

/** Shows the start of the payload, and the special facts of the turn, on one line. */
export function toPreview(turn: Turn): string {
  const because = turn.reason === undefined ? '' : `: ${turn.reason}`;
  const marks = [
    ...(turn.state === 'open' ? ['(open)'] : []),
    ...(turn.outcome === undefined ? [] : [`(${turn.outcome}${because})`]),
    ...(turn.tombstone ? [`(tombstone${because})`] : []),
    ...(turn.patched && !turn.tombstone ? ['(patched)'] : []),
  ];
  return toPlainLine([...marks, toPayloadText(turn)].join(' ').trim(), PREVIEW_CHARS);
}

function toPayloadText(turn: Turn): string {
  const { payload } = turn.toJSON();
  if (payload === undefined) return '';
  if (typeof turn.encoding === 'number' || turn.encoding === 'bytes') return '(bytes)';
  return typeof payload === 'string' && turn.encoding === 'text'
    ? payload
    : JSON.stringify(payload);
}

/** Prints the turns of a page, and tells people how to see the page before: `back` and the cursor. */
export async function printPage(io: CommandIo, page: TurnPage, back: string): Promise<void> {
  const { turns, cursor } = page;
  await io.printRows(turns, showTurns);
  if (cursor !== undefined) io.note({ cursor: String(cursor) }, `older: ${back} ${cursor}`);
}

// Library reads return undefined for an absent thing. A person who names a thing wants to be told that it is absent.

export async function mustGetContext(store: Store, given: GivenContext): Promise<Context> {
  const isId = typeof given === 'bigint';
  const context = await (isId ? store.contexts.get(given) : store.contexts.byName(given.name));
  if (context !== undefined) return context;
  const id = isId ? String(given) : `@${given.name}`;
  throw notFound('context', id);
}

/** An id is taken as it is: the verb that it is for says whether there is such a context. */
export async function findContextId(store: Store, given: GivenContext): Promise<ContextId> {
  return typeof given === 'bigint' ? given : (await mustGetContext(store, given)).id;
}

/** The contexts of the store, and the id of the one that is meant. */
export async function openContext(
  io: CommandIo,
  context: GivenContext,
): Promise<{ readonly contexts: Contexts; readonly id: ContextId }> {
  const store = await io.openStore();
  return { contexts: store.contexts, id: await findContextId(store, context) };
}

export async function mustGetTurn(store: Store, id: TurnId, options: ReadOptions): Promise<Turn> {
  const turn = await store.contexts.turn(id, options);
  if (turn !== undefined) return turn;
  throw notFound('turn', id);
}
