import { quipuVerb } from '../kit/command.ts';
import type { QuipuVerb } from '../kit/command.ts';
import { stillUsed } from './erasure.ts';
import { parseCount, parseTurnId } from '../kit/parse.ts';
import { PAYLOAD_OPTIONS, readPayload } from './turn-options.ts';
import { toSize } from '../kit/text.ts';
import { argument, option, required } from '../kit/verb.ts';

const patch = quipuVerb({
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
  async run(io, id, options) {
    const { payload, encoding } = await readPayload(io, options);
    const { expectSeq: expectedSeq } = options;
    await using store = await io.openStore();
    const patch = await store.contexts.patch(id, payload, {
      encoding,
      ...(expectedSeq !== undefined && { expectedSeq }),
    });
    await io.print(patch, () => `${patch.seq}\n`);
  },
});

const tombstone = quipuVerb({
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
  async run(io, id, options) {
    const { reason, expectSeq: expectedSeq } = options;
    await using store = await io.openStore();
    const patch = await store.contexts.tombstone(id, reason, {
      ...(expectedSeq !== undefined && { expectedSeq }),
    });
    await io.print(patch, () => `${patch.seq}\n`);
  },
});

const patches = quipuVerb({
  name: 'patches',
  summary: 'List the patches on a turn, oldest first.',
  examples: ['quipu context patches 12', 'quipu context patches 12 --json'],
  takes: [argument('<turn>', 'turn id', parseTurnId)],
  async run(io, id) {
    await using store = await io.openStore();
    await io.printRows(await store.contexts.patches(id), (patches, screen) => {
      const rows = patches.map((patch) => [
        String(patch.seq),
        patch.tombstone ? 'tombstone' : 'patch',
        screen.time(patch.createdAt),
        String(patch.encoding),
        toSize(patch.size),
      ]);
      return screen.table(['SEQ', 'WHAT', 'CREATED', 'ENCODING', 'SIZE'], rows, ['SEQ', 'SIZE']);
    });
  },
});

const erase = quipuVerb({
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
    const { shell } = io;
    const { reason, everywhere = false } = options;
    await using store = await io.openStore();
    const report = await store.contexts.erase(id, { reason, everywhere });
    const { turn, erased, blobs } = report;
    if (io.json) await io.printJson(report);
    else if (erased) for (const { hash } of blobs) await shell.out(`${hash}\n`);
    if (!erased) throw stillUsed(blobs, turn);
  },
});

const pin = quipuVerb({
  name: 'pin',
  summary: 'Keep a turn and all before it, also if no context leads to it.',
  examples: ['quipu context pin 12 --reason "quoted in the report"'],
  takes: [argument('<turn>', 'turn id', parseTurnId), option('--reason <text>', 'why')],
  async run(io, id, { reason }) {
    await using store = await io.openStore();
    await store.contexts.pin(id, { ...(reason !== undefined && { reason }) });
    if (io.json) await io.printJson({ turn: String(id), pinned: true });
  },
});

const unpin = quipuVerb({
  name: 'unpin',
  summary: 'Remove the pin of a turn.',
  examples: ['quipu context unpin 12'],
  takes: [argument('<turn>', 'turn id', parseTurnId)],
  async run(io, id) {
    await using store = await io.openStore();
    await store.contexts.unpin(id);
    if (io.json) await io.printJson({ turn: String(id), pinned: false });
  },
});

const pins = quipuVerb({
  name: 'pins',
  summary: 'List the pinned turns.',
  examples: ['quipu context pins', 'quipu context pins --json'],
  async run(io) {
    await using store = await io.openStore();
    const pins = await store.contexts.pins();
    await io.printRows(pins, (_, screen) => {
      const rows = pins.map(({ turn, reason = '' }) => [String(turn), reason]);
      return screen.table(['TURN', 'REASON'], rows, ['TURN']);
    });
  },
});

export const overlayVerbs: readonly QuipuVerb[] = [
  patch,
  tombstone,
  patches,
  erase,
  pin,
  unpin,
  pins,
];
