import { describe, expect, it } from 'vitest';
import { listFiles, projectPath, readPackageJson, readProject } from '../support/project.ts';
import { hasPython } from '../support/python.ts';
import { parseBlocks } from './blocks.ts';
import { isNpmBlock, problemsOfNpmBlock } from './npm-commands.ts';
import { runPythonBlocks } from './run-python.ts';
import { runShellBlocks } from './run-shell.ts';
import { joinPrograms, runPrograms } from './run-typescript.ts';

// Every example of the documents is run: what a reader copies works.
const documents = [
  'README.md',
  ...listFiles('docs/guide', /\.md$/),
  ...listFiles('docs/reference', /\.md$/),
];
const manifest = readPackageJson();
const commands = Object.fromEntries(
  Object.entries(manifest.bin).map(([name, path]) => [name, projectPath(path)]),
);

/** The README imports the history that a coding agent has left on the machine of its reader. */
const USED_MACHINE = {
  info: 'sh',
  code: `mkdir -p ~/.claude/projects/-work
echo '{"type":"user","uuid":"u1","parentUuid":null,"message":{"content":"hi"}}' > ~/.claude/projects/-work/s1.jsonl
`,
  line: 0,
};

describe('the README', () => {
  it('has the command that installs, and the two for a clone that show and test everything', () => {
    const shell = parseBlocks(readProject('README.md')).filter(({ info }) => info === 'sh');
    const npm = shell.filter(({ code }) => isNpmBlock(code));
    expect(npm.map(({ code }) => code)).toEqual([
      'npm install quipudb\n',
      'npm install && npm start\n',
      'npm test\n',
    ]);
  });

  it('is short', () => {
    expect(readProject('README.md').split('\n').length).toBeLessThan(250);
  });
});

describe.each(documents)('%s', (document) => {
  const blocks = parseBlocks(readProject(document));
  const shell = blocks.filter(({ info }) => info === 'sh');

  it('uses only languages that are run or that are plainly not code', () => {
    const known = new Set(['sh', 'ts', 'js', 'python', 'text', 'json', 'mermaid', '']);
    expect(blocks.filter(({ info }) => !known.has(info))).toEqual([]);
  });

  it('names npm scripts that exist', () => {
    const npm = shell.filter(({ code }) => isNpmBlock(code));
    expect(npm.flatMap(({ code }) => problemsOfNpmBlock(code, manifest))).toEqual([]);
  });

  const needsPython = shell.some(({ code }) => /^python3 /m.test(code));

  it.skipIf(needsPython && !hasPython())(
    'has shell examples that work',
    { timeout: 270_000 },
    async () => {
      const runnable = shell.filter(({ code }) => !isNpmBlock(code));
      const before = document === 'README.md' ? [USED_MACHINE] : [];
      expect(await runShellBlocks([...before, ...runnable], commands)).toEqual([]);
    },
  );
});

describe.runIf(hasPython())('all documents', () => {
  const withPython = documents.filter((document) => readProject(document).includes('```python\n'));

  it.each(withPython)('%s has Python examples that work', async (document) => {
    const blocks = parseBlocks(readProject(document)).filter(({ info }) => info === 'python');
    expect(await runPythonBlocks(blocks)).toEqual([]);
  });
});

describe('all documents', () => {
  // Compiled together: starting the compiler for each of them took longer than running them.
  it('have programs that compile and work', { timeout: 270_000 }, () => {
    const programs = documents.flatMap((document) =>
      joinPrograms(document, parseBlocks(readProject(document))),
    );
    expect(programs.length).toBeGreaterThan(0);
    expect(runPrograms(programs)).toEqual([]);
  });
});
