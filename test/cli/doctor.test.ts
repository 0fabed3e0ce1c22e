import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { expect, it } from 'vitest';
import { projectPath } from '../support/project.ts';

const asModule = (code: string): string => `data:text/javascript,${encodeURIComponent(code)}`;

/** Makes the import of these packages fail, as on a machine they were not built for. */
function without(names: readonly string[]): string {
  const hook = `export async function resolve(name, context, next) {
    if (${JSON.stringify(names)}.includes(name)) throw new Error('cannot find ' + name);
    return next(name, context);
  }`;
  return asModule(
    `import { register } from 'node:module'; register(${JSON.stringify(asModule(hook))});`,
  );
}

it('runs, and says what to do, where the native modules do not load', { timeout: 60_000 }, () => {
  const names = ['@napi-rs/blake-hash', 'better-sqlite3', 'zstd-napi'];
  const argv = ['--import', without(names), projectPath('dist/cli/main.js'), 'doctor', '--json'];
  const { status, stdout, stderr } = spawnSync(process.execPath, argv, {
    cwd: tmpdir(),
    encoding: 'utf8',
  });
  expect(status, stderr).toBe(1);
  const lines = stdout.trimEnd().split('\n');
  const findings = lines.map((line) => JSON.parse(line) as { check: string; found: string });
  for (const check of ['blake3', 'sqlite']) {
    expect(findings.find((finding) => finding.check === check)).toMatchObject({
      grade: 'fail',
      found: expect.stringContaining('cannot find') as unknown,
      advice: expect.stringContaining('npm rebuild') as unknown,
    });
  }
  expect(findings.at(-1)).toMatchObject({ check: 'store', found: 'not looked at' });
});
