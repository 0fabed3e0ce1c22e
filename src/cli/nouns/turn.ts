import { given } from '../../base/given.ts';
import { NO_TURN } from '../../base/brand.ts';
import { invalid, messageOf } from '../../base/errors.ts';
import type { OpenTurn } from '../../context/contexts.ts';
import type { Turn } from '../../context/turn.ts';
import {
  APPEND_OPTIONS,
  PAGE_OPTIONS,
  PAYLOAD_OPTIONS,
  PLACE_OPTIONS,
  READ_OPTIONS,
  contextArgument,
  readPayload,
  toAppendOptions,
  toReadOptions,
  mustGetTurn,
  openContext,
  printPage,
  showTurns,
  toPreview,
} from './turn-parts.ts';
import { quipuVerb, toId, type QuipuVerb } from '../kit/command.ts';
import { Interrupted, untilAborted } from '../kit/report-error.ts';
import { parseCount, parseTurnId } from '../kit/parse.ts';
import { toFacts, toSize, toTime } from '../kit/text.ts';
import { argument, oneOf, option, preset, required } from '../kit/verb.ts';

const ABOUT = `Standard input has one JSON object a line: {"type", "payload"} and optionally "version" and
"encoding" (json, text, msgpack or bytes; bytes are given as {"base64": "…"}). The lines that
\`quipu context export\` prints are understood too. All lines are stored, or none. With
"idempotencyKey" in every line, a turn whose key is known is not appended again.`;

export const turnVerbs: readonly QuipuVerb[] = [
  quipuVerb({
    name: 'append',
    summary: 'Append a turn to a context and print its id.',
    examples: [
      'quipu context append 1 --type chat.message --json-payload \'{"role":"user","text":"hi"}\'',
      'turn=$(echo "long text" | quipu context append 1 --type note --stdin)',
      'quipu context append 1 --type image.png --file shot.png --encoding bytes --key upload-7',
    ],
    takes: [
      contextArgument(),
      required('--type <name>', 'what the payload is, such as chat.message'),
      option('--type-version <n>', 'version of that type (default: 1)', parseCount),
      ...PAYLOAD_OPTIONS,
      ...APPEND_OPTIONS,
    ],
    async give(io, context, options) {
      const { type, typeVersion: version } = options;
      const turn = { ...given({ type, version }), ...(await readPayload(io, options)) };
      const { contexts, id } = await openContext(io, context);
      return contexts.append(id, turn, toAppendOptions(options));
    },
    show: toId,
  }),
  quipuVerb({
    name: 'append-batch',
    summary: 'Append many turns at once and print their ids, one a line.',
    examples: [
      'quipu context append-batch 1 < turns.ndjson',
      'quipu context export 1 > turns.ndjson && quipu context append-batch 2 < turns.ndjson',
    ],
    more: ABOUT,
    takes: [contextArgument(), ...APPEND_OPTIONS],
    async each(io, context, options) {
      // This module is loaded here: it hashes, and `quipu doctor` must run where the hash module does not load.
      const { readBatch } = await import('./read-batch.ts');
      const batch = await readBatch(io.shell.stdin);
      const { contexts, id } = await openContext(io, context);
      return contexts.appendBatch(id, batch, toAppendOptions(options));
    },
    line: toId,
  }),
  quipuVerb({
    name: 'import',
    summary: 'Import the output of "quipu context export", and print the id of the context.',
    more: [
      'Each exported context becomes a context here, with turns of the same types and bytes. Exports of branches share',
      'the turns that the branches share. Turns that are here already are not added again, so you can run an interrupted',
      'command again. A file is read twice, and checked before anything is stored. Standard input is checked as it comes,',
      'and an error says what was kept. Times, names and titles are not part of an export.',
    ].join('\n'),
    examples: [
      'quipu context export 1 --out turns.jsonl && quipu context import turns.jsonl --store ./other',
      'quipu context export 1 | quipu context import - --store ./other --json',
    ],
    takes: [argument('<file>', 'the file, or - for standard input')],
    async run(io, file) {
      await (await import('./context-lines.ts')).importLines(io, file);
    },
  }),
  quipuVerb({
    name: 'stream',
    summary: 'Stream standard input into one turn and print its id at the end.',
    examples: ['my-model --stream | quipu context stream 1 --type chat.message'],
    more: 'Each piece is durable at once. Ctrl-C keeps the text so far, in a turn that is marked as aborted.',
    takes: [
      contextArgument(),
      required('--type <name>', 'what the payload is, such as chat.message'),
      option('--type-version <n>', 'version of that type (default: 1)', parseCount),
      oneOf('--encoding <name>', 'encoding of the input', ['text', 'bytes'], 'text'),
      ...PLACE_OPTIONS,
    ],
    async run(io, context, options) {
      const { shell } = io;
      const { type, typeVersion: version, encoding } = options;
      const { contexts, id } = await openContext(io, context);
      const signal = shell.catchInterrupt();
      const turnGiven = given({ type, version, encoding });
      const open = await contexts.open(id, turnGiven, toAppendOptions(options));
      const source = untilAborted(shell.stdin, signal);
      await feed(open, encoding === 'text' ? checkUtf8(source) : source);
      const turn = signal.aborted ? await open.abort('interrupted') : await open.seal();
      await io.print(turn, toId);
      if (signal.aborted) {
        throw new Interrupted(`interrupted; turn ${turn.id} keeps ${turn.size} bytes as aborted`);
      }
    },
  }),
  quipuVerb({
    name: 'last',
    summary: 'Show the newest turns of a context, from older to newer.',
    examples: [
      'quipu context last 1',
      'quipu context last 1 -n 64 --json',
      'quipu context last 1 --as original',
    ],
    takes: [
      contextArgument(),
      preset('-n, --limit <n>', 'how many at most', parseCount, 10),
      ...PAGE_OPTIONS,
    ],
    async run(io, context, options) {
      const { contexts, id } = await openContext(io, context);
      const page = await contexts.last(id, options.limit, toReadOptions(options));
      await printPage(io, page, `quipu context before ${id}`);
    },
  }),
  quipuVerb({
    name: 'before',
    summary: 'Show the turns before a turn, from older to newer.',
    examples: ['quipu context before 1 120', 'quipu context before 1 120 -n 64 --json'],
    takes: [
      contextArgument(),
      argument('<turn>', 'the turn that comes after them', parseTurnId),
      preset('-n, --limit <n>', 'how many at most', parseCount, 10),
      ...PAGE_OPTIONS,
    ],
    async run(io, context, turn, options) {
      const { contexts, id } = await openContext(io, context);
      const page = await contexts.before(id, turn, options.limit, toReadOptions(options));
      await printPage(io, page, `quipu context before ${id}`);
    },
  }),
  quipuVerb({
    name: 'range',
    summary: 'Show the turns of a context by depth; the first turn has depth 0.',
    examples: ['quipu context range 1 0 10', 'quipu context range 1 1000 1064 --json'],
    takes: [
      contextArgument(),
      argument('<from>', 'the first depth', parseCount),
      argument('<to>', 'the depth to stop before', parseCount),
      ...PAGE_OPTIONS,
    ],
    async run(io, context, ...[from, to, options]) {
      const { contexts, id } = await openContext(io, context);
      const { turns, nextDepth } = await contexts.range(id, from, to, toReadOptions(options));
      await io.printRows(turns, showTurns);
      if (nextDepth === undefined) return;
      io.note({ nextDepth }, `more: quipu context range ${id} ${nextDepth} ${to}`);
    },
  }),
  quipuVerb({
    name: 'turn',
    summary: 'Show one turn.',
    examples: [
      'quipu context turn 12',
      'quipu context turn 12 --raw > payload.json',
      'quipu context turn 12 --as original --json',
    ],
    takes: [
      argument('<turn>', 'turn id', parseTurnId),
      option('--raw', "print the payload's bytes and nothing else"),
      ...READ_OPTIONS,
    ],
    async run(io, id, options) {
      const turn = await mustGetTurn(await io.openStore(), id, toReadOptions(options));
      if (options.raw === true) await io.shell.out(turn.bytes ?? '');
      else await io.print(turn, toTurnFacts);
    },
  }),
];

/** When the input fails, the turn ends as aborted with the content that came before. */
async function feed(open: OpenTurn, source: AsyncIterable<Uint8Array>): Promise<void> {
  try {
    for await (const piece of source) await open.write(piece);
  } catch (error) {
    await open.abort(messageOf(error));
    throw error;
  }
}

/** Passes the bytes on, and refuses the first piece that cannot be text. */
async function* checkUtf8(source: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const check = (piece?: Uint8Array): void => {
    try {
      decoder.decode(piece, { stream: piece !== undefined });
    } catch {
      throw invalid('input', 'is not valid UTF-8; say --encoding bytes to stream other bytes');
    }
  };
  for await (const piece of source) {
    check(piece);
    yield piece;
  }
  check();
}

function toTurnFacts(turn: Turn): string {
  return toFacts([
    ['turn', turn.id],
    ['context', turn.context],
    ['parent', turn.parent === NO_TURN ? 'none' : String(turn.parent)],
    ['depth', turn.depth],
    ['type', `${turn.type} version ${turn.version}`],
    ['encoding', turn.encoding],
    ['created', toTime(turn.createdAt)],
    ['size', toSize(turn.size)],
    ['hash', turn.payloadHash ?? (turn.tombstone ? 'erased' : 'none yet')],
    ['payload', toPreview(turn)],
  ]);
}
