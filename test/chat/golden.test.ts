import { expect, it } from 'vitest';
import { GOLDEN } from '../../src/testing/chat-suite/format.ts';
import { readProject } from '../support/project.ts';

it('version 1 of the files of a chat is as the document about it says', () => {
  const [line = ''] = /^\{"schema_version".*$/m.exec(readProject('docs/format/chats.md')) ?? [];
  expect(Object.keys(JSON.parse(line) as object)).toEqual(
    Object.keys(JSON.parse(GOLDEN[0]!) as object),
  );
});
