import { describe, expect, it } from 'vitest';
import { projectPath, readPackageJson, readProject } from './support/project.ts';
import { exportedNames } from './tidy/exported-names.ts';
import { PUBLIC_NAMES } from './tidy/public-names.ts';

describe('the package', () => {
  it('has these entries', () => {
    expect(Object.keys(readPackageJson().exports)).toEqual(Object.keys(PUBLIC_NAMES));
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
