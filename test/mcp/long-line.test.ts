import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openStore } from '../../src/open-store.ts';
import { freshFolder } from '../../src/testing/fresh-folder.ts';
import { projectPath } from '../support/project.ts';

describe('a line over standard input', () => {
  it('is refused when it is too long, and the next one is answered', async () => {
    const folder = freshFolder('quipu-mcp-');
    await (await openStore(folder)).close();
    const args = [projectPath('dist/cli/main.js'), 'mcp', '--store', folder];
    const server = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    onTestFinished(() => void server.kill());
    const piece = Buffer.alloc(1_048_576, 'x');
    for (let n = 0; n < 80; n += 1)
      if (!server.stdin.write(piece)) await once(server.stdin, 'drain');
    const params = {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 't', version: '1' },
    };
    server.stdin.write(
      `\n${JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'initialize', params })}\n`,
    );
    const answers: { id: unknown; error?: { message: string } }[] = [];
    for await (const line of createInterface(server.stdout)) {
      answers.push(JSON.parse(line) as (typeof answers)[number]);
      if (answers.length === 2) break;
    }
    expect(answers.map(({ id }) => id)).toEqual([null, 7]);
    expect(answers[0]?.error?.message).toContain('more than 8388608 bytes');
    server.stdin.end();
    if (server.exitCode === null) await once(server, 'exit');
    expect(server.exitCode).toBe(0);
  });
});
