import { given } from '../../base/given.ts';
import type { TurnId, ContextId } from '../../base/brand.ts';
import type {
  AppendOptions,
  ContextDetails,
  ReadOptions,
  Contexts,
  TurnPage,
} from '../../context/contexts.ts';
import {
  collect,
  parseAs,
  parseContext,
  parseCount,
  parseJson,
  parseTurnIdOrNone,
} from '../kit/parse.ts';
import type { GivenContext } from '../kit/parse.ts';
import { argument, oneOf, option, type ArgumentOf, type OptionOf } from '../kit/verb.ts';
import { invalid, notFound } from '../../base/errors.ts';
import { Encoding, type EncodingName } from '../../format/turn-record.ts';
import { PAYLOAD_BYTES_MAX } from '../../context/limits.ts';
import type { CommandIo } from '../kit/command.ts';
import { readInput, readWhole } from '../kit/files.ts';
import type { Turn } from '../../context/turn.ts';
import { tableOf, toPlainLine, toSize, toTime, type ShowRows } from '../kit/text.ts';
import type { Context } from '../../context/context.ts';
import type { Store } from '../../store/store.ts';

/** The place of a new turn, and the conditions for appending it. */
interface PlaceFlags {
  readonly parent?: TurnId;
  readonly expectHead?: TurnId;
}

interface AppendFlags extends PlaceFlags {
  readonly key?: string;
}

export const PLACE_OPTIONS: readonly OptionOf<PlaceFlags>[] = [
  option(
    '--parent <turn>',
    'parent of the turn, instead of the head (0: a new root)',
    parseTurnIdOrNone,
  ),
  option(
    '--expect-head <turn>',
    'only if this is the head (0: only if the context is empty)',
    parseTurnIdOrNone,
  ),
];

export const KEY_OPTION: OptionOf<{ readonly key?: string }> = option(
  '--key <text>',
  'idempotency key: the same call with the same key counts once',
);

export const NAME_OPTION: OptionOf<{ readonly name?: string }> = option(
  '--name <text>',
  'a name that no other context has',
);

export function contextArgument(): ArgumentOf<GivenContext> {
  return argument('<context>', 'context id, or its name (@7: the name 7)', parseContext);
}

export const APPEND_OPTIONS: readonly OptionOf<AppendFlags>[] = [...PLACE_OPTIONS, KEY_OPTION];

export function toAppendOptions({ parent, expectHead, key }: AppendFlags): AppendOptions {
  return given({ parent, expectedHead: expectHead, idempotencyKey: key });
}

/** The details that people give about a context. */
export interface DetailsOptions {
  readonly title?: string;
  readonly kind?: string;
  readonly label?: readonly string[];
  readonly meta?: unknown;
}

export const DETAILS_OPTIONS: readonly OptionOf<DetailsOptions>[] = [
  option('--title <text>', 'a title for listings'),
  option('--kind <word>', 'what sort of thread it is'),
  option('--label <word>', 'a label; may be given many times', collect),
  option('--meta <json>', 'anything else to remember, as JSON', parseJson),
];

export function toDetails(options: DetailsOptions): ContextDetails {
  const { title, kind, label, meta } = options;
  return given({ title, kind, labels: label, meta });
}

// The source of a payload. There is exactly one source. Its content is stored byte for byte, after a check that it
// matches its encoding.

interface PayloadOptions {
  readonly jsonPayload?: string;
  readonly text?: string;
  readonly file?: string;
  readonly stdin?: boolean;
  readonly encoding?: EncodingName;
}

interface PayloadGiven {
  readonly payload: unknown;
  readonly encoding: EncodingName;
}

const SOURCES = '--json-payload, --text, --file or --stdin';

const ENCODINGS = Object.keys(Encoding) as EncodingName[];

export const PAYLOAD_OPTIONS: readonly OptionOf<PayloadOptions>[] = [
  option('--json-payload <json>', 'the payload as JSON text'),
  option('--text <text>', 'the payload as plain text'),
  option('--file <path>', 'read the payload from this file'),
  option('--stdin', 'read the payload from standard input'),
  oneOf(
    '--encoding <name>',
    'encoding of the payload (default: json for --json-payload, else text)',
    ENCODINGS,
  ),
];

/** Reads the one source that was named. Nothing is stored when the content is not valid. */
export async function readPayload(io: CommandIo, options: PayloadOptions): Promise<PayloadGiven> {
  const { jsonPayload, text, file, stdin } = options;
  const given = [jsonPayload, text, file, stdin].filter((source) => source !== undefined);
  if (given.length !== 1) {
    const problem = given.length === 0 ? 'is missing' : `was given ${given.length} times`;
    throw invalid('payload', `${problem}; name exactly one of ${SOURCES}`);
  }
  if (jsonPayload !== undefined) return fromJsonText(jsonPayload, options.encoding ?? 'json');
  if (text !== undefined) return fromText(text, options.encoding ?? 'text');

  const path = file ?? '-';
  const payload = await readWhole(readInput(io.shell, path), PAYLOAD_BYTES_MAX);
  return { payload, encoding: options.encoding ?? 'text' };
}

function fromJsonText(text: string, encoding: EncodingName): PayloadGiven {
  if (encoding === 'json') return { payload: Buffer.from(text), encoding };
  if (encoding !== 'msgpack' && encoding !== 'cbor') {
    throw invalid('--encoding', 'must be json, msgpack or cbor with --json-payload');
  }
  try {
    return { payload: JSON.parse(text) as unknown, encoding };
  } catch (error) {
    throw invalid('--json-payload', `is not JSON: ${(error as SyntaxError).message}`);
  }
}

function fromText(text: string, encoding: EncodingName): PayloadGiven {
  if (encoding !== 'text')
    throw invalid(
      '--encoding',
      'must be text with --text; for other encodings use --stdin or --file',
    );
  return { payload: text, encoding };
}

/** The options of every command that prints turns. */
export const READ_OPTIONS: readonly OptionOf<ReadOptions>[] = [
  option(
    '--as <when>',
    'which patches apply: latest, original, or those up to a patch number',
    parseAs,
  ),
  option('--no-payload', 'leave the payloads out'),
];

/** Pages also have a limit in bytes. */
export const PAGE_OPTIONS: readonly OptionOf<ReadOptions>[] = [
  ...READ_OPTIONS,
  option('--max-bytes <n>', 'end the page before its payloads exceed this', parseCount),
];

/** Picks the options of a read from a command's options. */
export function toReadOptions(options: ReadOptions): ReadOptions {
  const { payload, as, maxBytes } = options;
  return given({ payload, as, maxBytes });
}

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
