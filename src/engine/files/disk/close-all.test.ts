import { expect, it } from 'vitest';
import { closeAll } from './file-handles.ts';

it('closes the rest when one fails, and tells of the first failure', async () => {
  const closed: string[] = [];
  const close = (name: string, fails: boolean) => async (): Promise<void> => {
    closed.push(name);
    if (fails) throw new Error(name);
  };
  const closers = [close('a', false), close('b', true), close('c', true), close('d', false)];
  await expect(closeAll(closers)).rejects.toThrow('b');
  expect(closed).toEqual(['a', 'b', 'c', 'd']);
});
