import fc from 'fast-check';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { assertName } from '../../engine/names.ts';
import { TokenAccess } from './token-access.ts';
import {
  changeTokenFile,
  readTokenFile,
  tokenFileOf,
  TOKENS_MAX,
  decodeTokenList,
  encodeTokenList,
  findToken,
  mintToken,
  toTokenRecord,
} from './token-file.ts';
import type { TokenRecord } from './token-file.ts';
import { PATIENCE } from '../../testing/patience.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quipu-tokens-'));
  path = tokenFileOf(folder);
  return () => rmSync(folder, { recursive: true, force: true });
});

function record(name: string, token: string, more: Partial<TokenRecord> = {}): TokenRecord {
  return { ...toTokenRecord(token, { name, scope: 'write', createdAt: 1 }), ...more };
}

async function add(name: string, token: string, more: Partial<TokenRecord> = {}): Promise<void> {
  await changeTokenFile(path, (records) => [...records, record(name, token, more)]);
}

async function revoke(name: string): Promise<void> {
  await changeTokenFile(path, (records) => records.filter((kept) => kept.name !== name));
}

describe('a token', () => {
  it('is long, random, and recognised by its hash alone', () => {
    const tokens = Array.from({ length: 100 }, mintToken);
    expect(new Set(tokens).size).toBe(100);
    expect(tokens.every((token) => /^quipu_[\w-]{43}$/.test(token))).toBe(true);
    const records = tokens.map((token, index) => record(`t${index}`, token));
    expect(JSON.stringify(records)).not.toContain(tokens[3]!.slice(6, 20));
    expect(findToken(records, tokens[3]!)?.name).toBe('t3');
    expect(findToken(records, `${tokens[3]}x`)).toBeUndefined();
    expect(findToken(records, 'x'.repeat(1 << 20))).toBeUndefined();
  });
});

describe('the token file', () => {
  it('is for its owner alone, and whole at any moment', async () => {
    await Promise.all([add('a', 'one'), add('b', 'two'), add('c', 'three')]);
    expect((await readTokenFile(path)).map(({ name }) => name).toSorted()).toEqual(['a', 'b', 'c']);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(existsSync(`${path}.new`)).toBe(false);
  });

  it('stays as it is when a change is refused', async () => {
    await add('a', 'one');
    const before = readFileSync(path);
    const refuse = (): never => {
      throw new TypeError('no');
    };
    await expect(changeTokenFile(path, refuse)).rejects.toThrow('no');
    const many = Array.from({ length: TOKENS_MAX + 1 }, (_, n) => record(`n${n}`, `${n}`));
    await expect(changeTokenFile(path, () => many)).rejects.toMatchObject({ code: 'INVALID' });
    expect(readFileSync(path)).toEqual(before);
    expect(existsSync(`${path}.new`)).toBe(false);
  });

  it('is refused when others may write to it', async () => {
    await add('a', 'one');
    chmodSync(path, 0o620);
    await expect(readTokenFile(path)).rejects.toMatchObject({ code: 'INVALID' });
  });

  it('cannot be written as a log or document of the store', () => {
    expect(() => assertName('tokens.json')).toThrow('keeps for itself');
    expect(() => assertName('tokens.json.new')).toThrow('keeps for itself');
  });

  it('is decoded as it was encoded, and refused otherwise', () => {
    const records = [record('a', 'one'), record('b', 'two', { scope: 'read', expiresAt: 5 })];
    const text = encodeTokenList(records);
    expect(decodeTokenList(text)).toEqual(records);
    for (const [from, to] of [
      ['"version": 1', '"version": 2'],
      ['"scope": "read"', '"scope": "root"'],
      ['"name": "a"', '"name": "b"'],
      ['"name": "a"', '"name": "a b"'],
      ['"expiresAt": 5', '"expiresAt": "never"'],
      ['"createdAt": 1', '"createdAt": -1'],
      ['"sha256": "', '"sha256": "0'],
      ['"tokens"', '"token"'],
    ] as const) {
      expect(text).toContain(from);
      expect(() => decodeTokenList(text.replace(from, to)), to).toThrow('token file');
    }
  });

  it('never gives anything but a list or INVALID', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        expect(() => decodeTokenList(text)).toThrow(/^token file/);
      }),
    );
  });
});

describe('access by tokens', () => {
  it('knows a token the moment it is created', async () => {
    const access = await TokenAccess.open({ path, needed: true, pollMs: 1e6 });
    expect(await access.identify('one')).toBeUndefined();
    await add('a', 'one', { scope: 'read' });
    expect(await access.identify('one')).toMatchObject({ name: 'a', scope: 'read' });
    expect(await access.identify('two')).toBeUndefined();
    expect(await access.identify(undefined)).toBeUndefined();
    access.close();
  });

  it('ends what a revoked token opened, and nothing else', async () => {
    await add('a', 'one');
    await add('b', 'two');
    const access = await TokenAccess.open({ path, needed: true, pollMs: 10 });
    const [one, two] = [await access.identify('one'), await access.identify('two')];
    await revoke('a');
    await expect.poll(() => one?.ended?.aborted, PATIENCE).toBe(true);
    expect(two?.ended?.aborted).toBe(false);
    expect(await access.identify('one')).toBeUndefined();
    access.close();
  });

  it('ends what an expired token opened', async () => {
    let now = 1000;
    await add('a', 'one', { expiresAt: 2000 });
    const access = await TokenAccess.open({ path, needed: true, pollMs: 10, now: () => now });
    const one = await access.identify('one');
    expect(one?.name).toBe('a');
    now = 2000;
    expect(await access.identify('one')).toBeUndefined();
    await expect.poll(() => one?.ended?.aborted, PATIENCE).toBe(true);
    access.close();
  });

  it('asks for tokens from the first one on, and ever after', async () => {
    const access = await TokenAccess.open({ path, needed: false, pollMs: 1e6 });
    expect(access.tokensNeeded).toBe(false);
    const anyone = await access.identify(undefined);
    expect(anyone).toMatchObject({ scope: 'admin' });
    await add('a', 'one');
    expect(await access.identify(undefined)).toBeUndefined();
    expect(anyone?.ended?.aborted).toBe(true);
    await revoke('a');
    expect(await access.identify('one')).toMatchObject({ name: 'a' });
    expect(access.tokensNeeded).toBe(true);
    access.close();
  });

  it('lets nobody in by a file it cannot understand', async () => {
    await add('a', 'one');
    const troubles: unknown[] = [];
    const onTrouble = (error: unknown): void => void troubles.push(error);
    const access = await TokenAccess.open({ path, needed: true, pollMs: 10, onTrouble });
    const one = await access.identify('one');
    // In one step: an empty file would be a problem of its own.
    writeFileSync(`${path}.new`, '{"version":1');
    renameSync(`${path}.new`, path);
    await expect.poll(() => one?.ended?.aborted, PATIENCE).toBe(true);
    await expect(access.identify('one')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await sleep(50);
    expect(troubles).toHaveLength(1);
    access.close();
    await expect(TokenAccess.open({ path, needed: true })).rejects.toMatchObject({
      code: 'INVALID',
    });
  });
});
