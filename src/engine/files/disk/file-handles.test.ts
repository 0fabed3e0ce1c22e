import { expect, it } from 'vitest';
import type { IoFile } from '../../io.ts';
import { FileHandles } from './file-handles.ts';

/** A file whose last close takes until `release` is called. */
function slowToClose(): { file: IoFile; release: () => void } {
  let release = (): void => undefined;
  const closed = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { file: { close: () => closed } as IoFile, release };
}

it('lets a removed file be closed while others go on, and is closed itself once that is done', async () => {
  const { file, release } = slowToClose();
  const handles = new FileHandles({ open: async () => file, mustSync: () => false });
  await handles.use('pack', 'read', async () => undefined);
  let isDropped = false;
  void Promise.resolve(handles.drop('pack')).then(() => {
    isDropped = true;
  });
  await handles.use('other', 'read', async () => undefined);
  expect(isDropped).toBe(true);

  let isClosed = false;
  const closing = new FileHandles({ open: async () => file, mustSync: () => false });
  await closing.use('pack', 'read', async () => undefined);
  closing.drop('pack');
  const done = closing.close().then(() => {
    isClosed = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(isClosed).toBe(false);
  release();
  await done;
});
