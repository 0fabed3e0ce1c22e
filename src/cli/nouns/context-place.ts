import { quipuVerb } from '../kit/command.ts';
import type { QuipuVerb } from '../kit/command.ts';
import { parseTurnIdOrNone } from '../kit/parse.ts';
import { argument, option } from '../kit/verb.ts';
import { contextArgument } from './turn-options.ts';
import { findContextId } from './turn-output.ts';

// The verbs that change the name of a context, and where its head is.

export const rename: QuipuVerb = quipuVerb({
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

export const move: QuipuVerb = quipuVerb({
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
