import { describe, expect, it } from 'vitest';
import { toHash } from '../../src/base/brand.ts';
import { isQuipuError } from '../../src/base/errors.ts';
import type { Step } from '../../src/workflow/threads/workflows.ts';
import { answerHttp } from '../../src/mcp/answer-http.ts';
import { serveForAttack, WAYS } from './attack-rig.ts';
import { serveHttp } from './http-rig.ts';

// A client can write texts up to a limit, any number of them. Who reads them gets them in pages of bounded size.

const MIB = 1024 * 1024;
const BUNDLE = toHash('ab'.repeat(32));

describe('a thread of a workflow with long steps', () => {
  async function serveThread(
    count: number,
    content: string,
  ): Promise<{ readonly rig: Awaited<ReturnType<typeof serveHttp>>; readonly id: string }> {
    const rig = await serveHttp({ mcp: { answer: answerHttp, allowWrites: false } });
    const start = { name: 'long', prompt: 'p', bundle: BUNDLE, maxRounds: 100 };
    const { id } = await rig.store.workflows.start(start);
    for (let at = 0; at < count; at += 1) {
      await rig.store.workflows.step(id, { role: 'r', content, meta: { at } });
    }
    return { rig, id };
  }

  it('comes in pages of about 8 MiB, without a gap', async () => {
    const { rig, id } = await serveThread(14, 'x'.repeat(2 * MIB));
    const steps: Step[] = [];
    let pages = 0;
    for (let from: string | undefined = ''; from !== undefined; pages += 1) {
      const before: string = from === '' ? '' : `&before=${from}`;
      const answer = await rig.get(`/v1/workflows/threads/${id}/steps?limit=1000${before}`);
      const text = await answer.text();
      expect(text.length).toBeLessThan(9 * MIB);
      const page = JSON.parse(text) as { steps: Step[]; cursor?: string };
      steps.unshift(...page.steps);
      from = page.cursor;
    }
    expect(pages).toBe(5);
    expect(steps.map(({ meta }) => meta['at'])).toEqual(Array.from({ length: 14 }, (_, at) => at));
  });

  it('is refused as one context, and cut for a model', async () => {
    const { rig, id } = await serveThread(9, 'x'.repeat(2 * MIB));
    const context = await rig.get(`/v1/workflows/threads/${id}/context`);
    expect(context.status).toBe(413);
    expect(await context.text()).toContain('in pages');
    const call = { name: 'read_thread', arguments: { kind: 'workflow', thread: id, limit: 50 } };
    const answer = await rig.send('POST', '/mcp', undefined, {
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: call }),
    });
    const text = await answer.text();
    expect(text.length).toBeLessThan(100_000);
    // Two of nine fit into what a page of 50 may read.
    expect(text.match(/more characters/g)).toHaveLength(1);
  });

  it('shows the beginning of its summary in a list', async () => {
    const { rig, id } = await serveThread(1, 'x');
    await rig.store.workflows.end(id, { returnCode: 0, summary: 's'.repeat(100_000) });
    const list = await rig.get('/v1/workflows/threads?state=all&details=true');
    expect((await list.text()).length).toBeLessThan(3000);
    const one = await rig.get(`/v1/workflows/threads/${id}?details=true`);
    expect((await one.text()).length).toBeGreaterThan(100_000);
  });
});

describe('a line of a log that a client commits', () => {
  it.each(WAYS)('is as short as its kind writes it, over %s', async (way) => {
    const rig = await serveForAttack();
    const { engine } = rig.client(way, 'write');
    const thread = '0'.repeat(26);
    const logs = [
      'chats/session-c.events.ndjson',
      `workflows/bundles/${BUNDLE}/${thread}.info.jsonl`,
    ];
    for (const name of logs) {
      const append = (chars: number): Promise<unknown> => {
        const lines = [JSON.stringify({ message: 'x'.repeat(chars) })];
        return engine.commit({ logs: [{ do: 'append', name, lines }] });
      };
      await expect(append(MIB)).rejects.toSatisfy((error) => isQuipuError(error, 'TOO_LARGE'));
      await expect(append(100_000)).resolves.toBeDefined();
    }
  });
});
