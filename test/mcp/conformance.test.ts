import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { answerHttp } from '../../src/mcp/answer-http.ts';
import { startServer } from '../../src/server/start-server.ts';
import { hasNewerNode, runOnNewerNode } from '../support/newer-node.ts';
import { projectPath } from '../support/project.ts';
import { freshFolder } from '../../src/testing/fresh-folder.ts';

const NOTHING = (): void => undefined;
const LOG = { debug: NOTHING, info: NOTHING, warn: NOTHING, error: NOTHING };
const PASSED = [
  'dns-rebinding-protection',
  'ping',
  'resources-list',
  'server-initialize',
  'tools-list',
];
const SCENARIOS = 30;

// The tests of the protocol need a newer Node. What is left out stands in `conformance-gaps.yml`, with the reason.
it.runIf(hasNewerNode)('passes the conformance tests of the protocol', async () => {
  const folder = freshFolder('quipu-mcp-');
  const server = await startServer({
    store: join(folder, 'store'),
    host: '127.0.0.1',
    httpPort: 0,
    tcpPort: 0,
    tokenFile: join(folder, 'tokens.json'),
    allowAnonymous: false,
    allowHandlers: false,
    origins: [],
    limits: {},
    demo: false,
    version: '0',
    mcp: { answer: answerHttp, allowWrites: true },
    log: LOG,
  });
  onTestFinished(() => server.close(0));
  const { code, output } = await runOnNewerNode([
    projectPath('node_modules/@modelcontextprotocol/conformance/dist/index.js'),
    'server',
    `--url=${new URL('/mcp', server.http).href}`,
    `--expected-failures=${projectPath('test/mcp/conformance-gaps.yml')}`,
  ]);
  expect(code, output).toBe(0);
  const results = [...output.matchAll(/^[✓✗] ([\w-]+): (\d+) passed, (\d+) failed/gm)];
  expect(results, output).toHaveLength(SCENARIOS);
  const passed = results.filter(([, , good, bad]) => good !== '0' && bad === '0');
  expect(passed.map(([, name = '']) => name).toSorted(), output).toEqual(PASSED);
});
