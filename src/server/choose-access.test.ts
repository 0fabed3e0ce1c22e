import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import type { ChosenAccess } from './choose-access.ts';
import { chooseAccess, isLoopback } from './choose-access.ts';
import { createLog } from './log/log.ts';
import { changeTokenFile, toTokenRecord } from './access/token-file.ts';

let folder: string;
let tokenFile: string;
let logged: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quipu-access-'));
  tokenFile = join(folder, 'tokens.json');
  logged = '';
  return () => rmSync(folder, { recursive: true, force: true });
});

const write = (text: string): void => void (logged += text);

function choose(
  host: string,
  allowAnonymous = false,
  allowHandlers = false,
): Promise<ChosenAccess> {
  const log = createLog({ level: 'info', forPeople: true, write });
  return chooseAccess({ host, tokenFile, allowAnonymous, allowHandlers, log });
}

async function createToken(): Promise<void> {
  const record = toTokenRecord('secret', { name: 'a', scope: 'read', createdAt: 1 });
  await changeTokenFile(tokenFile, () => [record]);
}

it('takes everyone on loopback, until there is a token', async () => {
  const { access, close } = await choose('127.0.0.1');
  expect(await access.identify(undefined)).toMatchObject({ scope: 'admin' });
  await createToken();
  expect(await access.identify(undefined)).toBeUndefined();
  close();
});

it.each(['0.0.0.0', '::', '192.168.1.2', 'example.com'])(
  'refuses %s without tokens',
  async (host) => {
    await expect(choose(host)).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringContaining('quipu token create') as unknown,
    });
  },
);

it('takes tokens elsewhere, and nobody without', async () => {
  await createToken();
  const { access, close } = await choose('0.0.0.0');
  expect(access.tokensNeeded).toBe(true);
  expect(await access.identify(undefined)).toBeUndefined();
  expect(await access.identify('secret')).toMatchObject({ scope: 'read' });
  close();
});

it('says it loudly when everyone is let in from anywhere', async () => {
  const { access, told } = await choose('0.0.0.0', true);
  expect(await access.identify(undefined)).toMatchObject({ scope: 'admin' });
  expect(told).toContain('ANYONE');
  expect(logged).toMatch(/WARN +ANYONE who can reach 0.0.0.0/);
});

it('does not start with tokens it cannot read', async () => {
  writeFileSync(tokenFile, 'nonsense');
  await expect(choose('127.0.0.1')).rejects.toMatchObject({ code: 'INVALID' });
});

it.each(['127.0.0.1', '127.9.9.9', '::1', 'localhost', 'LOCALHOST'])('%s is loopback', (host) => {
  expect(isLoopback(host)).toBe(true);
});

it.each([
  '0.0.0.0',
  '::',
  '10.0.0.1',
  '128.0.0.1',
  'example.com',
  'localhost.example.com',
  '127.1',
  '',
])('%s is not known to be', (host) => {
  expect(isLoopback(host)).toBe(false);
});
