import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { describe, expect, it, onTestFinished } from 'vitest';
import { projectPath, readPackageJson, readProject } from './support/project.ts';
import { exportedNames } from './tidy/exported-names.ts';
import { PUBLIC_NAMES } from './tidy/public-names.ts';

describe('the package', () => {
  it('has these entries', () => {
    expect(Object.keys(readPackageJson().exports)).toEqual(Object.keys(PUBLIC_NAMES));
  });

  // Loading one takes 3 ms and 4 MB, also in a program that only talks to a server.
  it('loads no native module before something is done with it', () => {
    const loaded = (use: string): string[] => {
      const script = `import('${projectPath('dist/index.js')}').then(async (quipu) => { ${use} })
        .then(() => console.log(JSON.stringify(Object.keys(require.cache))))`;
      const out = execFileSync(process.execPath, ['-e', script], { encoding: 'utf8' });
      return (JSON.parse(out) as string[]).filter((path) => path.endsWith('.node'));
    };
    expect(loaded('')).toEqual([]);
    const folder = mkdtempSync(join(tmpdir(), 'quipu-exports-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    expect(loaded(`await (await quipu.openStore('${folder}/store')).close();`)).not.toEqual([]);
  });
});

describe.each(Object.keys(PUBLIC_NAMES))('the entry %s', (entry) => {
  const built = readPackageJson().exports[entry]!.default;
  const source = built.replace('./dist/', 'src/').replace(/\.js$/, '.ts');

  it('exports exactly these names', () => {
    expect(exportedNames(readProject(source))).toEqual(PUBLIC_NAMES[entry]);
  });

  it('exports them also when built', async () => {
    const values = PUBLIC_NAMES[entry]!.filter((name) => !name.startsWith('type '));
    const module = (await import(projectPath(built))) as Record<string, unknown>;
    expect(Object.keys(module).toSorted()).toEqual(values);
  });
});
