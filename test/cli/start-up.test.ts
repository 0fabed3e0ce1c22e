import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { projectPath, readPackageJson } from '../support/project.ts';

/** All files of the package that a file imports from the start, itself included. */
function filesFrom(entry: string): Set<string> {
  const found = new Set<string>();
  const pending = [entry];
  for (let file = pending.pop(); file !== undefined; file = pending.pop()) {
    if (found.has(file)) continue;
    found.add(file);
    const text = readFileSync(file, 'utf8');
    for (const [, path = ''] of text.matchAll(/^(?:import|export) .*?["'](\.[^"']+)["'];?$/gm)) {
      pending.push(join(dirname(file), path));
    }
  }
  return found;
}

it('a command starts from few files', () => {
  for (const bin of Object.values(readPackageJson().bin)) {
    const files = filesFrom(projectPath(bin));
    expect(files.size).toBeGreaterThan(1);
    expect(files.size).toBeLessThan(40);
  }
});

// A module that imports it makes Node open standard input, output and error, read or not: 6 ms of a command.
it('no bundle imports node:process', () => {
  const chunks = projectPath('dist/chunks');
  const files = readdirSync(chunks).map((name) => join(chunks, name));
  const bins = Object.values(readPackageJson().bin).map((bin) => projectPath(bin));
  const guilty = [...files, ...bins].filter((file) =>
    /(?:from|import) ?["']node:process["']/.test(readFileSync(file, 'utf8')),
  );
  expect(guilty).toEqual([]);
});
