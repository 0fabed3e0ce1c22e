import { expect, it } from 'vitest';
import { projectPath } from '../support/project.ts';
import { hasPython, runPython } from '../support/python.ts';
import { freshDatabase } from '../support/postgres/fresh-database.ts';

it.runIf(hasPython())('the Python client works on a database', { timeout: 240_000 }, async () => {
  const folder = projectPath('test/clients/python');
  const { code, stderr } = await runPython(
    ['-m', 'unittest', 'discover', '-s', folder, '-p', 'test_live.py'],
    { env: { QUIPU_TEST_STORE: await freshDatabase() } },
  );
  expect(code, stderr).toBe(0);
  expect(stderr).toMatch(/Ran [1-9]\d tests/);
});
