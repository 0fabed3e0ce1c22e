import { given } from '../../base/given.ts';
import { NO_TURN } from '../../base/brand.ts';
import { invalid } from '../../base/errors.ts';
import { parseCondition } from '../../context/meta-condition.ts';
import type { Context } from '../../context/context.ts';
import type { ContextUpdate, MovedHead } from '../../context/contexts.ts';
import type { Turn } from '../../context/turn.ts';
import { ContextFlag } from '../../format/head-record.ts';
import {
  DETAILS_OPTIONS,
  KEY_OPTION,
  NAME_OPTION,
  READ_OPTIONS,
  contextArgument,
  toDetails,
  mustGetContext,
  mustGetTurn,
  openContext,
  toTurnLine,
} from './turn-parts.ts';
import type { DetailsOptions } from './turn-parts.ts';
import { quipuVerb, toId, upTo, type CommandIo, type QuipuVerb } from '../kit/command.ts';
import { OUT_OPTIONS } from '../kit/files.ts';
import { collect, parseCount, parseTime, parseTurnId, parseTurnIdOrNone } from '../kit/parse.ts';
import { tableOf, toFacts, toPlainLine, toTime, type Column } from '../kit/text.ts';
import { argument, oneOf, option, preset } from '../kit/verb.ts';

const TITLE_CHARS = 48;

const COLUMNS: readonly Column<Context>[] = [
  ['CONTEXT', ({ id }) => id, 'right'],
  ['HEAD', ({ head }) => head, 'right'],
  ['DEPTH', ({ headDepth }) => headDepth, 'right'],
  ['UPDATED', ({ updatedAt }, screen) => screen.time(updatedAt)],
  ['NAME', ({ name = '' }) => toPlainLine(name, TITLE_CHARS)],
  ['TITLE', ({ title = '' }) => toPlainLine(title, TITLE_CHARS)],
  ['LABELS', ({ labels }) => labels.join(',')],
];

const FIELDS = ['title', 'kind', 'labels', 'meta'] as const;

export const contextVerbs: readonly QuipuVerb[] = [
  quipuVerb({
    name: 'create',
    summary: 'Create an empty context and print its id.',
    examples: [
      'ctx=$(quipu context create --title "fix the parser")',
      'quipu context create --name fix-the-parser --or-get',
      'quipu context create --label urgent --meta \'{"repo":"quipu"}\' --json',
    ],
    takes: [
      NAME_OPTION,
      option('--or-get', 'print the id of the context with that name, if there is one'),
      ...DETAILS_OPTIONS,
      KEY_OPTION,
    ],
    async give(io, options) {
      const { name, orGet, key } = options;
      if (orGet === true && (name === undefined || key !== undefined)) {
        throw invalid('--or-get', 'needs --name, and takes no --key');
      }
      const { contexts } = await io.createStore();
      const details = toDetails(options);
      return orGet === true && name !== undefined
        ? contexts.getOrCreate(name, details)
        : contexts.create({ ...details, ...given({ name, idempotencyKey: key }) });
    },
    show: toId,
  }),
  quipuVerb({
    name: 'list',
    summary: 'List contexts, the most recently used first.',
    examples: [
      'quipu context list',
      'quipu context list --label urgent -n 5 --json',
      'quipu context list --prefix customers/',
      'quipu context list --meta env=prod --meta user^=ann --since 7d --total',
    ],
    takes: [
      preset('-n, --limit <n>', 'how many at most', parseCount, 50),
      option('--label <word>', 'only those with this label'),
      option('--kind <word>', 'only those of this kind'),
      option('--prefix <text>', 'only those whose name begins with this'),
      option(
        '--meta <condition>',
        'only those with this field in their meta: key=value, key^=beginning, key, or !key for those without; may be given many times',
        collect,
      ),
      option('--since <when>', 'only those used since then: a date, or 7d', parseTime),
      option('--until <when>', 'only those last used before', parseTime),
      option('--created-since <when>', 'only those created since then', parseTime),
      option('--created-until <when>', 'only those created before', parseTime),
      option('--total', 'also print the number of all matches to standard error'),
      option('--cursor <text>', 'continue where the previous page ended'),
    ],
    async run(io, options) {
      const { contexts } = await io.openStore();
      const { limit, label, kind, prefix, total: count, cursor: from, meta, ...times } = options;
      const { since, until, createdSince, createdUntil } = times;
      const { items, cursor, total } = await contexts.list({
        limit,
        ...given({ label, kind, namePrefix: prefix, cursor: from, count }),
        ...(meta !== undefined && { meta: Object.fromEntries(meta.map(parseCondition)) }),
        created: given({ since: createdSince, until: createdUntil }),
        updated: given({ since, until }),
      });
      // Where nobody uses names, a column of them would be empty.
      const isNamed = items.some(({ name }) => name !== undefined);
      const shown = COLUMNS.filter(([heading]) => isNamed || heading !== 'NAME');
      await io.printRows(items, tableOf(shown));
      if (total !== undefined) io.note({ total }, `total: ${total}`);
      if (cursor !== undefined) io.noteMore({ cursor });
    },
  }),
  quipuVerb({
    name: 'show',
    summary: 'Show what is known about a context.',
    examples: ['quipu context show 1', 'quipu context show 1 --json'],
    takes: [contextArgument()],
    give: async (io, context) => mustGetContext(await io.openStore(), context),
    show: toContextFacts,
  }),
  quipuVerb({
    name: 'update',
    summary: 'Change the details of a context; the rest stays as it is.',
    examples: [
      'quipu context update 1 --title "fixed the parser"',
      'quipu context update 1 --label done --label parser --clear meta',
    ],
    takes: [
      contextArgument(),
      ...DETAILS_OPTIONS,
      oneOf('--clear <field...>', 'fields to remove', FIELDS),
    ],
    async give(io, context, options) {
      const change = toChange(options);
      const { contexts, id } = await openContext(io, context);
      return contexts.update(id, change);
    },
  }),
  quipuVerb({
    name: 'rename',
    summary: 'Give a context another name, or none. The old name is free then.',
    examples: ['quipu context rename 1 fix-the-parser', 'quipu context rename @draft'],
    takes: [contextArgument(), argument('[name]', 'the new name; leave it out to remove the name')],
    async give(io, context, name) {
      const { contexts, id } = await openContext(io, context);
      return contexts.rename(id, name ?? null);
    },
  }),
  quipuVerb({
    name: 'move',
    summary: 'Move the head of a context to any turn, or to none, without a new turn.',
    examples: [
      'quipu context move 1 2',
      'quipu context move 1 0',
      'quipu context move 1 12 --expect-head 130',
    ],
    takes: [
      contextArgument(),
      argument('<turn>', 'the new head (0: none)', parseTurnIdOrNone),
      option('--expect-head <turn>', 'only if this is the head', parseTurnIdOrNone),
    ],
    async give(io, context, head, { expectHead: expectedHead }) {
      const { contexts, id } = await openContext(io, context);
      return contexts.moveHead(id, head, given({ expectedHead }));
    },
  }),
  quipuVerb({
    name: 'rm',
    summary: 'Remove a context. Turns that a fork or a pin needs stay.',
    examples: ['quipu context rm 3'],
    takes: [contextArgument()],
    async give(io, context) {
      const { contexts, id } = await openContext(io, context);
      await contexts.remove(id);
      return { id: String(id), removed: true };
    },
  }),
  quipuVerb({
    name: 'fork',
    summary: 'Create a context that goes on from a turn, and print its id.',
    examples: [
      'branch=$(quipu context fork 12)',
      'quipu context fork 12 --title "another way" --json',
      'quipu context fork 12 --key job-7',
    ],
    takes: [
      argument('<turn>', 'the turn to go on from', parseTurnId),
      NAME_OPTION,
      ...DETAILS_OPTIONS,
      KEY_OPTION,
    ],
    async give(io, turn, options) {
      const { contexts } = await io.openStore();
      const { name, key: idempotencyKey } = options;
      return contexts.fork(turn, { ...toDetails(options), ...given({ name, idempotencyKey }) });
    },
    show: toId,
  }),
  quipuVerb({
    name: 'diff',
    summary: 'Show where two turns part, and the turns on each side.',
    examples: ['quipu context diff 12 17', 'quipu context diff 12 17 --json'],
    takes: [argument('<a>', 'turn id', parseTurnId), argument('<b>', 'turn id', parseTurnId)],
    give: async (io, a, b) => (await io.openStore()).contexts.diff(a, b),
    show: ({ base = 'none', left, right }) =>
      toFacts([
        ['base', base],
        ['left', left.join(' ')],
        ['right', right.join(' ')],
      ]),
  }),
  quipuVerb({
    name: 'follow',
    summary: 'Print the turns of a context, then every new one until Ctrl-C.',
    examples: [
      'quipu context follow 1',
      'quipu context follow 1 --after 120 --json',
      'quipu context follow 1 -n 3',
    ],
    takes: [
      contextArgument(),
      option('--after <turn>', 'begin after this turn', parseTurnId),
      option('-n, --count <n>', 'stop after this many turns', parseCount),
      ...READ_OPTIONS,
    ],
    async *each(io, context, { count, ...options }) {
      const { contexts, id } = await openContext(io, context);
      const signal = io.shell.catchInterrupt();
      yield* upTo(count, turnsOf(contexts.follow(id, { ...options, signal, moves: true }), io));
    },
    line: toTurnLine,
  }),
  quipuVerb({
    name: 'chain',
    summary: 'Print all turns from the root to a turn, one JSON object a line.',
    examples: ['quipu context chain 12', 'quipu context chain 12 --no-payload --out chain.ndjson'],
    takes: [argument('<turn>', 'turn id', parseTurnId), ...OUT_OPTIONS, ...READ_OPTIONS],
    async run(io, id, options) {
      const store = await io.openStore();
      const tip = await mustGetTurn(store, id, { payload: false });
      const { exportChain } = await import('./context-lines.ts');
      await exportChain(io.shell, store, tip, options);
    },
  }),
  quipuVerb({
    name: 'export',
    summary: 'Print all turns from the root to the head, one JSON object a line.',
    examples: [
      'quipu context export 1 > context-1.ndjson',
      'quipu context export 1 --as original --out context-1.ndjson',
    ],
    takes: [contextArgument(), ...OUT_OPTIONS, ...READ_OPTIONS],
    async run(io, context, options) {
      const store = await io.openStore();
      const { head, headDepth: depth } = await mustGetContext(store, context);
      const tip = head === NO_TURN ? undefined : { id: head, depth };
      const { exportChain } = await import('./context-lines.ts');
      await exportChain(io.shell, store, tip, options);
    },
  }),
];

function toFlags(flags: number): string {
  const names = [
    ...((flags & ContextFlag.OPEN) === 0 ? [] : ['open']),
    ...((flags & ContextFlag.FORKED) === 0 ? [] : ['forked']),
  ];
  return `${flags} (${names.join(', ')})`;
}

function toContextFacts(context: Context): string {
  const { name, title, kind, labels, meta } = context;
  return toFacts([
    ['context', context.id],
    ['name', name && toPlainLine(name, name.length)],
    ['title', title],
    ['kind', kind],
    ['labels', labels.length === 0 ? undefined : labels.join(', ')],
    ['head', context.head === NO_TURN ? 'none' : `${context.head} at depth ${context.headDepth}`],
    ['forked from', context.base === NO_TURN ? undefined : context.base],
    ['open turn', context.openTurn === NO_TURN ? undefined : context.openTurn],
    ['flags', context.flags === 0 ? undefined : toFlags(context.flags)],
    ['created', toTime(context.createdAt)],
    ['updated', toTime(context.updatedAt)],
    ['meta', meta === undefined ? undefined : JSON.stringify(meta)],
  ]);
}

interface UpdateGiven extends DetailsOptions {
  readonly clear?: readonly (typeof FIELDS)[number][];
}

function toChange(options: UpdateGiven): ContextUpdate {
  const given = toDetails(options);
  const { clear = [] } = options;
  const twice = clear.find((field) => field in given);
  if (twice !== undefined) throw invalid('--clear', `names ${twice}, which is also given a value`);
  const change = { ...given, ...Object.fromEntries(clear.map((field) => [field, null])) };
  if (Object.keys(change).length > 0) return change;
  throw invalid('change', 'is missing; give --title, --kind, --label, --meta or --clear');
}

/** Standard output holds turns only. */
async function* turnsOf(
  followed: AsyncIterable<Turn | MovedHead>,
  { shell }: CommandIo,
): AsyncGenerator<Turn, void, undefined> {
  for await (const turn of followed) {
    if ('backTo' in turn) shell.err(`head moved back to turn ${turn.backTo}\n`);
    else yield turn;
  }
}
