import { serveHttp } from '../service/http-rig.ts';
import { runPython } from '../support/python.ts';
import type { Block } from './blocks.ts';
import { matchOutput } from './match-output.ts';

/** Runs the Python blocks of a document as one program on a server of its own. Returns what went wrong. */
export async function runPythonBlocks(blocks: readonly Block[]): Promise<string[]> {
  if (blocks.length === 0) return [];
  const { url } = await serveHttp();
  const program = blocks.map(({ code }) => code).join('\n');
  const { code, stdout, stderr } = await runPython(['-c', program], { env: { QUIPU_URL: url } });
  if (code !== 0) return [`the Python blocks failed:\n${stdout}${stderr}`];
  const expected = blocks.map(({ output = '' }) => output).join('');
  return matchOutput(stdout, expected) ? [] : [`printed:\n${stdout}and not:\n${expected}`];
}
