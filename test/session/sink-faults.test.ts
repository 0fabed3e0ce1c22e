import { describe, expect, it } from 'vitest';
import { type ArtifactDraft, Artifacts } from '../../src/session/artifacts/artifacts.ts';
import { OutputSink, type OutputSummary } from '../../src/session/sink/output-sink.ts';
import { FaultIo } from '../../src/testing/disk/fault-io.ts';
import { planFaults } from '../../src/testing/disk/fault-plan.ts';
import { MemoryIo } from '../../src/testing/disk/memory-io.ts';
import type { Io } from '../../src/engine/io.ts';
import { giveUpSinks } from './give-up-sinks.ts';
import { useSessionRig } from './rig.ts';

// Invariant: an id in a summary means that every byte of the sanitised output is in the file of that id. Whatever
// fails on the way, what is shown is right, and no half file is left.

const rig = useSessionRig();
const CHUNKS = Array.from({ length: 6 }, (_, n) => `line ${n} of the output\n`);

type OpenDraft = ReturnType<Artifacts['openDraft']>;
type Wrap = (draft: ArtifactDraft) => ArtifactDraft;

async function run(io: Io, cap: number, wrap: Wrap): Promise<OutputSummary> {
  const artifacts = new Artifacts(io, '/a');
  const artifact = async (): OpenDraft => wrap(await artifacts.openDraft('bash'));
  const sink = new OutputSink({ artifact, spillThreshold: 30, artifactMaxBytes: cap });
  for (const chunk of CHUNKS) await sink.push(chunk);
  return sink.dump();
}

/** Files of outputs, finished or not, by name. */
function filesIn(io: MemoryIo): Record<string, string> {
  const paths = io.paths().filter((path) => /^a\/\d/.test(path) || path.endsWith('.part'));
  const texts = paths.map((path) => {
    const content = io.contentOf(path)!;
    const bytes = Buffer.alloc(content.length);
    content.read(bytes, 0);
    return [path, bytes.toString('utf8')];
  });
  return Object.fromEntries(texts) as Record<string, string>;
}

/** Lets every operation fail, each way; gives how often there was no id in the end. */
async function failEverywhere(cap: number, wrap: Wrap = (draft) => draft): Promise<number> {
  const trial = new FaultIo(new MemoryIo());
  const good = await run(trial, cap, wrap);
  expect(good.artifactId).toBe('0');
  let failed = 0;
  for (const plan of planFaults(trial.trace, ['EIO', 'SHORT_ENOSPC', 'EMFILE'])) {
    const disk = new MemoryIo();
    const summary = await run(new FaultIo(disk, plan), cap, wrap);
    const { artifactId, artifactError, ...rest } = summary;
    const story = `${plan.kind} ${plan.times} at ${JSON.stringify(trial.trace[plan.at - 1])}`;
    expect({ ...rest, artifactId: '0' }, story).toEqual(good);
    // A disk that fails for ever keeps what could not be removed; a limit leaves other bytes.
    const isKnown = artifactId === undefined ? plan.times === 'once' : cap === 0;
    const files = isKnown ? filesIn(disk) : undefined;
    const whole = artifactId === undefined ? {} : { 'a/0.bash.log': CHUNKS.join('') };
    expect(files, story).toEqual(isKnown ? whole : undefined);
    const reason = artifactId === undefined ? artifactError : 'open: none';
    expect(reason, story).toMatch(/^(?:open|write|flush|close): /);
    failed += artifactId === undefined ? 1 : 0;
  }
  return failed;
}

/** A file that takes less than it is given and does not say so. */
const careless: Wrap = (draft) => {
  const { file } = draft;
  const write = async (bytes: Uint8Array, position: number): Promise<number> => {
    await file.write(bytes, position).catch(() => undefined);
    return bytes.length;
  };
  return { ...draft, file: Object.assign(Object.create(file) as typeof file, { write }) };
};

/** A file that is announced before it has its name. */
const hasty: Wrap = (draft) => ({
  ...draft,
  publish: () => draft.publish().catch(() => undefined),
});

/** A file that stays when it failed. */
const messy: Wrap = (draft) => ({ ...draft, discard: async () => undefined });

describe('an output whose file cannot be written', () => {
  it.each([0, 60])('is shown all the same, and has no id (limit %d)', async (cap) => {
    expect(await failEverywhere(cap)).toBeGreaterThan(10);
  });

  it.each(Object.entries({ careless, hasty, messy }))(
    'would be noticed if it were %s',
    async (_, wrap) => {
      await expect(failEverywhere(0, wrap)).rejects.toThrow(/ at \{/);
    },
  );

  it('leaves nothing open when it is given up', async () => {
    const { folder } = await rig();
    expect(await giveUpSinks(folder, 200)).toBe(0);
  });
});
