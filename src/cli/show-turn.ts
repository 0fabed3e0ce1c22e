import { isQuipuError } from '../base/errors.ts';
import type { Turn } from '../context/turns/turn.ts';
import type { CommandIo } from './command.ts';
import { toPlainLine } from './plain-text.ts';
import { toSize, toTime } from './quantity.ts';
import { toTable } from './table.ts';

const PREVIEW_CHARS = 60;

/** Prints a table for people, one JSON object a line for machines. */
export async function printTurns(io: CommandIo, turns: readonly Turn[]): Promise<void> {
  if (io.json) {
    for (const turn of turns) await io.printJson(turn);
    return;
  }
  if (turns.length === 0) return;
  const headings = ['TURN', 'DEPTH', 'TYPE', 'CREATED', 'SIZE', 'PAYLOAD'];
  const rows = turns.map((turn) => [
    String(turn.id),
    String(turn.depth),
    turn.type,
    toTime(turn.createdAt),
    toSize(turn.size),
    toPreview(turn),
  ]);
  await io.shell.out(toTable(headings, rows, ['TURN', 'DEPTH', 'SIZE']));
}

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
  try {
    const { payload } = turn.toJSON();
    if (payload === undefined) return '';
    if (typeof turn.encoding === 'number' || turn.encoding === 'bytes') return '(bytes)';
    return typeof payload === 'string' && turn.encoding === 'text'
      ? payload
      : JSON.stringify(payload);
  } catch (error) {
    if (isQuipuError(error, 'INVALID')) return `(not valid ${turn.encoding})`;
    throw error;
  }
}
