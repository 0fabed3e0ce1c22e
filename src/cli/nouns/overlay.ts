import { given } from '../../base/given.ts';
import { quipuVerb, toHash, toSeq, type QuipuVerb } from '../kit/command.ts';
import { stillUsed } from './blob.ts';
import { parseCount, parseTurnId } from '../kit/parse.ts';
import { PAYLOAD_OPTIONS, readPayload } from './turn-parts.ts';
import { toSize } from '../kit/text.ts';
import { argument, option, required } from '../kit/verb.ts';

export const overlayVerbs: readonly QuipuVerb[] = [
  quipuVerb({
    name: 'patch',
    summary: 'Replace the payload that readers of a turn see, and print the number of the patch.',
    examples: [
      "quipu context patch 12 --text 'what I meant to say'",
      'quipu context patch 12 --stdin --encoding json --expect-seq 0 < fixed.json',
    ],
    takes: [
      argument('<turn>', 'turn id', parseTurnId),
      option(
        '--expect-seq <n>',
        "only if this is the turn's newest patch (0: only if it has none)",
        parseCount,
      ),
      ...PAYLOAD_OPTIONS,
    ],
    async give(io, id, options) {
      const { payload, encoding } = await readPayload(io, options);
      const { contexts } = await io.openStore();
      return contexts.patch(id, payload, given({ encoding, expectedSeq: options.expectSeq }));
    },
    show: toSeq,
  }),
  quipuVerb({
    name: 'tombstone',
    summary: "Hide a turn's payload and print the number of the patch.",
    examples: ['quipu context tombstone 12 --reason "posted by mistake"'],
    more: 'The bytes stay in the store, and --as original still shows them.',
    takes: [
      argument('<turn>', 'turn id', parseTurnId),
      required('--reason <text>', 'why; shown in place of the payload'),
      option(
        '--expect-seq <n>',
        "only if this is the turn's newest patch (0: only if it has none)",
        parseCount,
      ),
    ],
    give: async (io, id, { reason, expectSeq: expectedSeq }) =>
      (await io.openStore()).contexts.tombstone(id, reason, given({ expectedSeq })),
    show: toSeq,
  }),
  quipuVerb({
    name: 'patches',
    summary: 'List the patches on a turn, oldest first.',
    examples: ['quipu context patches 12', 'quipu context patches 12 --json'],
    takes: [argument('<turn>', 'turn id', parseTurnId)],
    list: async (io, id) => (await io.openStore()).contexts.patches(id),
    columns: [
      ['SEQ', ({ seq }) => seq, 'right'],
      ['WHAT', ({ tombstone }) => (tombstone ? 'tombstone' : 'patch')],
      ['CREATED', ({ createdAt }, screen) => screen.time(createdAt)],
      ['ENCODING', ({ encoding }) => encoding],
      ['SIZE', ({ size }) => toSize(size), 'right'],
    ],
  }),
  quipuVerb({
    name: 'erase',
    summary: "Remove a turn's bytes for good; the turn and the reason stay.",
    examples: [
      'quipu context erase 12 --reason "a password"',
      'quipu context erase 12 --reason "a password" --everywhere',
    ],
    more: 'Prints the hashes of the erased bytes. This cannot be undone.',
    takes: [
      argument('<turn>', 'turn id', parseTurnId),
      required('--reason <text>', 'why; shown in place of the payload'),
      option('--everywhere', 'also from the other turns that use the same bytes'),
    ],
    async run(io, id, options) {
      const { reason, everywhere = false } = options;
      const { contexts } = await io.openStore();
      const report = await contexts.erase(id, { reason, everywhere });
      const { turn, erased, blobs } = report;
      if (io.json) await io.printJson(report);
      else if (erased) for (const blob of blobs) await io.shell.out(toHash(blob));
      if (!erased) throw stillUsed(blobs, turn);
    },
  }),
  quipuVerb({
    name: 'pin',
    summary: 'Keep a turn and all before it, also if no context leads to it.',
    examples: ['quipu context pin 12 --reason "quoted in the report"'],
    takes: [argument('<turn>', 'turn id', parseTurnId), option('--reason <text>', 'why')],
    async give(io, id, reason) {
      await (await io.openStore()).contexts.pin(id, reason);
      return { turn: String(id), pinned: true };
    },
  }),
  quipuVerb({
    name: 'unpin',
    summary: 'Remove the pin of a turn.',
    examples: ['quipu context unpin 12'],
    takes: [argument('<turn>', 'turn id', parseTurnId)],
    async give(io, id) {
      await (await io.openStore()).contexts.unpin(id);
      return { turn: String(id), pinned: false };
    },
  }),
  quipuVerb({
    name: 'pins',
    summary: 'List the pinned turns.',
    examples: ['quipu context pins', 'quipu context pins --json'],
    list: async (io) => (await io.openStore()).contexts.pins(),
    columns: [
      ['TURN', ({ turn }) => turn, 'right'],
      ['REASON', ({ reason = '' }) => reason],
    ],
  }),
];
