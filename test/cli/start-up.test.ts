import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { projectPath, readPackageJson } from '../support/project.ts';

/** All files of the package that a file imports from the start, itself included. */
function filesFrom(entry: string): Set<string> {
  const found = new Set<string>();
  const pending = [entry];
  for (let file = pending.pop(); file !== undefined; file = pending.pop()) {
    if (found.has(file)) continue;
    found.add(file);
    const text = readFileSync(file, 'utf8');
    for (const [, path = ''] of text.matchAll(/\b(?:from|import) ?"(\.[^"]+)"/g)) {
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

// A module that imports one of Node's makes it read all its properties: of node:process, node:fs and node:crypto these
// open streams and load other modules, 5 to 10 ms of a command.
it('no bundle imports a module of Node by name', () => {
  const chunks = projectPath('dist/chunks');
  const files = readdirSync(chunks).map((name) => join(chunks, name));
  const bins = Object.values(readPackageJson().bin).map((bin) => projectPath(bin));
  const guilty = [...files, ...bins].filter((file) =>
    /(?:^|[;\n])import[^;"']*"node:/.test(readFileSync(file, 'utf8')),
  );
  expect(guilty).toEqual([]);
});

/** Whether a process of Node with these arguments loads TLS. Loading it takes 15 ms. */
function loadsTls(args: readonly string[]): boolean {
  const atExit = `data:text/javascript,process.on('exit', () => {
    console.error('tls:', process.moduleLoadList.includes('NativeModule tls'));
  });`;
  const { status, stderr } = spawnSync(process.execPath, ['--import', atExit, ...args], {
    encoding: 'utf8',
  });
  expect(stderr).toMatch(/^tls: (?:true|false)\n$/);
  expect(status).toBe(0);
  return stderr.includes('true');
}

it('a command on a folder does not load TLS', () => {
  const store = mkdtempSync(join(tmpdir(), 'quipu-start-'));
  onTestFinished(() => rmSync(store, { recursive: true }));
  const quipu = projectPath('dist/cli/main.js');
  expect(loadsTls([quipu, '--store', store, 'context', 'create'])).toBe(false);
  expect(loadsTls([quipu, '--store', store, 'context', 'list'])).toBe(false);
  expect(loadsTls(['--input-type=module', '-e', "import 'node:tls';"])).toBe(true);
});

// Node prints the line that threw above the trace. Where a bundle has no line breaks, that is all of the bundle.
it('an error that nobody catches is short enough to read', () => {
  const program = `import { openStore } from ${JSON.stringify(projectPath('dist/index.js'))};
    await openStore(${JSON.stringify(projectPath('package.json'))});`;
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
  });
  expect(status).toBe(1);
  expect(stderr).toMatch(/QuipuError: store must be a folder/);
  for (const line of stderr.split('\n')) expect(line.length).toBeLessThan(1000);
});
