import { spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { projectPath, readPackageJson } from '../support/project.ts';
import type { Block } from './blocks.ts';
import { matchOutput } from './match-output.ts';

const TIMEOUT_MS = 240_000;

/** Each command is a process that only starts: collecting its young heap less often saves a tenth of the time. */
const NODE_OPTIONS = '--max-semi-space-size=32 --min-semi-space-size=16';

/** Programs that the blocks may call by name, each a script for Node. */
export type Commands = Readonly<Record<string, string>>;

/**
 * Runs the blocks in order in one shell and one empty folder, so that a variable or a file of one
 * block is there in the next. Returns what went wrong, each with the line of its block.
 */
export async function runShellBlocks(
  blocks: readonly Block[],
  commands: Commands,
  extra: NodeJS.ProcessEnv = {},
): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'quipu-docs-'));
  try {
    for (const part of ['bin', 'home', 'blocks', 'here', 'here/node_modules']) {
      mkdirSync(join(folder, part));
    }
    // Scripts that the blocks write import the package as a user does who has installed it.
    symlinkSync(projectPath('.'), join(folder, 'here/node_modules', readPackageJson().name));
    for (const [name, script] of Object.entries(commands)) {
      const text = `#!/bin/sh\nexec "${process.execPath}" ${NODE_OPTIONS} "${script}" "$@"\n`;
      writeFileSync(join(folder, 'bin', name), text, { mode: 0o755 });
    }
    blocks.forEach((block, index) => writeFileSync(join(folder, 'blocks', `${index}`), block.code));
    await runInShell(folder, blocks.length, extra);
    return blocks.flatMap((block, index) => problemsOf(block, join(folder, 'blocks', `${index}`)));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function runInShell(folder: string, count: number, extra: NodeJS.ProcessEnv): Promise<void> {
  const script = ['set -euo pipefail'];
  for (let index = 0; index < count; index += 1) {
    const file = `"$BLOCKS/${index}"`;
    script.push(`. ${file} >${file}.out 2>${file}.err </dev/null`, `: >${file}.done`);
  }
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    PATH: `${join(folder, 'bin')}${delimiter}${process.env['PATH'] ?? ''}`,
    HOME: join(folder, 'home'),
    BLOCKS: join(folder, 'blocks'),
    // Examples that push must not leave a daemon behind.
    THREAD_NOTIFIER: 'true',
    QUIPU_STORE: undefined,
    DATABASE_URL: undefined,
    ...extra,
  };
  const cwd = join(folder, 'here');
  const shell = spawn('bash', ['--norc', '-c', script.join('\n')], {
    cwd,
    env,
    timeout: TIMEOUT_MS,
  });
  await new Promise((resolve, reject) => {
    shell.once('error', reject);
    shell.once('close', resolve);
  });
}

function problemsOf(block: Block, file: string): string[] {
  const read = (end: string): string =>
    existsSync(`${file}.${end}`) ? readFileSync(`${file}.${end}`, 'utf8') : '';
  const where = `the block at line ${block.line}`;
  if (!existsSync(`${file}.out`)) return [`${where} was not reached`];
  if (!existsSync(`${file}.done`)) return [`${where} failed:\n${read('out')}${read('err')}`];
  if (block.output === undefined || matchOutput(read('out'), block.output)) return [];
  return [`${where} printed:\n${read('out')}and not:\n${block.output}`];
}
