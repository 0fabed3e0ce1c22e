import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { PackageJson } from '../support/project.ts';
import { parseBlocks } from './blocks.ts';
import { matchOutput } from './match-output.ts';
import { isNpmBlock, problemsOfNpmBlock } from './npm-commands.ts';
import { runShellBlocks } from './run-shell.ts';
import { joinPrograms, runPrograms } from './run-typescript.ts';

const fenced = (info: string, ...lines: string[]): string =>
  `\`\`\`${info}\n${lines.map((line) => `${line}\n`).join('')}\`\`\`\n`;

describe('parseBlocks', () => {
  it('joins an example with the output that follows it directly', () => {
    const markdown = `# T\n\n${fenced('sh', 'echo a')}\n${fenced('text', 'a')}\nWords.\n\n${fenced('text', 'b')}`;
    expect(parseBlocks(markdown)).toEqual([
      { info: 'sh', code: 'echo a\n', line: 3, output: 'a\n' },
      { info: 'text', code: 'b\n', line: 13 },
    ]);
  });

  it('refuses a block that is never closed', () => {
    expect(() => parseBlocks('```sh\necho a\n')).toThrow('line 1');
  });
});

describe('matchOutput', () => {
  it.each([
    ['a\nb\n', 'a\nb', true],
    ['a\nb\n', 'a', false],
    ['id 12 ok\n', 'id … ok', true],
    ['id 12\nok\n', 'id … ok', false],
    ['a\nx\ny\nb\n', 'a\n…\nb', true],
    ['a\nb\n', 'a\n…\nb', true],
    ['a\nx\nc\n', 'a\n…\nb', false],
    ['1.5 (x)\n', '1.5 (x)', true],
    ['1x5 (x)\n', '1.5 (x)', false],
  ])('%j read as %j: %s', (actual, expected, answer) => {
    expect(matchOutput(actual, expected)).toBe(answer);
  });
});

describe('npm blocks', () => {
  const manifest = { name: 'quipudb', scripts: { test: '', bench: '' } } as unknown as PackageJson;

  it('are told from others', () => {
    expect(isNpmBlock('npm install && npm start\n')).toBe(true);
    expect(isNpmBlock('npm test # all of it\n')).toBe(true);
    expect(isNpmBlock('npm test\nquipu stats\n')).toBe(false);
  });

  it('must name scripts and packages that exist', () => {
    expect(problemsOfNpmBlock('npm install\nnpm install quipudb\nnpm test', manifest)).toEqual([]);
    expect(problemsOfNpmBlock('npm run bench && npm run soak', manifest)).toEqual([
      '"npm run soak" has no script in package.json',
    ]);
    expect(problemsOfNpmBlock('npm install quipu', manifest)).toHaveLength(1);
  });
});

describe('runShellBlocks', { timeout: 60_000 }, () => {
  const run = async (...parts: string[]): Promise<string[]> => {
    const folder = mkdtempSync(join(tmpdir(), 'quipu-test-'));
    const script = join(folder, 'say.mjs');
    writeFileSync(script, 'console.log(process.argv.slice(2).join(" "))');
    try {
      return await runShellBlocks(parseBlocks(parts.join('\n')), { say: script });
    } finally {
      rmSync(folder, { recursive: true });
    }
  };

  it('keeps variables and files from block to block and finds the commands', async () => {
    const problems = await run(
      fenced('sh', 'x=$(say hello)', 'say kept > file'),
      fenced('sh', 'echo "$x $(cat file)"'),
      fenced('text', 'hello …'),
    );
    expect(problems).toEqual([]);
  });

  it('reports another output, a failure, and what was not reached after it', async () => {
    const problems = await run(
      fenced('sh', 'say a'),
      fenced('text', 'b'),
      fenced('sh', 'say oops >&2', 'false', 'true'),
      fenced('sh', 'true'),
    );
    expect(problems).toEqual([
      'the block at line 1 printed:\na\nand not:\nb\n',
      'the block at line 9 failed:\noops\n',
      'the block at line 15 was not reached',
    ]);
  });
});

describe('runPrograms', { timeout: 60_000 }, () => {
  const programs = (...parts: string[]): ReturnType<typeof joinPrograms> =>
    joinPrograms('doc.md', parseBlocks(parts.join('\n')));

  it('joins blocks until the next import, and compares what they print', () => {
    const found = programs(
      fenced('ts', "import { sep } from 'node:path';", 'const n: number = sep.length;'),
      fenced('ts', 'console.log(n);'),
      fenced('text', '1'),
      fenced('ts', "import { EOL } from 'node:os';", 'console.log(EOL.length);'),
      fenced('text', '7'),
    );
    expect(found.map(({ name }) => name)).toEqual(['doc.md:1', 'doc.md:14']);
    expect(runPrograms(found)).toEqual(['doc.md:14 printed:\n1\nand not:\n7\n']);
  });

  it('runs JavaScript as it stands, beside TypeScript', () => {
    const found = programs(
      fenced('ts', "import { sep } from 'node:path';", 'console.log(sep.length as number);'),
      fenced('text', '1'),
      fenced('js', 'console.log(2);'),
      fenced('text', '3'),
    );
    expect(found.map(({ name }) => name)).toEqual(['doc.md:1', 'doc.md:10']);
    expect(runPrograms(found)).toEqual(['doc.md:10 printed:\n2\nand not:\n3\n']);
  });

  it('reports types that do not fit', () => {
    const [problem] = runPrograms(
      programs(fenced('ts', "const n: number = 'one';", 'export { n };')),
    );
    expect(problem).toMatch(/TS2322.*0\.ts is doc\.md:1/s);
  });
});
