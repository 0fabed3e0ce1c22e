import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Run } from './run.ts';

const PREFIX_MAX = 2 ** 32 - 1;

/** A run of chunks with one entry each, of these prefixes. */
function runOf(prefixes: readonly number[]): Run {
  const run = new Run(1);
  for (const prefix of prefixes.toSorted((a, b) => a - b)) {
    const entry = Buffer.alloc(16);
    entry.writeUInt32BE(prefix);
    run.addChunk(entry, 16);
  }
  return run;
}

/** The same by looking at every chunk. */
function slowly(run: Run, prefix: number): number {
  let chunk = run.base;
  while (chunk + 1 < run.end && run.fence(chunk + 1) < prefix) chunk += 1;
  return chunk;
}

describe('run', () => {
  const anywhere = fc.integer({ min: 0, max: PREFIX_MAX });
  const crowded = fc.integer({ min: 1000, max: 1010 });
  const prefixes = fc.array(fc.oneof(anywhere, crowded), { maxLength: 200 });

  it('finds the first chunk that can hold a prefix, however the fences are spread', () => {
    fc.assert(
      fc.property(prefixes, fc.nat(), fc.oneof(anywhere, crowded), (fences, gone, prefix) => {
        const run = runOf(fences);
        run.base = gone % (run.end + 1);
        const asked = [prefix, 0, PREFIX_MAX, run.fence(run.base), run.fence(run.end - 1)];
        for (const one of asked) expect(run.firstChunkFor(one)).toBe(slowly(run, one));
      }),
    );
  });
});
