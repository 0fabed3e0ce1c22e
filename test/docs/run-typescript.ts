import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectPath, readPackageJson } from '../support/project.ts';
import type { Block } from './blocks.ts';
import { matchOutput } from './match-output.ts';

export interface Program {
  readonly name: string;
  /** JavaScript runs as it stands; TypeScript is compiled first. */
  readonly language: 'ts' | 'js';
  readonly code: string;
  readonly output: string | undefined;
}

/** A block that imports starts a program; the blocks after it that do not import continue it. */
export function joinPrograms(document: string, blocks: readonly Block[]): Program[] {
  const programs: Program[] = [];
  for (const block of blocks) {
    const last = programs.at(-1);
    const { code, output, info } = block;
    if (info !== 'ts' && info !== 'js') continue;
    if (last?.language !== info || /^import\b/m.test(code)) {
      programs.push({ name: `${document}:${block.line}`, language: info, code, output });
    } else {
      const whole =
        output === undefined && last.output === undefined
          ? undefined
          : `${last.output ?? ''}${output ?? ''}`;
      programs[programs.length - 1] = {
        ...last,
        code: `${last.code}\n${code}`,
        output: whole,
      };
    }
  }
  return programs;
}

const COMPILER_OPTIONS = {
  target: 'es2023',
  lib: ['es2023', 'esnext.disposable'],
  module: 'nodenext',
  types: ['node'],
  strict: true,
  skipLibCheck: true,
  outDir: 'out',
};

/** Packages that users of the examples have installed, too. */
const BESIDE = ['@types', 'zod', '@langchain', '@openai', 'ai', '@anthropic-ai'];

/**
 * Compiles and runs programs as a user of the built package would: in a folder of its own in which
 * the package is installed. Returns what went wrong.
 */
export function runPrograms(programs: readonly Program[]): string[] {
  if (programs.length === 0) return [];
  const folder = mkdtempSync(join(tmpdir(), 'quipu-docs-'));
  try {
    mkdirSync(join(folder, 'node_modules'));
    symlinkSync(projectPath('.'), join(folder, 'node_modules', readPackageJson().name));
    for (const name of BESIDE) {
      symlinkSync(projectPath(`node_modules/${name}`), join(folder, 'node_modules', name));
    }
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({
        compilerOptions: COMPILER_OPTIONS,
        files: programs.flatMap(({ language }, i) => (language === 'ts' ? `${i}.ts` : [])),
      }),
    );
    mkdirSync(join(folder, 'out'));
    programs.forEach(({ code, language }, i) =>
      writeFileSync(join(folder, language === 'ts' ? `${i}.ts` : `out/${i}.js`), code),
    );

    const tsc = projectPath('node_modules/typescript/bin/tsc');
    const types = runNode([tsc, '-p', 'tsconfig.json'], folder);
    if (types.status !== 0) {
      const names = programs.map(({ name }, i) => `${i}.ts is ${name}`).join('\n');
      return [`the examples do not compile:\n${types.stdout}${names}`];
    }
    return programs.flatMap((program, i) => problemsOf(program, join(folder, 'out', `${i}.js`)));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function problemsOf({ name, output }: Program, file: string): string[] {
  const cwd = mkdtempSync(join(tmpdir(), 'quipu-docs-'));
  try {
    const { status, stdout, stderr } = runNode([file], cwd);
    if (status !== 0) return [`${name} failed:\n${stdout}${stderr}`];
    if (output === undefined || matchOutput(stdout, output)) return [];
    return [`${name} printed:\n${stdout}and not:\n${output}`];
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
}

function runNode(
  args: readonly string[],
  cwd: string,
): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, args, { cwd, encoding: 'utf8', timeout: 60_000 });
}
