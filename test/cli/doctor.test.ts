import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { expect, it } from 'vitest';
import { projectPath } from '../support/project.ts';

const asModule = (code: string): string => `data:text/javascript,${encodeURIComponent(code)}`;

/** Makes the import of these packages fail, as where they were not installed or not built. */
function without(names: readonly string[]): string {
  const isOne = `${JSON.stringify(names)}.some((one) => name.startsWith(one))`;
  const hook = `export async function resolve(name, context, next) {
    if (${isOne}) throw new Error('cannot find ' + name);
    return next(name, context);
  }`;
  return asModule(`import module from 'node:module';
    module.register(${JSON.stringify(asModule(hook))});
    const resolve = module._resolveFilename;
    module._resolveFilename = (name, ...rest) => {
      if (${isOne}) throw new Error('cannot find ' + name);
      return resolve(name, ...rest);
    };`);
}

it('runs, and says what to do, where the native modules do not load', { timeout: 60_000 }, () => {
  const names = ['@napi-rs/blake-hash', 'better-sqlite3', 'zstd-napi'];
  const argv = ['--import', without(names), projectPath('dist/cli/main.js'), 'doctor', '--json'];
  const { status, stdout, stderr } = spawnSync(process.execPath, argv, {
    cwd: tmpdir(),
    encoding: 'utf8',
  });
  const hasItsOwn = process.getBuiltinModule('node:sqlite') !== undefined;
  expect(status, stderr).toBe(hasItsOwn ? 0 : 1);
  const lines = stdout.trimEnd().split('\n');
  const findings = lines.map((line) => JSON.parse(line) as { check: string; found: string });
  const find = (name: string): unknown => findings.find(({ check }) => check === name);
  expect(find('blake3')).toMatchObject({
    grade: 'warn',
    advice: expect.stringContaining('npm install quipudb') as unknown,
  });
  // A Node that has these itself needs no package.
  for (const check of hasItsOwn ? [] : ['sqlite', 'zstd']) {
    expect(find(check)).toMatchObject({
      grade: 'fail',
      found: expect.stringContaining('does not load') as unknown,
      advice: expect.stringContaining('npm install better-sqlite3 zstd-napi') as unknown,
    });
  }
  expect(findings.at(-1)?.found).toMatch(hasItsOwn ? /^there is none/ : /^not looked at$/);
});
