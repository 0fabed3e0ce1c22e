import { describe, expect, it } from 'vitest';
import { onPrivateDisk, whyNoPrivateDisk } from '../queue/private-disk.ts';
import { ThreadRig } from '../queue/rig.ts';
import { projectPath } from '../support/project.ts';

/*
 * Invariant: on a file system that is really full, with the index in SQLite and one process after the other, a store
 * that was killed is read, a commit says DISK_FULL, and what makes room does. The same when nothing may be written
 * at all, but for what makes room.
 */

const noDisk = whyNoPrivateDisk();
const QUIPU = `"${process.execPath}" "${projectPath('dist/cli/main.js')}" --store s`;
const WRITER = `"${process.execPath}" "${projectPath('test/health/killed-writer.mjs')}" s "${projectPath('dist/index.js')}"`;
const PUT = `${QUIPU} --json blob put ../big`;

const SCRIPT = `head -c 1000000 /dev/urandom > ../big
  { ${WRITER}; } 2> /dev/null; echo "writer $?"
  dd if=/dev/zero of=fill bs=4k 2> /dev/null
  ${QUIPU} context last 1 --json | grep -c payload
  ${PUT} 2>&1 | grep -o 'DISK_FULL",'
  ${QUIPU} context last 1 --json | grep -c payload
  ${QUIPU} context erase 2 --reason secret > /dev/null; echo "erase $?"
  ${QUIPU} gc --grace 0 > /dev/null; echo "gc $?"
  ${PUT} > /dev/null; echo "put $?"
  ${QUIPU} verify > /dev/null; echo "verify $?"`;

describe('a file system that is full', { timeout: 120_000 }, () => {
  it('is read, and has room again after a collection', async (context) => {
    if (noDisk !== undefined) context.skip(noDisk);
    using rig = new ThreadRig();
    const { out, err } = await rig.sh(onPrivateDisk(SCRIPT, 32 * 1024 * 1024));
    expect(err).toBe('');
    expect(out.split('\n')).toEqual([
      'writer 137',
      '2',
      'DISK_FULL",',
      '2',
      'erase 0',
      'gc 0',
      'put 0',
      'verify 0',
      '',
    ]);
  });
});
