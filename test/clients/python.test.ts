import { describe, expect, it } from 'vitest';
import { isQuipuError } from '../../src/base/errors.ts';
import { openStore } from '../../src/open-store.ts';
import { projectPath } from '../support/project.ts';
import { hasPython, runPython } from '../support/python.ts';
import { serveHttp } from '../service/http-rig.ts';

const END = 'Write a report., finding 1, finding 2, finding 3, finding 4, finding 5';
const TURNS_EACH = 20;

/** Appends numbers to a context together with others: whoever was slower reads the head and tries again. */
const PYTHON_WRITER = `
import sys, quipudb
with quipudb.connect_store(sys.argv[1]) as store:
    talk = store.contexts.get_or_create("shared")
    for number in range(${TURNS_EACH}):
        while True:
            head = store.contexts.get(talk.id).head
            try:
                store.contexts.append(talk.id, {"type": "n", "payload": {"by": "python", "n": number}}, expected_head=head)
                break
            except quipudb.HeadMovedError:
                pass
`;

describe.runIf(hasPython())('the Python client', () => {
  it.each(['test_live', 'test_faults'])('passes %s', { timeout: 240_000 }, async (file) => {
    const folder = projectPath('test/clients/python');
    const { code, stderr } = await runPython(
      ['-m', 'unittest', 'discover', '-s', folder, '-p', `${file}.py`],
      { env: { PYTHONWARNINGS: 'error::SyntaxWarning' } },
    );
    expect(code, stderr).toBe(0);
    const [, count = '0'] = /Ran (\d+) tests/.exec(stderr) ?? [];
    // Python says nothing is wrong when it finds nothing to run.
    expect(Number(count), stderr).toBeGreaterThan(10);
  });

  it('shares a store with TypeScript', async () => {
    const { url } = await serveHttp();
    const python = runPython(['-c', PYTHON_WRITER, url]);
    const store = await openStore(url);
    const { id } = await store.contexts.getOrCreate('shared');
    for (let n = 0; n < TURNS_EACH;) {
      const head = (await store.contexts.get(id))?.head ?? 0n;
      const turn = { type: 'n', payload: { by: 'typescript', n } };
      try {
        await store.contexts.append(id, turn, { expectedHead: head });
        n += 1;
      } catch (error) {
        if (!isQuipuError(error, 'HEAD_MOVED')) throw error;
      }
    }
    const { code, stderr } = await python;
    expect(code, stderr).toBe(0);
    const { turns } = await store.contexts.last(id, 1000);
    const said = turns.map(({ payload }) => payload as { by: string; n: number });
    const numbers = Array.from({ length: TURNS_EACH }, (_, n) => n);
    for (const who of ['python', 'typescript']) {
      expect(said.filter(({ by }) => by === who).map(({ n }) => n)).toEqual(numbers);
    }
    expect(said).toHaveLength(2 * TURNS_EACH);
    await store.close();
  });

  it('examples/python_agent.py goes on where it was killed', async () => {
    const { url } = await serveHttp();
    const args = [projectPath('examples/python_agent.py'), url];
    expect(await runPython(args, { last: 'finding 3' })).toMatchObject({ killed: true });
    const second = await runPython(args);
    const lines = second.stdout.trimEnd().split('\n');
    expect(lines.at(-1), second.stderr).toBe(END);
    // What was durable is not done again: at most the step at the moment of the kill.
    expect(lines).not.toContain('finding 2');
    expect(lines).toContain('finding 5');
    expect((await runPython(args)).stdout).toBe(`${END}\n`);
  });
});
