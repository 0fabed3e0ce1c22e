import { given } from '../../base/given.ts';
import { NO_TURN, type TurnId } from '../../base/brand.ts';
import { invalid, orNothing } from '../../base/errors.ts';
import type { Context } from '../../context/context.ts';
import type { Turn } from '../../context/turn.ts';
import { extractOf } from '../../search/text/extract.ts';
import { LEDGER_KIND } from '../../import/show/imported-turn.ts';
import type { Store } from '../../store/store.ts';
import type { CommandIo, QuipuShell } from '../kit/command.ts';
import type { GivenContext } from '../kit/parse.ts';
import {
  CYAN,
  YELLOW,
  toScreen,
  columnsOf,
  fitLine,
  toAge,
  toPlainLine,
  toSize,
} from '../kit/text.ts';
import type { Screen } from '../kit/text.ts';
import {
  ASCII_STROKES,
  UTF8_STROKES,
  cutCells,
  drawJoins,
  drawLanes,
  drawTurn,
  placeTurn,
} from '../log/graph.ts';
import type { Cell, Lanes, Placed, Strokes } from '../log/graph.ts';
import { newestFirst } from '../log/newest-first.ts';
import { mustGetContext, toPreview } from './turn-parts.ts';

export interface LogGiven {
  readonly graph?: boolean;
  readonly oneline?: boolean;
  readonly all?: boolean;
  readonly limit: number;
}

/** Contexts that a log looks at. Each costs a few reads, so a huge store must not cost a minute. */
const CONTEXTS_MAX = 2000;
const AT_ONCE = 32;
/** An import has a ledger for each source: they may all be newer than what people said. */
const LEDGERS_MAX = 31;
/** A larger payload is not read for one line of text. */
const TEXT_BYTES_MAX = 64 * 1024;
const COLUMNS_DEFAULT = 120;
const LANES_MAX = 32;
const NAME_CHARS = 40;
const HEADS_SHOWN = 4;

export async function runLog(
  io: CommandIo,
  given: GivenContext | undefined,
  { graph = false, oneline = false, all = false, limit }: LogGiven,
): Promise<void> {
  if (all && given !== undefined)
    throw invalid('--all', 'shows all contexts; leave the context out');
  const store = await io.openStore();
  const found = await findBranches(io, store, given, { all, graph });
  const heads = headsOf(found);
  const screen = toLogScreen(io.shell);
  let lanes: Lanes = [];
  for await (const turn of newestFirst(store.contexts, found, { limit, payload: TEXT_BYTES_MAX })) {
    const placed = placeTurn(lanes, turn);
    lanes = placed.below;
    const here = heads.get(turn.id) ?? [];
    if (io.json) {
      await io.printJson({ ...turn.toJSON(), lane: placed.lane, heads: here.map(toHead) });
    } else {
      const row = { turn, heads: here, placed: graph ? placed : undefined };
      // Bytes, because colours are codes. What is stored was cleaned when it was fitted to its line.
      await io.shell.out(Buffer.from(toText(row, screen, oneline, io.shell.now())));
    }
  }
}

function headsOf(contexts: readonly Context[]): Map<TurnId, Context[]> {
  const heads = new Map<TurnId, Context[]>();
  for (const context of contexts) {
    const here = heads.get(context.head);
    if (here === undefined) heads.set(context.head, [context]);
    else here.push(context);
  }
  return heads;
}

function toHead({ id, name, title }: Context): object {
  return {
    context: String(id),
    ...given({ name, title }),
  };
}

async function findBranches(
  io: CommandIo,
  store: Store,
  given: GivenContext | undefined,
  { all, graph }: { readonly all: boolean; readonly graph: boolean },
): Promise<readonly Context[]> {
  const named = given === undefined ? undefined : await mustGetContext(store, given);
  if (named !== undefined && !graph) return [named];
  const isWide = all || graph;
  const { items: listed, cursor } = await store.contexts.list({
    limit: isWide ? CONTEXTS_MAX : LEDGERS_MAX + 1,
  });
  const items = listed.filter(({ kind }) => kind !== LEDGER_KIND);
  const context = named ?? items[0];
  if (!isWide || context === undefined) return context === undefined ? [] : [context];
  if (cursor !== undefined) {
    io.shell.err(`only the ${CONTEXTS_MAX} contexts that were used last are looked at\n`);
  }
  return all ? items : treeOf(store, context, items);
}

/** The contexts that lead into the same tree of turns, with the context itself. */
async function treeOf(
  store: Store,
  context: Context,
  others: readonly Context[],
): Promise<readonly Context[]> {
  const root = await rootOf(store, context);
  const found = [context];
  const candidates = others.filter(({ id }) => id !== context.id);
  for (let start = 0; start < candidates.length && root !== undefined; start += AT_ONCE) {
    const some = candidates.slice(start, start + AT_ONCE);
    const roots = await Promise.all(some.map((other) => rootOf(store, other)));
    found.push(...some.filter((_, index) => roots[index] === root));
  }
  return found;
}

/** A context that was removed meanwhile, or whose way to the root is damaged, is in nobody's tree. */
async function rootOf(store: Store, { id, head }: Context): Promise<TurnId | undefined> {
  if (head === NO_TURN) return undefined;
  const first = (): Promise<{ turns: readonly Turn[] }> =>
    store.contexts.range(id, 0, 1, { payload: false });
  return (await orNothing(first, 'CORRUPT', 'NOT_FOUND'))?.turns[0]?.id;
}

interface LogScreen extends Pick<Screen, 'paint'> {
  readonly columns: number;
  readonly maxLanes: number;
  readonly strokes: Strokes;
}

/** As git has them: red, green, yellow, blue, magenta, cyan. */
const LANE_COLOURS = [31, 32, 33, 34, 35, 36];

function toLogScreen(shell: QuipuShell): LogScreen {
  const { columns, env } = shell;
  const isUtf8 = /utf-?8/i.test(env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || '');
  const width = columns ?? COLUMNS_DEFAULT;
  return {
    columns: width,
    // At least half of a line is for the turns.
    maxLanes: Math.max(1, Math.min(LANES_MAX, Math.floor(width / 4))),
    strokes: isUtf8 ? UTF8_STROKES : ASCII_STROKES,
    paint: toScreen(shell).paint,
  };
}

interface Row {
  readonly turn: Turn;
  readonly heads: readonly Context[];
  /** Absent without a graph. */
  readonly placed: Placed | undefined;
}

function toText(row: Row, screen: LogScreen, oneline: boolean, now: number): string {
  const { turn, heads, placed } = row;
  const { strokes } = screen;
  const joins = placed && drawJoins(placed, strokes);
  const name = oneline ? String(turn.id) : `turn ${turn.id}`;
  const type = toPlainLine(turn.type, NAME_CHARS);
  const parts: Part[] = [
    [name, YELLOW],
    ...(heads.length === 0 ? [] : [[toHeads(heads, oneline), CYAN] as const]),
    [oneline ? type : `${type}, ${toAge(turn.createdAt, now)}`, undefined],
  ];
  const text: Part = [toLineOfText(turn), undefined];
  const beside = placed === undefined ? [] : drawTurn(placed, strokes);
  const lines = [toLine(beside, oneline ? [...parts, text] : parts, screen)];
  if (joins !== undefined) lines.unshift(toLine(joins, [], screen));
  if (!oneline) {
    const below = placed === undefined ? [] : drawLanes(placed.below, strokes);
    lines.push(toLine([...below, ...INDENT], [text], screen));
  }
  return lines.join('');
}

const INDENT: readonly Cell[] = Array.from({ length: 3 }, () => ({ char: ' ', lane: 0 }));

type Part = readonly [text: string, colour: number | undefined];

/** A row of the graph and the parts of the text, as far as they fit. */
function toLine(cells: readonly Cell[], parts: readonly Part[], screen: LogScreen): string {
  const { columns, paint } = screen;
  const shown = cutCells(cells, screen);
  let line = shown
    .map(({ char, lane }) => paint(char, LANE_COLOURS[lane % LANE_COLOURS.length] ?? 0))
    .join('');
  let left = columns - shown.length;
  for (const [text, colour] of parts) {
    if (line !== '') {
      line += ' ';
      left -= 1;
    }
    const fitted = fitLine(text, left);
    left -= columnsOf(fitted);
    line += colour === undefined ? fitted : paint(fitted, colour);
  }
  return `${line.trimEnd()}\n`;
}

/** The contexts whose head a turn is. */
function toHeads(heads: readonly Context[], oneline: boolean): string {
  const shown = heads.slice(0, HEADS_SHOWN).map(({ id, name, title }) => {
    const called = name === undefined ? '' : ` @${toPlainLine(name, NAME_CHARS)}`;
    const about = title === undefined || oneline ? '' : ` "${toPlainLine(title, NAME_CHARS)}"`;
    return `context ${id}${called}${about}`;
  });
  const more = heads.length > HEADS_SHOWN ? [`${heads.length - HEADS_SHOWN} more`] : [];
  return `(${[...shown, ...more].join(', ')})`;
}

/** The speaker and the text, or else the payload as it is. */
function toLineOfText(turn: Turn): string {
  if (turn.state === 'open' || turn.outcome !== undefined || turn.tombstone) return toPreview(turn);
  if (turn.bytes === undefined) return `(${toSize(turn.size)})`;
  const isText = typeof turn.encoding === 'string' && turn.encoding !== 'bytes';
  if (!isText || turn.undecodable) return toPreview(turn);
  const { texts, role } = extractOf(turn.type, turn.payload);
  const said = texts.join(' ');
  if (said.trim() === '') return toPreview(turn);
  return role === undefined ? said : `${role}: ${said}`;
}
