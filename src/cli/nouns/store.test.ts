import { CliRig } from '../../../test/cli/rig.ts';
import { sixTurns } from '../../../test/cli/six-turns.ts';
import { QuipuError } from '../../base/errors.ts';
import { gradeSync } from '../doctor/check-machine.ts';
import type { Finding } from '../doctor/check-machine.ts';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';

describe('quipu init', () => {
  it('makes a store here, also when there is one at home', async () => {
    using rig = new CliRig();
    mkdirSync(join(rig.cwd, 'home', '.quipu'), { recursive: true });
    const place = join(rig.cwd, '.quipu');
    expect(await rig.run('init')).toEqual({ code: 0, out: `${place}\n`, err: '' });
    expect(await rig.run('init')).toEqual({
      code: 0,
      out: `${place}\n`,
      err: 'quipu: it was there before\n',
    });
  });

  it('takes the place from the option or the environment', async () => {
    using rig = new CliRig();
    rig.env['QUIPU_STORE'] = 'named';
    const made = await rig.run('init', '--json');
    expect(JSON.parse(made.out)).toEqual({ store: join(rig.cwd, 'named'), created: true });
    expect((await rig.run('--store', 'other', 'init')).out).toBe(`${join(rig.cwd, 'other')}\n`);
  });
});

describe('quipu stats', () => {
  it('prints counts for people and for machines', async () => {
    using rig = new CliRig();
    await sixTurns(rig);
    const { code, out } = await rig.run('stats');
    expect(code).toBe(0);
    expect(out).toMatch(/^turns +6$/m);
    expect(out).toMatch(/^payloads +12 B written$/m);
    const found = JSON.parse((await rig.run('stats', '--json')).out) as object;
    expect(found).toMatchObject({ contexts: 1, turns: 6, logicalBytes: 12 });
  });
});

describe('quipu copy', () => {
  it('copies a store, and again what is new', { timeout: 60_000 }, async () => {
    using rig = new CliRig({ onDisk: true });
    await sixTurns(rig);
    await rig.run('queue', 'push', 'jobs', '--type', 'TASK', '--source', 'here', '--content', '{}');
    const first = await rig.run('copy', '.quipu', 'copied', '--json');
    expect(first).toMatchObject({ code: 0, err: '' });
    expect(JSON.parse(first.out)).toMatchObject({ turns: 6, contexts: 1, queues: 1, leftOut: [] });
    await rig.run('context', 'append', '1', '--type', 'note', '--text', 'new');
    const second = await rig.run('copy', '.quipu', 'copied');
    expect(second).toMatchObject({ code: 0, err: '' });
    expect(second.out).toMatch(/^turns +1\ncontexts +0\n[^]*compared +equal\n$/);
    const found = await rig.run('--store', 'copied', 'context', 'last', '1', '--json');
    expect(found.out.trimEnd().split('\n')).toHaveLength(7);
  });

  it('refuses servers, the same place, other contents and what is not there', async () => {
    using rig = new CliRig({ onDisk: true });
    await sixTurns(rig);
    const nowhere = await rig.run('copy', 'nowhere', 'copied');
    expect(nowhere).toMatchObject({ code: 1, err: expect.stringContaining('no store') as string });
    expect(existsSync(join(rig.cwd, 'copied'))).toBe(false);
    expect((await rig.run('copy', '.quipu', '.quipu/inside')).code).toBe(2);
    expect((await rig.run('copy', '.quipu', 'quipu://localhost')).err).toContain('stop the server');
    await rig.run('--store', 'other', 'blob', 'put', join(rig.cwd, '.quipu', 'FORMAT'));
    const other = await rig.run('copy', '.quipu', 'other', '--json');
    expect(other).toMatchObject({ code: 2, out: '' });
    expect(JSON.parse(other.err)).toMatchObject({ error: { code: 'INVALID' } });
  });

  it('says at the beginning what stays behind, and where it was stopped', async () => {
    using rig = new CliRig({ onDisk: true });
    await sixTurns(rig);
    await rig.run('session', 'create');
    rig.interrupt.abort();
    const { code, err } = await rig.run('copy', '.quipu', 'copied');
    expect(code).toBe(1);
    expect(err).toMatch(/^not copied: session files \(1\): .*\n[^]*goes on from here/);
  });
});

describe('quipu doctor', () => {
  let rig: CliRig;
  let folder: string;
  beforeEach(async () => {
    rig = new CliRig({ onDisk: true });
    folder = join(rig.cwd, '.quipu');
    await rig.run('context', 'create');
    return () => rig[Symbol.dispose]();
  });

  async function examine(...argv: string[]): Promise<{ code: number; of: Map<string, Finding> }> {
    const { code, out } = await rig.run('doctor', '--json', ...argv);
    const findings = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Finding);
    return { code, of: new Map(findings.map((finding) => [finding.check, finding])) };
  }

  const CHECKS = `node blake3 zstd sqlite open_files clock
  store disk_space file_system sync permissions format clock_of_store
  journal checkpoint owner socket tokens opening durability damage`
    .split(/\s+/)
    .map((word) => word.replaceAll('_', ' '));

  it('finds nothing that failed in a good store, and leaves it as it was', async () => {
    const before = readdirSync(folder).toSorted();
    const { code, of } = await examine();
    expect(code).toBe(0);
    expect([...of.values()].filter(({ grade }) => grade === 'fail')).toEqual([]);
    expect([...of.keys()]).toEqual(CHECKS);
    // The clock of the rig stands at a time before the store was made.
    expect(of.get('clock of store')).toMatchObject({ grade: 'warn' });
    expect(readdirSync(folder).toSorted()).toEqual(before);
    const { out } = await rig.run('doctor');
    expect(out).toMatch(/^ok +node +version /m);
  });

  it('has advice for everything that is not well', async () => {
    chmodSync(folder, 0o777);
    rig.machine = { openFiles: 256 };
    await rig.run('token', 'create', 'a');
    chmodSync(join(folder, 'tokens.json'), 0o640);
    const { code, of } = await examine();
    expect(code).toBe(1);
    expect(of.get('permissions')).toMatchObject({
      grade: 'fail',
      advice: `run: chmod 700 ${folder}`,
    });
    expect(of.get('open files')).toMatchObject({ grade: 'warn' });
    expect(of.get('tokens')).toMatchObject({ grade: 'warn' });
    for (const { grade, advice } of of.values()) expect(advice !== undefined).toBe(grade !== 'ok');
    const { err, out } = await rig.run('doctor');
    expect(err).toBe('quipu: 1 check failed\n');
    expect(out).toContain(`> run: chmod 700 ${folder}`);
  });

  it('does not go near a store with modules that do not work', async () => {
    rig.machine = { nodeVersion: '18.20.0' };
    const { code, of } = await examine();
    expect(code).toBe(1);
    expect(of.get('node')).toMatchObject({ grade: 'fail' });
    expect(of.get('store')).toMatchObject({ grade: 'warn', found: 'not looked at' });
    expect(of.has('opening')).toBe(false);
  });

  it('names damage', async () => {
    writeFileSync(join(folder, 'FORMAT'), '{"format":1}\n');
    truncateSync(join(folder, 'journal/checkpoint-a'), 3);
    truncateSync(join(folder, 'journal/checkpoint-b'), 3);
    const { code, of } = await examine();
    expect(code).toBe(1);
    for (const check of ['format', 'checkpoint', 'opening']) {
      expect(of.get(check)?.grade, check).toBe('fail');
    }
  });

  it('tells a living owner from a dead one, and asks it', async () => {
    await using store = await rig.open();
    expect((await store.contexts.list()).items).toHaveLength(1);
    const taken = await examine();
    expect(taken.code).toBe(0);
    expect(taken.of.get('owner')?.found).toMatch(/, alive$/);
    expect(taken.of.get('socket')).toMatchObject({ grade: 'ok', found: 'answers' });
    expect(taken.of.get('opening')).toMatchObject({ grade: 'ok' });
    rig.machine = { isAlive: () => false };
    expect((await examine()).of.get('owner')?.found).toContain('which is gone');
  });

  it('says who has a store for itself', async () => {
    await using store = await rig.open(folder, { share: false });
    const { code, of } = await examine('--wait', '0');
    expect(code).toBe(0);
    expect(of.get('opening')).toMatchObject({
      grade: 'warn',
      found: expect.stringContaining(`in use by process ${process.pid}`) as string,
    });
    expect((await store.contexts.list()).items).toHaveLength(1);
  });

  it('says when there is no store, which is no failure', async () => {
    const { code, of } = await examine('--store', 'other');
    expect(code).toBe(0);
    expect(of.get('store')).toMatchObject({ grade: 'warn' });
    expect(statSync(join(rig.cwd, 'other'), { throwIfNoEntry: false })).toBeUndefined();
  });

  describe('a server', () => {
    it.each([
      [new QuipuError('UNAUTHORIZED', 'who are you', {}), 'token'],
      [new QuipuError('FORBIDDEN', 'not you', { scope: 'admin' }), 'token'],
      [new QuipuError('UNAVAILABLE', 'nobody there', { what: 'server' }), 'server'],
    ])('that refuses with %s is a failure', async (error, check) => {
      rig.open = () => Promise.reject(error);
      const { code, of } = await examine('--server', 'quipu://127.0.0.1:1');
      expect(code).toBe(1);
      expect(of.get(check)).toMatchObject({ grade: 'fail', found: error.message });
      expect(of.has('disk space')).toBe(false);
    });
  });

  it('does not believe in a sync that takes no time', () => {
    expect([3, 80, 4000, 90_000].map((micros) => gradeSync(micros).grade)).toEqual([
      'warn',
      'ok',
      'ok',
      'warn',
    ]);
  });
});

describe('quipu checkpoint', () => {
  it('is silent when done, and says so as JSON', async () => {
    using rig = new CliRig();
    await rig.run('init');
    expect(await rig.run('checkpoint')).toEqual({ code: 0, out: '', err: '' });
    expect((await rig.run('checkpoint', '--json')).out).toBe('{"checkpointed":true}\n');
  });

  it('needs a store', async () => {
    using rig = new CliRig();
    expect(await rig.run('checkpoint')).toMatchObject({ code: 1, out: '' });
  });
});

describe('quipu reindex', () => {
  it('is silent when done, and says so as JSON', async () => {
    using rig = new CliRig();
    await rig.run('init');
    expect(await rig.run('reindex')).toEqual({ code: 0, out: '', err: '' });
    expect((await rig.run('reindex', '--json')).out).toBe('{"reindexed":true}\n');
  });

  it('needs a store', async () => {
    using rig = new CliRig();
    expect(await rig.run('reindex')).toMatchObject({ code: 1, out: '' });
  });
});
