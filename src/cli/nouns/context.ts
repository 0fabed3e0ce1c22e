import { given } from '../../base/given.ts';
import { NO_TURN } from '../../base/brand.ts';
import { invalid } from '../../base/errors.ts';
import { parseCondition } from '../../context/meta-condition.ts';
import type { Context } from '../../context/context.ts';
import type { ContextUpdate, GivenRange, ListOptions } from '../../context/contexts.ts';
import { ContextFlag } from '../../format/head-record.ts';
import {
  DETAILS_OPTIONS,
  KEY_OPTION,
  NAME_OPTION,
  READ_OPTIONS,
  contextArgument,
  toDetails,
  toKey,
  toName,
  toReadOptions,
} from './turn-options.ts';
import type { DetailsOptions } from './turn-options.ts';
import { quipuVerb } from '../kit/command.ts';
import type { QuipuVerb } from '../kit/command.ts';
import { findContextId, mustGetContext, mustGetTurn, toTurnLine } from './turn-output.ts';
import { OUT_OPTIONS } from '../kit/output.ts';
import { collect, parseCount, parseTime, parseTurnId, parseTurnIdOrNone } from '../kit/parse.ts';
import type { Screen } from '../kit/screen.ts';
import { toFacts, toPlainLine, toTime } from '../kit/text.ts';
import { argument, oneOf, option, preset } from '../kit/verb.ts';
import type { OptionsIn } from '../kit/verb.ts';

const create = quipuVerb({
  name: 'create',
  summary: 'Create an empty context and print its id.',
  examples: [
    'ctx=$(quipu context create --title "fix the parser")',
    'quipu context create --name fix-the-parser --or-get',
    'quipu context create --label urgent --meta \'{"repo":"quipu"}\' --json',
  ],
  takes: [
    ...NAME_OPTION,
    option('--or-get', 'print the id of the context with that name, if there is one'),
    ...DETAILS_OPTIONS,
    ...KEY_OPTION,
  ],
  async run(io, options) {
    const { name, orGet, key } = options;
    if (orGet === true && (name === undefined || key !== undefined)) {
      throw invalid('--or-get', 'needs --name, and takes no --key');
    }
    await using store = await io.createStore();
    const details = toDetails(options);
    const context =
      orGet === true && name !== undefined
        ? await store.contexts.getOrCreate(name, details)
        : await store.contexts.create({ ...details, ...toName(options), ...toKey(options) });
    await io.print(context, () => `${context.id}\n`);
  },
});

const TITLE_CHARS = 48;

const LISTING = [
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
] as const;
type ListGiven = OptionsIn<typeof LISTING>;

const list = quipuVerb({
  name: 'list',
  summary: 'List contexts, the most recently used first.',
  examples: [
    'quipu context list',
    'quipu context list --label urgent -n 5 --json',
    'quipu context list --prefix customers/',
    'quipu context list --meta env=prod --meta user^=ann --since 7d --total',
  ],
  takes: LISTING,
  async run(io, options) {
    await using store = await io.openStore();
    const { items, cursor, total } = await store.contexts.list(toListOptions(options));
    await io.printRows(items, toContextTable);
    if (total !== undefined) {
      io.shell.err(io.json ? `${JSON.stringify({ total })}\n` : `total: ${total}\n`);
    }
    if (cursor === undefined) return;
    // Standard output holds contexts only, so the cursor for the next page goes to standard error.
    io.noteMore({ cursor });
  },
});

function toListOptions(options: ListGiven): ListOptions {
  const { limit, label, kind, prefix, cursor, total, meta } = options;
  return {
    limit,
    ...(total !== undefined && { count: total }),
    ...(meta !== undefined && { meta: Object.fromEntries(meta.map(parseCondition)) }),
    created: toTimes(options.createdSince, options.createdUntil),
    updated: toTimes(options.since, options.until),
    ...given({ label, kind, namePrefix: prefix, cursor }),
  };
}

function toTimes(since: number | undefined, until: number | undefined): GivenRange {
  return given({ since, until });
}

function toContextTable(contexts: readonly Context[], screen: Screen): string {
  // Where nobody uses names, a column of them would be empty.
  const isNamed = contexts.some(({ name }) => name !== undefined);
  const names = isNamed ? ['NAME'] : [];
  const headings = ['CONTEXT', 'HEAD', 'DEPTH', 'UPDATED', ...names, 'TITLE', 'LABELS'];
  const rows = contexts.map((context) => [
    String(context.id),
    String(context.head),
    String(context.headDepth),
    screen.time(context.updatedAt),
    ...(isNamed ? [toPlainLine(context.name ?? '', TITLE_CHARS)] : []),
    toPlainLine(context.title ?? '', TITLE_CHARS),
    context.labels.join(','),
  ]);
  return screen.table(headings, rows, ['CONTEXT', 'HEAD', 'DEPTH']);
}

const show = quipuVerb({
  name: 'show',
  summary: 'Show what is known about a context.',
  examples: ['quipu context show 1', 'quipu context show 1 --json'],
  takes: [contextArgument()],
  async run(io, context) {
    await using store = await io.openStore();
    await io.print(await mustGetContext(store, context), toContextFacts);
  },
});

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
    ['context', String(context.id)],
    ...(name === undefined ? [] : [['name', toPlainLine(name, name.length)] as const]),
    ...(title === undefined ? [] : [['title', title] as const]),
    ...(kind === undefined ? [] : [['kind', kind] as const]),
    ...(labels.length === 0 ? [] : [['labels', labels.join(', ')] as const]),
    ['head', context.head === NO_TURN ? 'none' : `${context.head} at depth ${context.headDepth}`],
    ...(context.base === NO_TURN ? [] : [['forked from', String(context.base)] as const]),
    ...(context.openTurn === NO_TURN ? [] : [['open turn', String(context.openTurn)] as const]),
    ...(context.flags === 0 ? [] : [['flags', toFlags(context.flags)] as const]),
    ['created', toTime(context.createdAt)],
    ['updated', toTime(context.updatedAt)],
    ...(meta === undefined ? [] : [['meta', JSON.stringify(meta)] as const]),
  ]);
}

const FIELDS = ['title', 'kind', 'labels', 'meta'] as const;

interface UpdateGiven extends DetailsOptions {
  readonly clear?: readonly (typeof FIELDS)[number][];
}

const update = quipuVerb({
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
  async run(io, context, options) {
    const change = toChange(options);
    await using store = await io.openStore();
    const id = await findContextId(store, context);
    const updated = await store.contexts.update(id, change);
    if (io.json) await io.printJson(updated);
  },
});

function toChange(options: UpdateGiven): ContextUpdate {
  const given = toDetails(options);
  const { clear = [] } = options;
  const twice = clear.find((field) => field in given);
  if (twice !== undefined) throw invalid('--clear', `names ${twice}, which is also given a value`);
  const change = { ...given, ...Object.fromEntries(clear.map((field) => [field, null])) };
  if (Object.keys(change).length > 0) return change;
  throw invalid('change', 'is missing; give --title, --kind, --label, --meta or --clear');
}

const rename = quipuVerb({
  name: 'rename',
  summary: 'Give a context another name, or none. The old name is free then.',
  examples: ['quipu context rename 1 fix-the-parser', 'quipu context rename @draft'],
  takes: [contextArgument(), argument('[name]', 'the new name; leave it out to remove the name')],
  async run(io, context, name) {
    await using store = await io.openStore();
    const id = await findContextId(store, context);
    const renamed = await store.contexts.rename(id, name ?? null);
    if (io.json) await io.printJson(renamed);
  },
});

const move = quipuVerb({
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
  async run(io, context, head, options) {
    const { expectHead: expectedHead } = options;
    await using store = await io.openStore();
    const id = await findContextId(store, context);
    const condition = expectedHead === undefined ? {} : { expectedHead };
    const moved = await store.contexts.moveHead(id, head, condition);
    if (io.json) await io.printJson(moved);
  },
});

const rm = quipuVerb({
  name: 'rm',
  summary: 'Remove a context. Turns that a fork or a pin needs stay.',
  examples: ['quipu context rm 3'],
  takes: [contextArgument()],
  async run(io, context) {
    await using store = await io.openStore();
    const id = await findContextId(store, context);
    await store.contexts.remove(id);
    if (io.json) await io.printJson({ id: String(id), removed: true });
  },
});

const fork = quipuVerb({
  name: 'fork',
  summary: 'Create a context that goes on from a turn, and print its id.',
  examples: [
    'branch=$(quipu context fork 12)',
    'quipu context fork 12 --title "another way" --json',
    'quipu context fork 12 --key job-7',
  ],
  takes: [
    argument('<turn>', 'the turn to go on from', parseTurnId),
    ...NAME_OPTION,
    ...DETAILS_OPTIONS,
    ...KEY_OPTION,
  ],
  async run(io, turn, options) {
    await using store = await io.openStore();
    const given = { ...toDetails(options), ...toName(options), ...toKey(options) };
    const context = await store.contexts.fork(turn, given);
    await io.print(context, () => `${context.id}\n`);
  },
});

const diff = quipuVerb({
  name: 'diff',
  summary: 'Show where two turns part, and the turns on each side.',
  examples: ['quipu context diff 12 17', 'quipu context diff 12 17 --json'],
  takes: [argument('<a>', 'turn id', parseTurnId), argument('<b>', 'turn id', parseTurnId)],
  async run(io, a, b) {
    const { shell } = io;
    await using store = await io.openStore();
    const diff = await store.contexts.diff(a, b);
    if (io.json) return await io.printJson(diff);
    return await shell.out(
      toFacts([
        ['base', String(diff.base ?? 'none')],
        ['left', diff.left.join(' ')],
        ['right', diff.right.join(' ')],
      ]),
    );
  },
});

const follow = quipuVerb({
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
  async run(io, context, options) {
    const { shell } = io;
    const { after, count = Infinity } = options;
    if (count === 0) return;
    await using store = await io.openStore();
    const id = await findContextId(store, context);
    const signal = shell.catchInterrupt();
    let printed = 0;
    const turns = store.contexts.follow(id, {
      ...toReadOptions(options),
      ...(after !== undefined && { after }),
      signal,
      moves: true,
    });
    for await (const turn of turns) {
      if ('backTo' in turn) {
        // Standard output holds turns only.
        shell.err(`head moved back to turn ${turn.backTo}\n`);
        continue;
      }
      await io.print(turn, toTurnLine);
      printed += 1;
      if (printed >= count) return;
    }
  },
});

const chain = quipuVerb({
  name: 'chain',
  summary: 'Print all turns from the root to a turn, one JSON object a line.',
  examples: ['quipu context chain 12', 'quipu context chain 12 --no-payload --out chain.ndjson'],
  takes: [argument('<turn>', 'turn id', parseTurnId), ...OUT_OPTIONS, ...READ_OPTIONS],
  async run(io, id, options) {
    const { shell } = io;
    await using store = await io.openStore();
    const tip = await mustGetTurn(store, id, { payload: false });
    const { exportChain } = await import('./export-chain.ts');
    await exportChain(shell, store, tip, options);
  },
});

const exportVerb = quipuVerb({
  name: 'export',
  summary: 'Print all turns from the root to the head, one JSON object a line.',
  examples: [
    'quipu context export 1 > context-1.ndjson',
    'quipu context export 1 --as original --out context-1.ndjson',
  ],
  takes: [contextArgument(), ...OUT_OPTIONS, ...READ_OPTIONS],
  async run(io, context, options) {
    const { shell } = io;
    await using store = await io.openStore();
    const { head, headDepth: depth } = await mustGetContext(store, context);
    const tip = head === NO_TURN ? undefined : { id: head, depth };
    const { exportChain } = await import('./export-chain.ts');
    await exportChain(shell, store, tip, options);
  },
});

export const contextVerbs: readonly QuipuVerb[] = [
  create,
  list,
  show,
  update,
  rename,
  move,
  rm,
  fork,
  diff,
  follow,
  chain,
  exportVerb,
];
